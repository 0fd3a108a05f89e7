//! The congestion signatures of flows, and the reaction to them.

use polypath_core::combine::signature::{LinkWindow, Marks, Reading, Signature};

use super::config::{RoundModelConfig, SignatureResponse, uses};
use super::flow::Flow;

/// The observation of a flow in a round, and the result of its signature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The flow, by its number.
    pub flow: u32,
    /// Its window, in packets.
    pub window: u32,
    /// Whether a link that it uses was offered more than its capacity.
    pub congested: bool,
    /// Whether a link that was up for the whole round dropped a packet of the flow.
    pub dropped: bool,
    /// The result of the signature.
    pub reading: Reading,
}

/// The links with losses in a round, as bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkState {
    /// Links that were offered more than their capacity.
    pub(super) full: u8,
    /// Links that were down for a part of the round.
    pub(super) down: u8,
}

/// The signatures, one for each flow.
#[derive(Debug)]
pub(super) struct Detectors {
    signatures: Vec<(Box<dyn Signature>, Marks)>,
    sets: Vec<u8>,
    links: u32,
    acts: bool,
    window: Vec<LinkWindow>,
}

impl Detectors {
    pub(super) fn new(config: &RoundModelConfig, response: SignatureResponse) -> Self {
        let flows = 0..config.flows as usize;
        Self {
            signatures: flows
                .clone()
                .map(|_| (response.signature.build(), Marks::new(response.marks)))
                .collect(),
            sets: flows.map(|flow| config.set(flow)).collect(),
            links: config.links,
            acts: response.acts,
            window: Vec::new(),
        }
    }

    /// Passes the losses of each flow and link (`lost`, flow by flow) to the signatures; `look`
    /// receives their results.
    ///
    /// A flow with one link is skipped: its losses are not masked.
    pub(super) fn look(
        &mut self,
        state: LinkState,
        flows: &mut [Flow],
        lost: &[u32],
        look: &mut impl FnMut(&Observation),
    ) {
        let lost = lost.chunks_exact(self.links as usize);
        let flows = (0..).zip(flows).zip(lost).zip(&self.sets);
        for ((((number, flow), lost), &set), (signature, marks)) in flows.zip(&mut self.signatures)
        {
            if flow.window() == 0 || set.count_ones() < 2 {
                continue;
            }
            let links = (0..self.links)
                .zip(lost)
                .filter(|(link, _)| uses(set, *link));
            self.window.clear();
            self.window.extend(links.map(|(_, &lost)| LinkWindow {
                sent: flow.window(),
                lost,
                ..LinkWindow::default()
            }));
            let reading = signature.on_window(&self.window);
            let mut up = (0..self.links).filter(|&link| uses(set & !state.down, link));
            look(&Observation {
                flow: number,
                window: flow.window(),
                congested: state.full & set != 0,
                dropped: up.any(|link| lost[link as usize] > 0),
                reading,
            });
            marks.on_window(&reading, &self.window, |link| signature.is_down(link));
            if marks.take() && self.acts {
                flow.mark();
            }
            marks.settle();
        }
    }
}
