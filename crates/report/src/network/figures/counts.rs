//! Counts of one run.

use polypath_link::{Counters, DropReason};
use polypath_sim::{FlowCounters, FlowOutcome, LinkOutcome};

use crate::statistics::Estimate;

/// Counts of one flow, or of several together, in a run: means over the replicas; exact and without
/// an interval for a single run.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowCounts {
    /// Bytes delivered to the receiving application.
    pub goodput: Option<Estimate>,
    /// Data segments or datagrams sent, retransmissions included.
    pub sent: Option<Estimate>,
    /// Retransmitted segments.
    pub retransmitted: Option<Estimate>,
    /// Expiries of the retransmission timer.
    pub timeouts: Option<Estimate>,
    /// Packets that arrived, copies included.
    pub arrived: Option<Estimate>,
}

/// Packet counts of one direction of a link in a run; likewise.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkCounts {
    /// Packets that arrived at the queue.
    pub packets_in: Option<Estimate>,
    /// Packets that did not reach the far end.
    pub dropped: Option<Estimate>,
    /// Packets that were marked (ECN).
    pub marked: Option<Estimate>,
    /// Packets that did not reach the far end for each of [`DropReason::ALL`].
    pub dropped_for: Vec<(DropReason, Option<Estimate>)>,
}

impl FlowCounts {
    pub(super) fn of(runs: &[FlowCounters]) -> Self {
        Self {
            goodput: estimate(runs, |run| run.goodput),
            sent: estimate(runs, |run| run.sender.sent),
            retransmitted: estimate(runs, |run| run.sender.retransmitted),
            timeouts: estimate(runs, |run| run.sender.timeouts),
            arrived: estimate(runs, |run| run.delays.count),
        }
    }
}

impl LinkCounts {
    pub(super) fn of(replicas: &[&LinkOutcome]) -> Self {
        let total = |link: &&LinkOutcome| link.spans.iter().copied().sum();
        let runs: Vec<Counters> = replicas.iter().map(total).collect();
        Self {
            packets_in: estimate(&runs, |run| run.packets_in),
            dropped: estimate(&runs, Counters::packets_dropped),
            marked: estimate(&runs, |run| run.packets_marked),
            dropped_for: DropReason::ALL
                .map(|reason| (reason, estimate(&runs, |run| run.drops.of(reason))))
                .to_vec(),
        }
    }
}

/// The counters of flows together, from the first span to the last.
pub(super) fn whole(flows: &[FlowOutcome]) -> FlowCounters {
    flows.iter().flat_map(|flow| &flow.spans).copied().sum()
}

fn estimate<T>(runs: &[T], count: impl Fn(&T) -> u64) -> Option<Estimate> {
    let counts: Vec<f64> = runs.iter().map(|run| count(run) as f64).collect();
    Estimate::of(&counts)
}
