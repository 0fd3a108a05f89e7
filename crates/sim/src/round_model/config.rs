//! The configuration of flows and links.

use polypath_core::combine::signature::{MarkRule, SignatureConfig, SignatureError};
use serde::Serialize;

/// Flows and links of a model in rounds.
///
/// It has more than ten fields because each is varied on its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundModelConfig {
    /// The number of flows.
    pub flows: u32,
    /// The number of links, 1 to 8.
    pub links: u32,
    /// The capacity of a link, in packets per round.
    pub capacity: u32,
    /// The fading of links; `None` if they do not fade.
    pub fading: Option<Fading>,
    /// The loss on a link that is down for a part of a round.
    pub outage: Outage,
    /// The packets that a link drops when it is offered more than its capacity.
    pub dropping: Dropping,
    /// The reaction of the window to a loss.
    pub response: Response,
    /// Whether a flow doubles its window up to half of its window at the last loss (slow start).
    pub slow_start: bool,
    /// The coding of packets over the links.
    pub coding: Coding,
    /// The round in which the last flow starts; all others start in the first.
    pub late: u32,
    /// The links of each flow, as bits; `None` if all flows use all links.
    pub sets: Option<Vec<u8>>,
    /// The detection of congestion; without it every loss counts as congestion.
    #[serde(rename = "cure")]
    pub detection: Option<SignatureResponse>,
}

/// A two-state Markov process (diversity-routing paper, IV.A): exponential times up and down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fading {
    /// The mean time up, in rounds: 1 / (gamma RTT).
    pub up: f64,
    /// The mean time down, in rounds: 1 / (nu RTT).
    pub down: f64,
}

/// The loss of a link in a round in which it is down for a part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Outage {
    /// Everything: "all packets sent in the last TCP window before a link drops out are lost"
    /// (IV.A).
    Window,
    /// The fraction of the packets that equals the fraction of time that it is down.
    Share,
}

/// The packets that a link drops when it is offered more than its capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Dropping {
    /// Exactly the excess over the capacity.
    Excess,
    /// Each packet independently, with the excess as the mean ("packets are dropped independently",
    /// III).
    Independent,
}

/// The reaction of the window to a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Response {
    /// The window becomes 1 (IV.A).
    Reset,
    /// The window is halved, to at least 1.
    Halve,
}

/// The coding of packets over the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Coding {
    /// A copy on each link, of which one must arrive.
    Copies,
    /// A fragment on each link, of which k must arrive (footnote 2). A fragment has 1/k of the size
    /// of a packet, so a link carries k times as many.
    Fragments(u32),
}

/// The detection of congestion among dropouts, and the reaction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SignatureResponse {
    /// The signature that distinguishes them.
    pub signature: SignatureConfig,
    /// The windows of congestion to which a flow reacts.
    pub marks: MarkRule,
    /// Whether a flow halves its window on a sign of congestion (RFC 3168, 6.1.2); or the signature
    /// only observes.
    pub acts: bool,
}

/// A contradiction in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RoundModelError {
    /// No flows, no links, or more links than a signature distinguishes.
    #[error("there must be at least 1 flow, 1 packet of capacity and 1 to 8 links")]
    Size,
    /// A fading process with a mean time of 0 or infinity.
    #[error("the mean times up and down must be more than 0 rounds")]
    Fading,
    /// The number of fragments is 0 or more than the links.
    #[error("a packet cannot be made of {0} fragments on {1} links: take 1 to {1}")]
    Fragments(u32, u32),
    /// The links of a flow are empty or do not exist.
    #[error("every flow needs links of its own, of those that there are")]
    Sets,
    /// The signature does not exist.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

impl RoundModelConfig {
    /// The paper's model: flows over links that do not fade, with copies, a window of 1 after a
    /// loss, and no slow start.
    #[must_use]
    pub const fn paper(flows: u32, links: u32, capacity: u32) -> Self {
        Self {
            flows,
            links,
            capacity,
            fading: None,
            outage: Outage::Window,
            dropping: Dropping::Excess,
            response: Response::Reset,
            slow_start: false,
            coding: Coding::Copies,
            late: 0,
            sets: None,
            detection: None,
        }
    }

    /// The number of copies or fragments that a packet may lose without being lost.
    #[must_use]
    pub const fn spare(&self) -> u32 {
        self.links - self.needed()
    }

    /// The number of packets of which a link carries a copy or fragment in a round.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.capacity as u64 * self.needed() as u64
    }

    /// The number of copies or fragments of a packet that must arrive.
    pub(super) const fn needed(&self) -> u32 {
        match self.coding {
            Coding::Copies => 1,
            Coding::Fragments(needed) => needed,
        }
    }

    pub(super) fn check(&self) -> Result<(), RoundModelError> {
        let links = 1..=u8::BITS;
        if self.flows == 0 || self.capacity == 0 || !links.contains(&self.links) {
            return Err(RoundModelError::Size);
        }
        let is_time = |time: f64| time > 0.0 && time.is_finite();
        let fades = |fading: Fading| is_time(fading.up) && is_time(fading.down);
        if !self.fading.is_none_or(fades) {
            return Err(RoundModelError::Fading);
        }
        if let Coding::Fragments(needed) = self.coding
            && !(1..=self.links).contains(&needed)
        {
            return Err(RoundModelError::Fragments(needed, self.links));
        }
        if let Some(sets) = &self.sets {
            let all = self.all();
            let fits = |set: &u8| *set != 0 && set & !all == 0;
            let is_copied = self.coding == Coding::Copies;
            if sets.len() != self.flows as usize || !sets.iter().all(fits) || !is_copied {
                return Err(RoundModelError::Sets);
            }
        }
        self.detection
            .map_or(Ok(()), |detection| detection.signature.check())?;
        Ok(())
    }

    /// The links of a flow, as bits.
    pub(super) fn set(&self, flow: usize) -> u8 {
        let sets = self.sets.as_ref();
        sets.map_or_else(|| self.all(), |sets| sets[flow])
    }

    /// All links, as bits.
    pub(super) const fn all(&self) -> u8 {
        u8::MAX >> (u8::BITS - self.links)
    }
}

/// Whether a set contains a link.
pub(super) const fn uses(set: u8, link: u32) -> bool {
    set >> link & 1 != 0
}
