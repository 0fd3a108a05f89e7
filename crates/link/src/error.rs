//! The error models of a link, applied in a fixed order when the last bit of a packet leaves.

mod bernoulli;
mod gilbert_elliott;
mod on_off;
mod outage;

use alloc::format;

use polypath_core::rng::Seed;
use polypath_core::time::Time;

use crate::config::LinkConfig;
use crate::link::DropReason;
use bernoulli::Bernoulli;
use gilbert_elliott::GilbertElliottChain;
use on_off::OnOffProcess;
use outage::Outages;

/// Decides which packets the medium loses.
pub(crate) trait ErrorModel {
    /// True if a packet whose last bit leaves at `at` is lost; `at` never decreases from call to call.
    fn loses(&mut self, at: Time) -> bool;
}

/// The error models that a link has.
#[derive(Clone, Debug)]
pub(crate) struct Errors {
    outages: Outages,
    on_off: Option<OnOffProcess>,
    gilbert_elliott: Option<GilbertElliottChain>,
    bernoulli: Option<Bernoulli>,
}

impl Errors {
    /// The models that `config` asks for, or nothing if it asks for none.
    pub(crate) fn new(config: &LinkConfig, seed: Seed, name: &str) -> Option<Self> {
        let wanted = config.loss > 0.0
            || config.gilbert_elliott.is_some()
            || config.on_off.is_some()
            || !config.outages.is_empty();
        let stream = |model: &str| seed.stream(&format!("link/{name}/{model}"));
        wanted.then(|| Self {
            outages: Outages::new(&config.outages),
            on_off: config.on_off.map(|c| OnOffProcess::new(c, stream("onoff"))),
            gilbert_elliott: config
                .gilbert_elliott
                .map(|c| GilbertElliottChain::new(c, stream("gilbert-elliott"))),
            bernoulli: (config.loss > 0.0).then(|| Bernoulli::new(config.loss, stream("loss"))),
        })
    }

    /// Why the packet whose last bit leaves at `at` is lost, if it is.
    pub(crate) fn verdict(&mut self, at: Time) -> Option<DropReason> {
        // Every model sees every packet: what one of them draws must not depend on the others.
        let outage = self.outages.loses(at);
        let down = self.on_off.as_mut().is_some_and(|m| m.loses(at));
        let burst = self.gilbert_elliott.as_mut().is_some_and(|m| m.loses(at));
        let random = self.bernoulli.as_mut().is_some_and(|m| m.loses(at));
        let reasons = [
            (outage, DropReason::Outage),
            (down, DropReason::Down),
            (burst, DropReason::Burst),
            (random, DropReason::Random),
        ];
        let first = reasons.into_iter().find(|(lost, _)| *lost);
        first.map(|(_, reason)| reason)
    }
}
