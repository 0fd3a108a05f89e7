//! A candidate of the comparison: it carries a flow over two links, one of which goes silent.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use polypath_core::class::Classes;
use polypath_core::endpoint::ProbingConfig;
use polypath_core::frame::PathId;
use polypath_core::policy::PolicyConfig;
use polypath_core::repair::RepairConfig;
use polypath_core::tariff::Tariffs;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_live::config::LivenessSetting;
use polypath_live::priority;
use polypath_live::stats::Stats;
use polypath_sim::Side;

use super::parameters::{LINKS, MPTCP_CONGESTION_CONTROL, PATHS, PRIORITY};
use crate::endpoints::Endpoints;
use crate::flow::{self, Arrival, LEN};
use crate::mptcp::{Mptcp, MptcpConfig};
use crate::network::Snapshot;
use crate::node_pair::{NodePair, NodePairConfig, open_sockets};
use crate::node_process::OverlayConfig;
use crate::silence::Silence;

/// The time after the last message during which the receiver still waits.
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// The candidates that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CandidateKind {
    /// Two nodes with the policy `single-path`.
    SinglePath,
    /// Two nodes with the policy `in-time`.
    InTime,
    /// MPTCP with the kernel's defaults.
    Mptcp,
    /// MPTCP with `stale_loss_cnt=1`.
    QuickMptcp,
}

impl CandidateKind {
    pub(super) const ALL: [Self; 4] = [
        Self::SinglePath,
        Self::InTime,
        Self::Mptcp,
        Self::QuickMptcp,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::SinglePath => "polypath single-path",
            Self::InTime => "polypath in-time",
            Self::Mptcp => "mptcp",
            Self::QuickMptcp => "mptcp stale_loss_cnt=1",
        }
    }

    /// The policy of the nodes with links of a round-trip time of `rtt`.
    fn policy(self, rtt: Duration) -> PolicyConfig {
        if self != Self::InTime {
            return PolicyConfig::single_path(0);
        }
        let default = RepairConfig::default();
        PolicyConfig::InTime(RepairConfig {
            // A repair takes one and a half round trips, and some 20 ms.
            deadline: default.deadline.max(rtt * 2),
            ..default
        })
    }
}

/// A candidate with its flow and its endpoints.
pub(super) struct Candidate {
    kind: CandidateKind,
    flow: Flow,
    carrier: Carrier,
    silence: Silence,
    silenced: Vec<SilencedLink>,
    // Declared last: sockets and nodes are dropped before their namespaces.
    endpoints: Endpoints,
}

enum Carrier {
    Nodes(NodePair),
    Mptcp(Mptcp),
}

/// A silenced link, and its share of the flow's bytes before the silence.
#[derive(Clone, Copy, Debug)]
pub(super) struct SilencedLink {
    pub(super) path: PathId,
    pub(super) share: f64,
}

/// The raw results of a candidate.
pub(super) struct CandidateResult {
    pub(super) kind: CandidateKind,
    pub(super) flow: FlowResult,
    pub(super) silenced: Vec<SilencedLink>,
    pub(super) nodes: Option<[Stats; 2]>,
}

impl Candidate {
    /// Connects `endpoints` and starts the flow.
    pub(super) fn start(
        kind: CandidateKind,
        endpoints: Endpoints,
        silence: Silence,
        clock: Clock,
        rtt: Duration,
    ) -> io::Result<Self> {
        let (carrier, flow) = match kind {
            CandidateKind::SinglePath | CandidateKind::InTime => {
                let nodes = start_nodes(&endpoints, kind.policy(rtt))?;
                let [sender, receiver] = open_sockets(&endpoints)?;
                let write = move |message: &[u8; LEN]| sender.send(message).map(drop);
                let read = move |buffer: &mut [u8]| receiver.recv(buffer);
                (Carrier::Nodes(nodes), Flow::start(clock, write, read))
            }
            CandidateKind::Mptcp | CandidateKind::QuickMptcp => {
                let config = MptcpConfig {
                    paths: PATHS,
                    congestion_control: MPTCP_CONGESTION_CONTROL,
                    quick: kind == CandidateKind::QuickMptcp,
                };
                let (mptcp, [mut sender, mut receiver]) = Mptcp::start(&endpoints, config)?;
                let write = move |message: &[u8; LEN]| io::Write::write_all(&mut sender, message);
                let read = move |buffer: &mut [u8]| io::Read::read(&mut receiver, buffer);
                (Carrier::Mptcp(mptcp), Flow::start(clock, write, read))
            }
        };
        Ok(Self {
            kind,
            flow,
            carrier,
            silence,
            silenced: Vec::new(),
            endpoints,
        })
    }

    pub(super) fn kind(&self) -> CandidateKind {
        self.kind
    }

    /// The reason why the candidate has not settled, if any; fails if its flow has ended.
    pub(super) fn unsettled(&mut self) -> io::Result<Option<String>> {
        self.flow.check()?;
        match &self.carrier {
            Carrier::Nodes(nodes) => nodes.unsettled(LINKS),
            Carrier::Mptcp(mptcp) => mptcp.unsettled(&self.endpoints),
        }
    }

    /// Selects the link to silence: the one that carried most between the two snapshots.
    pub(super) fn select_link(&mut self, before: &Snapshot, after: &Snapshot) {
        let [one, two] = [0, 1].map(|path| {
            let sent = |snapshot| bytes(snapshot, PathId(path), Side::Client);
            sent(after).saturating_sub(sent(before))
        });
        let path = PathId(u8::from(two > one));
        let share = one.max(two) as f64 / (one + two).max(1) as f64;
        self.silenced.push(SilencedLink { path, share });
    }

    /// Silences the selected link.
    pub(super) fn begin_silence(&self) {
        if let Some(link) = self.silenced.last() {
            self.silence.begin(link.path);
        }
    }

    /// Restores the silenced link.
    pub(super) fn end_silence(&self) {
        self.silence.end();
    }

    /// Ends the flow and returns its results.
    pub(super) fn finish(self) -> io::Result<CandidateResult> {
        let flow = self.flow.finish()?;
        let nodes = match self.carrier {
            Carrier::Nodes(nodes) => Some(nodes.finish()?.stats),
            Carrier::Mptcp(mptcp) => {
                mptcp.finish();
                None
            }
        };
        Ok(CandidateResult {
            kind: self.kind,
            flow,
            silenced: self.silenced,
            nodes,
        })
    }
}

fn start_nodes(endpoints: &Endpoints, policy: PolicyConfig) -> io::Result<NodePair> {
    let overlay = OverlayConfig {
        paths: &["one", "two"].map(String::from),
        policy,
        probing: ProbingConfig::default(),
        liveness: LivenessSetting::default(),
        tariffs: &Tariffs::default(),
        classes: &Classes::default(),
        spacing: None,
    };
    let config = NodePairConfig {
        overlay,
        with_events: false,
        origin_ns: None,
        priority: PRIORITY,
    };
    NodePair::start(endpoints, &config)
}

/// The bytes that entered the link of `path` towards one side.
pub(super) fn bytes(snapshot: &Snapshot, path: PathId, towards: Side) -> u64 {
    let links = snapshot.links.iter();
    let selected =
        links.filter(|link| link.name.path == Some(path) && link.name.towards == Some(towards));
    selected.map(|link| link.counters.bytes_in).sum()
}

/// The messages of a finished flow.
pub(super) struct FlowResult {
    pub(super) start: Time,
    /// The number of messages sent.
    pub(super) sent: u32,
    pub(super) arrivals: Vec<Arrival>,
}

/// The start of a flow, and the number of messages sent.
#[derive(Default)]
struct SentMessages {
    start: Time,
    count: u32,
}

/// The flow of a candidate, on two threads, which end when this is dropped.
struct Flow {
    over: Arc<AtomicBool>,
    sender: Option<JoinHandle<io::Result<SentMessages>>>,
    receiver: Option<JoinHandle<io::Result<Vec<Arrival>>>>,
}

impl Flow {
    fn start(
        clock: Clock,
        write: impl FnMut(&[u8; LEN]) -> io::Result<()> + Send + 'static,
        read: impl FnMut(&mut [u8]) -> io::Result<usize> + Send + 'static,
    ) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (sending, receiving) = (Arc::clone(&over), Arc::clone(&over));
        let sender = std::thread::spawn(move || {
            // Without a priority the load of the machine affects the results; the outcome reports
            // whether the links' thread has one.
            let _ = priority::realtime(PRIORITY);
            let start = clock.now();
            let count = flow::send(clock, |_| !sending.load(Ordering::Relaxed), write)?;
            flow::pause(DRAIN_TIME);
            Ok(SentMessages { start, count })
        });
        let receiver = std::thread::spawn(move || {
            let _ = priority::realtime(PRIORITY);
            flow::receive(clock, read, || receiving.load(Ordering::Relaxed))
        });
        Self {
            over,
            sender: Some(sender),
            receiver: Some(receiver),
        }
    }

    /// Fails if either thread has ended.
    fn check(&mut self) -> io::Result<()> {
        let sender = self.sender.take_if(|thread| thread.is_finished());
        let receiver = self.receiver.take_if(|thread| thread.is_finished());
        join(sender)?;
        join(receiver)?;
        if self.sender.is_some() && self.receiver.is_some() {
            return Ok(());
        }
        Err(io::Error::other("the flow has ended"))
    }

    fn finish(mut self) -> io::Result<FlowResult> {
        self.over.store(true, Ordering::Relaxed);
        let sent = join(self.sender.take())?.unwrap_or_default();
        let arrivals = join(self.receiver.take())?.unwrap_or_default();
        Ok(FlowResult {
            start: sent.start,
            sent: sent.count,
            arrivals,
        })
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        // Otherwise the threads and their sockets would outlive a failed run.
        self.over.store(true, Ordering::Relaxed);
    }
}

fn join<T>(thread: Option<JoinHandle<io::Result<T>>>) -> io::Result<Option<T>> {
    match thread.map(JoinHandle::join) {
        None => Ok(None),
        Some(Ok(result)) => result.map(Some),
        Some(Err(panic)) => std::panic::resume_unwind(panic),
    }
}
