//! Sent and received rates of senders with a fixed spacing.

use std::sync::atomic::AtomicU64;

use polypath_batch::run_counted;
use polypath_claims::{Job, JobError};
use polypath_core::time::Time;
use polypath_sim::{Detail, FlowOutcome, NetworkEvent, NetworkObserver, NetworkOutcome};
use serde::{Deserialize, Serialize};

use super::merge::Merge;

/// A run that measures each flow as a whole.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Steady(pub(crate) Merge);

/// The results of all flows after the warm-up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Flows {
    pub(crate) media: Vec<Flow>,
    pub(crate) tcp: Vec<Flow>,
}

/// The result of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flow {
    /// The sent rate in Mb/s.
    pub(crate) sent: f64,
    /// The rate that the receiving application got, in Mb/s.
    pub(crate) received: f64,
    /// The sent packets.
    pub(crate) packets: u64,
    /// The packets that a queue dropped.
    pub(crate) dropped: u64,
}

/// The share of dropped packets of all `flows`; `None` without packets.
pub(crate) fn loss<'a>(flows: impl IntoIterator<Item = &'a Flow>) -> Option<f64> {
    let (mut packets, mut dropped) = (0, 0);
    for flow in flows {
        packets += flow.packets;
        dropped += flow.dropped;
    }
    // A packet that left before the warm-up's end may be dropped after it.
    (packets > 0).then(|| (dropped as f64 / packets as f64).min(1.0))
}

impl Job for Steady {
    type Output = Flows;

    const KIND: &'static str = "psp.steady";

    fn cost(&self) -> f64 {
        self.0.cost()
    }

    fn run(&self, parts: &AtomicU64) -> Result<Flows, JobError> {
        let network = self.0.network()?;
        let mut drops = Drops {
            from: Time::ZERO + network.run.warm_up,
            of_flows: Vec::new(),
        };
        let outcome = run_counted(&network, self.0.seed, parts, &mut drops)?;
        Ok(self.flows(&outcome, &drops))
    }
}

impl Steady {
    fn flows(&self, outcome: &NetworkOutcome, drops: &Drops) -> Flows {
        let measured = outcome.measured().as_secs_f64();
        let dropped = |number: usize| drops.of_flows.get(number).copied().unwrap_or(0);
        let of = |tcp: bool| {
            let flows = outcome.flows.iter().enumerate();
            let flows = flows.filter(|(_, flow)| flow.tcp == tcp);
            flows
                .map(|(number, flow)| self.flow(flow, measured, dropped(number)))
                .collect()
        };
        Flows {
            media: of(false),
            tcp: of(true),
        }
    }

    fn flow(&self, flow: &FlowOutcome, seconds: f64, dropped: u64) -> Flow {
        let packets: u64 = flow.spans.iter().map(|span| span.sender.sent).sum();
        let goodput: u64 = flow.spans.iter().map(|span| span.goodput).sum();
        let mbits = |bytes: f64| bytes * 8.0 / seconds / 1e6;
        Flow {
            sent: mbits(packets as f64 * f64::from(self.0.packet)),
            received: mbits(goodput as f64),
            packets,
            dropped,
        }
    }
}

/// Counts the data packets that queues drop after the warm-up, flow by flow.
struct Drops {
    from: Time,
    of_flows: Vec<u64>,
}

impl NetworkObserver for Drops {
    fn on_progress(&mut self, _: Time) {}

    fn detail(&self) -> Detail {
        Detail {
            flow_events: true,
            packets: false,
        }
    }

    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        let NetworkEvent::Dropped { packet, .. } = event else {
            return;
        };
        if at < self.from || packet.back {
            return;
        }
        let flow = packet.flow as usize;
        if self.of_flows.len() <= flow {
            self.of_flows.resize(flow + 1, 0);
        }
        self.of_flows[flow] += 1;
    }
}
