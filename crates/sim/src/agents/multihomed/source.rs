//! A source of datagrams over several paths: a source of even intervals whose every datagram a path
//! policy routes.

use polypath_core::frame::{Epoch, PathId};
use polypath_core::machine::{Deadline, Machine};
use polypath_core::packet::{Dscp, Ecn, FlowId, IpVersion, Kind, PacketMeta};
use polypath_core::policy::{
    Action, DelayCentric, Feedback, PathPolicy, PathSet, Paths, PolicyContext,
};
use polypath_core::tariff::Tariffs;
use polypath_core::time::{Duration, Time};

use polypath_scenario::network::Multihomed;
use polypath_scenario::network::traffic::multihomed::FirstRoute;

use crate::agents::datagrams::{Cbr, CbrConfig, DatagramSource, Pattern};
use crate::agents::setup::{FlowSetup, Span, wire_size};

/// The protocol number of UDP.
const UDP: u8 = 17;

/// An output of a source over several paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultihomedOutput {
    /// Send the next datagram on this path.
    Data(PathId),
    /// Send a heartbeat on this path.
    Heartbeat {
        /// The path.
        path: PathId,
        /// Its number.
        id: u64,
    },
    /// Another path carries the data from now on.
    Path {
        /// The previous path; `None` at the start.
        from: Option<PathId>,
        /// The new path.
        to: PathId,
    },
}

/// A limited number of datagrams, each on the path that the policy chooses; heartbeats end with the
/// last datagram.
#[derive(Clone, Debug)]
pub struct MultihomedSource {
    datagrams: DatagramSource,
    left: u64,
    policy: DelayCentric,
    paths: Paths,
    has_begun: bool,
    stop: Time,
}

impl MultihomedSource {
    /// A source over the first `paths` paths that sends `packets` datagrams, or stops at `stop` if
    /// that is earlier.
    #[must_use]
    pub fn new(
        datagrams: DatagramSource,
        packets: u64,
        policy: DelayCentric,
        paths: u8,
        stop: Time,
    ) -> Self {
        Self {
            datagrams,
            left: packets,
            policy,
            paths: Paths::trusted(PathSet::first(paths)),
            has_begun: false,
            stop,
        }
    }

    /// The source of a flow of a graph.
    pub(super) fn of_flow(config: &Multihomed, setup: &FlowSetup<'_>) -> Self {
        let pattern = CbrConfig {
            interval: config.interval,
            jitter: config.jitter,
            drift: config.drift,
        };
        let pattern = Pattern::Cbr(Cbr::new(pattern, setup.stream("traffic")));
        let Span { start, stop } = setup.span;
        let datagrams = DatagramSource::new(pattern, wire_size(config.packet), start, stop);
        let paths =
            u8::try_from(setup.round_trips.len()).expect("a checked flow has at most 64 routes");
        let first = match config.first {
            FirstRoute::Listed => 0,
            FirstRoute::Random => setup.stream("first-way").below(u64::from(paths)),
        };
        let first = PathId(u8::try_from(first).unwrap_or(0));
        let policy = config.policy.build(PolicyContext {
            paths,
            start: Some(first),
            pair_interval: Duration::from_secs(1),
            epoch: Epoch::default(),
            acknowledges: true,
            tariffs: Tariffs::default(),
            stream: setup.stream("policy"),
        });
        let packets = config.packets.unwrap_or(u64::MAX);
        Self::new(datagrams, packets, policy, paths, stop)
    }

    /// The deadline, given that of the policy, which takes long to compute.
    fn with_policy(&self, of_policy: Option<Deadline>) -> Option<Deadline> {
        if self.left == 0 {
            return None;
        }
        let next = Deadline::earlier(of_policy, self.datagrams.deadline());
        next.filter(|deadline| deadline.at < self.stop)
    }

    fn send(&mut self, now: Time, size: u32, out: &mut impl FnMut(MultihomedOutput)) {
        let meta = PacketMeta {
            version: IpVersion::V4,
            protocol: UDP,
            flow: FlowId(0),
            kind: Kind::Opaque,
            size,
            ecn: Ecn::NotEct,
            dscp: Dscp::DEFAULT,
            ports: None,
            class: None,
        };
        if !self.has_begun {
            self.has_begun = true;
            let to = self.policy.current();
            out(MultihomedOutput::Path { from: None, to });
        }
        let act = &mut |action| emit(action, out);
        let plan = self.policy.route(now, &meta, &self.paths, act);
        self.left -= 1;
        for path in plan.copies {
            out(MultihomedOutput::Data(path));
        }
    }
}

fn emit(action: Action, out: &mut impl FnMut(MultihomedOutput)) {
    match action {
        Action::Heartbeat { path, id } => out(MultihomedOutput::Heartbeat { path, id }),
        Action::Switched { from, to } => {
            let from = Some(from);
            out(MultihomedOutput::Path { from, to });
        }
        Action::SendPair(_) => {}
    }
}

impl Machine for MultihomedSource {
    type Input = Feedback;
    type Output = MultihomedOutput;

    /// Feedback after the last datagram is ignored.
    fn handle_input(
        &mut self,
        now: Time,
        feedback: Feedback,
        out: &mut impl FnMut(MultihomedOutput),
    ) {
        if self.left > 0 && now < self.stop {
            self.policy
                .handle_feedback(now, feedback, &mut |action| emit(action, out));
        }
    }

    /// The policy first, then the datagram of the same time.
    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(MultihomedOutput)) {
        let of_policy = self.policy.deadline();
        if self
            .with_policy(of_policy)
            .is_none_or(|deadline| deadline.at > now)
        {
            return;
        }
        if of_policy.is_some_and(|d| d.at <= now) {
            let out = &mut |action| emit(action, out);
            self.policy.handle_timeout(now, &self.paths, out);
        }
        // All datagrams of a source have one size.
        let (mut due, mut size) = (0_u32, 0);
        self.datagrams.handle_timeout(now, &mut |datagram| {
            due += 1;
            size = datagram.size;
        });
        for _ in 0..due.min(u32::try_from(self.left).unwrap_or(u32::MAX)) {
            self.send(now, size, out);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.with_policy(self.policy.deadline())
    }
}
