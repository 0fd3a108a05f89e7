//! The error models of a link, applied in a fixed order when the last bit of a packet leaves.
//!
//! A model is one file with its configuration, and a field of [`Errors`].

mod bernoulli;
mod fades;
mod gilbert_elliott;
mod on_off;
mod outage;

use alloc::format;

use polypath_core::rng::Seed;
use polypath_core::time::Time;

use crate::drop_reason::DropReason;
use bernoulli::Bernoulli;
use fades::FadeProcess;
pub use fades::Fades;
pub use gilbert_elliott::GilbertElliott;
use gilbert_elliott::GilbertElliottChain;
pub use on_off::OnOff;
use on_off::OnOffProcess;
use outage::Outages;
pub use outage::{Outage, outage_problems};

/// A model that decides which packets are lost on the wire.
pub(crate) trait ErrorModel {
    /// Whether a packet whose last bit leaves at `at` is lost; times never decrease from call to
    /// call.
    fn loses(&mut self, at: Time) -> bool;
}

/// The configurations of a link's error models.
pub(crate) struct LossModels<'a> {
    pub(crate) loss: f64,
    pub(crate) gilbert_elliott: Option<GilbertElliott>,
    pub(crate) on_off: Option<OnOff>,
    pub(crate) fades: Option<Fades>,
    pub(crate) outages: &'a [Outage],
}

/// The names of a link, from which those of its random streams derive.
pub(crate) struct LinkNames<'a> {
    /// That of one direction.
    pub(crate) own: &'a str,
    /// The name that both directions of a duplex link have.
    pub(crate) duplex: &'a str,
}

/// The error models of a link.
#[derive(Clone, Debug)]
pub(crate) struct Errors {
    outages: Outages,
    on_off: Option<OnOffProcess>,
    fades: Option<FadeProcess>,
    gilbert_elliott: Option<GilbertElliottChain>,
    bernoulli: Option<Bernoulli>,
}

impl Errors {
    /// The models of a configuration, if it has any.
    pub(crate) fn new(config: &LossModels<'_>, seed: Seed, name: &LinkNames<'_>) -> Option<Self> {
        let fades = config.fades.filter(|fades| fades.share > 0.0);
        let lossy = config.loss > 0.0
            || config.gilbert_elliott.is_some()
            || config.on_off.is_some()
            || fades.is_some()
            || !config.outages.is_empty();
        let stream = |model: &str| seed.stream(&format!("link/{}/{model}", name.own));
        let shared = |model: &str| seed.stream(&format!("link/{}/{model}", name.duplex));
        lossy.then(|| Self {
            outages: Outages::new(config.outages),
            on_off: config.on_off.map(|c| OnOffProcess::new(c, stream("onoff"))),
            fades: fades.map(|c| FadeProcess::new(c, shared("fades"))),
            gilbert_elliott: config
                .gilbert_elliott
                .map(|c| GilbertElliottChain::new(c, stream("gilbert-elliott"))),
            bernoulli: (config.loss > 0.0).then(|| Bernoulli::new(config.loss, stream("loss"))),
        })
    }

    /// The reason for which the packet whose last bit leaves at `at` is lost, if it is.
    pub(crate) fn verdict(&mut self, at: Time) -> Option<DropReason> {
        // Every model sees every packet: the draws of one must not depend on the others.
        let outage = self.outages.loses(at);
        let down = self.on_off.as_mut().is_some_and(|m| m.loses(at));
        let fades = self.fades.as_mut().is_some_and(|m| m.loses(at));
        let burst = self.gilbert_elliott.as_mut().is_some_and(|m| m.loses(at));
        let random = self.bernoulli.as_mut().is_some_and(|m| m.loses(at));
        let reasons = [
            (outage, DropReason::Outage),
            (down || fades, DropReason::Down),
            (burst, DropReason::Burst),
            (random, DropReason::Random),
        ];
        let first = reasons.into_iter().find(|(lost, _)| *lost);
        first.map(|(_, reason)| reason)
    }
}
