//! The ECN fields of datagrams: who receives them, and what the network does to them.

use polypath_core::combine::Reaction;
use polypath_core::packet::Ecn;
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::{Seed, Stream};
use polypath_core::time::Time;

use super::{Incident, Schedule, pick};
use crate::datagram::{End, Host};

/// The nodes and relays that receive ECN fields, and the changes that the network makes to them.
#[derive(Clone, Copy, Debug, Default)]
pub struct EcnPlan {
    /// Whether each node receives the ECN fields of datagrams.
    pub nodes_receive: [bool; 2],
    /// Whether the relays do.
    pub relays_receive: bool,
    /// The share of ECN-capable datagrams that the network marks.
    pub mark_share: f64,
    /// The share of ECN-capable datagrams to which a device on the way gives another codepoint: it
    /// clears the field, or exchanges ECT(0) and ECT(1).
    pub rewrite_share: f64,
}

impl EcnPlan {
    /// Most schedules have nodes and relays that receive the field, half of them a network that
    /// marks, and one in four a device that changes it.
    pub(super) fn draw(stream: &mut Stream) -> Self {
        let both = [true; 2];
        let mut nodes_receive = pick(stream, &[both, both, [false, true], [true, false]]);
        let mark_share = pick(stream, &[0.0, 0.0, 0.1, 0.5]);
        if stream.chance(0.1) {
            nodes_receive = [false; 2];
        }
        Self {
            nodes_receive,
            relays_receive: stream.chance(0.75),
            mark_share,
            rewrite_share: pick(stream, &[0.0, 0.0, 0.0, 0.2]),
        }
    }

    /// Lets the network of one schedule in four mark all ECN-capable datagrams, and all nodes and relays
    /// receive the marks.
    pub(super) fn draw_all_marked(schedule: &mut Schedule) {
        if schedule.seed.stream("faults/all-marked").chance(0.25) {
            schedule.ecn = Self {
                nodes_receive: [true; 2],
                relays_receive: true,
                mark_share: 1.0,
                rewrite_share: 0.0,
            };
        }
    }

    /// Whether the network marks all ECN-capable datagrams, and no mark is lost or changed on the way.
    fn marks_all(&self) -> bool {
        let all_receive = self.relays_receive && self.nodes_receive == [true; 2];
        all_receive && self.mark_share >= 1.0 && self.rewrite_share == 0.0
    }

    /// Whether a node or a relay receives the field.
    #[must_use]
    pub const fn is_received_by(&self, host: Host) -> bool {
        match host {
            Host::Node(end) => self.nodes_receive[end.index()],
            Host::Relay => self.relays_receive,
            Host::Attacker => true,
        }
    }
}

/// The network's changes of ECN fields, in the order of datagrams.
#[derive(Debug)]
pub struct EcnFaults {
    plan: EcnPlan,
    marks: Stream,
    rewrites: Stream,
}

impl EcnFaults {
    /// Those of a schedule.
    #[must_use]
    pub fn new(seed: Seed, plan: EcnPlan) -> Self {
        Self {
            plan,
            marks: seed.stream("faults/marks"),
            rewrites: seed.stream("faults/rewrites"),
        }
    }

    /// The codepoint that a datagram leaves the network with, which entered it with `ecn`.
    pub fn apply(&mut self, ecn: Ecn) -> Ecn {
        let mut new = ecn;
        if ecn.is_capable() && self.rewrites.chance(self.plan.rewrite_share) {
            new = match (ecn, self.rewrites.chance(0.5)) {
                (Ecn::Ect0, true) => Ecn::Ect1,
                (Ecn::Ect1, true) => Ecn::Ect0,
                _ => Ecn::NotEct,
            };
        }
        if new.is_capable() && self.marks.chance(self.plan.mark_share) {
            new = Ecn::Ce;
        }
        new
    }
}

impl Schedule {
    /// Whether a packet that was sent with the codepoint `sent` may be delivered at `to` with
    /// `delivered` (RFC 6040, Figure 4). A mark needs a network that marks and a node that reads
    /// it, or a node that marks packets by itself.
    #[must_use]
    pub fn may_become(&self, to: End, sent: Ecn, delivered: Ecn) -> bool {
        let reads = self.ecn.is_received_by(Host::Node(to));
        match (sent, delivered) {
            (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => {
                reads && self.ecn.mark_share > 0.0 || self.marks_itself(to)
            }
            (Ecn::Ect0, Ecn::Ect1) => reads && self.ecn.rewrite_share > 0.0,
            _ => sent == delivered,
        }
    }

    /// Whether a packet that is sent at `at` with the codepoint `sent` has to be delivered with a
    /// mark: the network marks all, and the calm has settled. Earlier packets may wait for a
    /// session, in datagrams that are not ECN-capable.
    #[must_use]
    pub fn must_mark(&self, at: Time, sent: Ecn) -> bool {
        let is_settled = at >= self.calm_from + self.settling_time();
        self.ecn.marks_all() && is_settled && matches!(sent, Ecn::Ect0 | Ecn::Ect1)
    }

    /// Whether a node marks packets by itself at some time: those that it delivers, if copies show
    /// congestion, or those that it sends, if all paths have queues.
    fn marks_itself(&self, receiver: End) -> bool {
        // Where drops signal congestion, packets that are ECN-capable are still marked.
        let on_delivery = |policy| match policy {
            PolicyConfig::Diversity(config) => config.react != Reaction::Off,
            _ => false,
        };
        let on_sending = |policy| matches!(policy, PolicyConfig::InTime(_));
        self.policies(receiver).any(on_delivery) || self.policies(receiver.other()).any(on_sending)
    }

    /// The policies of a node, at its start and after reloads.
    fn policies(&self, end: End) -> impl Iterator<Item = PolicyConfig> {
        let reloaded = self
            .incidents
            .iter()
            .filter_map(move |(_, incident)| match incident {
                Incident::Reload(of, settings) if *of == end => Some(settings.policy),
                _ => None,
            });
        [self.nodes.settings[end.index()].policy]
            .into_iter()
            .chain(reloaded)
    }
}
