//! Losses packet by packet: which copy of which packet of which flow.

use polypath_core::rng::Stream;

use super::config::{Dropping, RoundModelConfig, uses};
use super::fading::Links;
use super::flow::Flow;
use super::shared::binomial;

/// The packets of a round, and their losses.
#[derive(Clone, Debug, Default)]
pub(super) struct Packets {
    /// The links that lost a copy of each packet, as bits, flow by flow.
    lost_on: Vec<u8>,
    /// The packets that have a copy on the link at hand.
    on_link: Vec<u32>,
    /// The copies that each flow lost on each link, flow by flow.
    by_link: Vec<u32>,
}

impl Packets {
    /// Draws the losses of the links; returns the overloaded links, as bits.
    pub(super) fn draw(
        &mut self,
        config: &RoundModelConfig,
        links: &Links,
        flows: &[Flow],
        stream: &mut Stream,
    ) -> u8 {
        let sent: usize = flows.iter().map(|flow| flow.window() as usize).sum();
        self.lost_on.clear();
        self.lost_on.resize(sent, 0);
        let mut full = 0;
        for link in 0..config.links {
            let offered = offered(config, link, flows);
            full |= u8::from(offered > config.packets()) << link;
            let drops = offered - links.carried(link, offered, config.packets());
            let drops = match config.dropping {
                Dropping::Excess => drops,
                Dropping::Independent => {
                    binomial(offered, drops as f64 / offered.max(1) as f64, stream)
                }
            };
            if drops > 0 {
                self.enlist(config, link, flows);
                self.lose(drops, 1 << link, stream);
            }
        }
        self.count_by_link(config, flows);
        full
    }

    /// Records the packets that have a copy on a link.
    fn enlist(&mut self, config: &RoundModelConfig, link: u32, flows: &[Flow]) {
        self.on_link.clear();
        let mut first = 0;
        for (number, flow) in flows.iter().enumerate() {
            let next = first + flow.window();
            if uses(config.set(number), link) {
                self.on_link.extend(first..next);
            }
            first = next;
        }
    }

    /// Drops this number of the copies on a link, chosen at random (Fisher and Yates).
    fn lose(&mut self, drops: u64, link: u8, stream: &mut Stream) {
        let number = self.on_link.len();
        for place in 0..usize::try_from(drops).unwrap_or(number).min(number) {
            let other = place + position(stream.below((number - place) as u64));
            self.on_link.swap(place, other);
            self.lost_on[self.on_link[place] as usize] |= link;
        }
    }

    fn count_by_link(&mut self, config: &RoundModelConfig, flows: &[Flow]) {
        let links = config.links as usize;
        self.by_link.clear();
        self.by_link.resize(flows.len() * links, 0);
        let counts = self.by_link.chunks_exact_mut(links);
        for (counts, packets) in counts.zip(windows(&self.lost_on, flows)) {
            for lost_on in packets.iter().filter(|lost_on| **lost_on != 0) {
                for (link, count) in (0..).zip(counts.iter_mut()) {
                    *count += u32::from(uses(*lost_on, link));
                }
            }
        }
    }

    /// Counts the packets of each flow of which too many copies are lost.
    pub(super) fn count_lost(&self, config: &RoundModelConfig, flows: &[Flow], lost: &mut [u32]) {
        let packets = windows(&self.lost_on, flows);
        for (number, (packets, lost)) in packets.zip(lost).enumerate() {
            let spare = config.set(number).count_ones() - config.needed();
            let is_lost = |lost_on: &&u8| lost_on.count_ones() > spare;
            let all = packets.iter().filter(is_lost).count();
            *lost = u32::try_from(all).unwrap_or(u32::MAX);
        }
    }

    /// The copies that each flow lost on each link, flow by flow.
    pub(super) fn lost_by_link(&self) -> &[u32] {
        &self.by_link
    }
}

/// The number of packets with a copy on a link.
fn offered(config: &RoundModelConfig, link: u32, flows: &[Flow]) -> u64 {
    let flows = flows.iter().enumerate();
    let using = flows.filter(|(number, _)| uses(config.set(*number), link));
    using.map(|(_, flow)| u64::from(flow.window())).sum()
}

/// The packets of each flow.
fn windows<'a>(packets: &'a [u8], flows: &'a [Flow]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = packets;
    flows.iter().map(move |flow| {
        let (window, after) = rest.split_at(flow.window() as usize);
        rest = after;
        window
    })
}

fn position(below: u64) -> usize {
    usize::try_from(below).unwrap_or(usize::MAX)
}
