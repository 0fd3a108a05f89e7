//! Diversity routing in rounds of one round-trip time (diversity-routing paper, IV).
//!
//! # Model
//!
//! Time passes in rounds of one round-trip time, which is the same for all flows. In each round
//! every flow sends its window of packets, with a copy on each of its links. A link carries
//! `capacity` packets in a round and drops exactly the excess, or each packet independently with
//! the excess as the mean ([`Dropping`]). A link is up or down by a Markov process in continuous
//! time ([`Fading`]), whose exponential sojourn times are drawn; while it is down it carries
//! nothing ([`Outage`]). A packet is lost if too many of its copies are ([`Coding`]).
//!
//! A flow without losses sends one more packet in the next round, up to the capacity of a link. A
//! flow with losses continues with a window of 1, or with half of its window ([`Response`]). The
//! paper's flows have no slow start; here it is an option.
//!
//! *ECN instead of loss* is the remedy that the paper proposes (VI): for each flow a
//! [`Signature`](polypath_core::combine::signature::Signature) examines the losses of the round by
//! link, and halves the window (RFC 3168) if they indicate congestion. A packet lost on all links
//! counts as a loss, as before.
//!
//! Individual packets are simulated only if a signature examines them, or if flows use different
//! links. Otherwise hypergeometric draws give the number of packets that all links lose, and
//! further ones how many of them belong to each flow. Both methods draw from the same distribution.

mod config;
mod detection;
mod fading;
mod flow;
mod packets;
mod shared;
#[cfg(test)]
mod tests;

use polypath_core::rng::{Seed, Stream};

pub use config::{
    Coding, Dropping, Fading, Outage, Response, RoundModelConfig, RoundModelError,
    SignatureResponse,
};
pub use detection::Observation;
use detection::{Detectors, LinkState};
use fading::Links;
pub use flow::Flow;
use packets::Packets;

/// The state of flows and links after some rounds.
#[derive(Debug)]
pub struct RoundModel {
    config: RoundModelConfig,
    links: Links,
    flows: Vec<Flow>,
    round: u32,
    stream: Stream,
    packets: Packets,
    detectors: Option<Detectors>,
    /// The packets that each flow lost in the last round.
    lost: Vec<u32>,
}

/// The totals of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// The packets that all flows sent, without copies.
    pub sent: u64,
    /// Whether any link was offered more than its capacity.
    pub overflowed: bool,
    /// The number of links that were down for a part of the round.
    pub down: u32,
    /// The packets lost with all their copies.
    pub lost: u64,
}

impl RoundModel {
    /// Flows before their first round, over links that are up.
    ///
    /// # Errors
    /// Returns an error if the configuration contradicts itself.
    pub fn new(config: &RoundModelConfig, seed: Seed) -> Result<Self, RoundModelError> {
        config.check()?;
        let flows = (0..config.flows).map(|number| Flow::new(config, number));
        Ok(Self {
            config: config.clone(),
            links: Links::new(config, seed),
            flows: flows.collect(),
            round: 0,
            stream: seed.stream("rounds/loss"),
            packets: Packets::default(),
            detectors: config
                .detection
                .map(|detection| Detectors::new(config, detection)),
            lost: vec![0; config.flows as usize],
        })
    }

    /// The flows, in their order.
    #[must_use]
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The number of rounds completed.
    #[must_use]
    pub const fn round(&self) -> u32 {
        self.round
    }

    /// The number of (flow, round) pairs with a loss in `rounds` rounds, in each of which every
    /// flow sends `window` packets.
    pub fn losing_with(&mut self, window: u32, rounds: u32) -> u64 {
        let mut losing = 0;
        for _ in 0..rounds {
            for flow in &mut self.flows {
                flow.set_window(window);
            }
            self.step();
            losing += self.lost.iter().filter(|lost| **lost > 0).count() as u64;
        }
        losing
    }

    /// Simulates the next round.
    pub fn step(&mut self) -> Round {
        self.step_with(&mut |_| {})
    }

    /// Simulates the next round; `look` receives the results of the signatures, if any.
    pub fn step_with(&mut self, look: &mut impl FnMut(&Observation)) -> Round {
        let round = self.round;
        for flow in &mut self.flows {
            flow.begin(round);
        }
        self.links.advance();
        self.lost.fill(0);
        let sent = self.flows.iter().map(|flow| u64::from(flow.window())).sum();
        let full = if self.is_by_packet() {
            self.lose_packets(look)
        } else {
            self.lose_shared(sent)
        };
        for (flow, &lost) in self.flows.iter_mut().zip(&self.lost) {
            flow.end(lost);
        }
        self.round += 1;
        Round {
            sent,
            overflowed: full != 0,
            down: self.links.down(),
            lost: self.lost.iter().map(|&lost| u64::from(lost)).sum(),
        }
    }

    fn is_by_packet(&self) -> bool {
        self.detectors.is_some() || self.config.sets.is_some()
    }

    /// The losses if all flows use all links; returns the overloaded links, as bits.
    fn lose_shared(&mut self, sent: u64) -> u8 {
        let is_over = sent > self.config.packets();
        if is_over || self.links.any_down() {
            let lost = shared::lost_everywhere(&self.config, &self.links, sent, &mut self.stream);
            shared::spread(lost, sent, &self.flows, &mut self.lost, &mut self.stream);
        }
        if is_over { self.config.all() } else { 0 }
    }

    /// The losses packet by packet, for signatures; returns the overloaded links, as bits.
    fn lose_packets(&mut self, look: &mut impl FnMut(&Observation)) -> u8 {
        let packets = &mut self.packets;
        let full = packets.draw(&self.config, &self.links, &self.flows, &mut self.stream);
        packets.count_lost(&self.config, &self.flows, &mut self.lost);
        if let Some(detectors) = &mut self.detectors {
            let links = LinkState {
                full,
                down: self.links.down_set(),
            };
            detectors.look(links, &mut self.flows, packets.lost_by_link(), look);
        }
        full
    }
}
