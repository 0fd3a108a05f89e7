//! Whoever carries a flow over two links of which one goes silent.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;
use polypath_live::priority;
use polypath_live::stats::Stats;
use polypath_sim::Side;

use super::mptcp::Mptcp;
use super::node_pair::NodePair;
use crate::emulation::Snapshot;
use crate::endpoints::Endpoints;
use crate::flow::{self, Arrival, LEN};
use crate::silence::Silence;

/// How many links each has.
pub(super) const LINKS: usize = 2;
/// The real-time priority of whoever sends and receives and of nodes, below that of the links. MPTCP is worked on in the
/// kernel's interrupts, before all processes; what is compared is how either notices a silence, not how busy this machine
/// is.
pub(super) const PRIORITY: u8 = 5;
/// So long after the last message the receiver still waits.
const AFTERMATH: Duration = Duration::from_millis(500);

/// Who is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CandidateKind {
    /// Two nodes.
    Polypath,
    /// MPTCP as the kernel has it.
    Mptcp,
    /// MPTCP with `stale_loss_cnt=1`.
    QuickMptcp,
}

impl CandidateKind {
    pub(super) const ALL: [Self; 3] = [Self::Polypath, Self::Mptcp, Self::QuickMptcp];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Polypath => "polypath",
            Self::Mptcp => "mptcp",
            Self::QuickMptcp => "mptcp stale_loss_cnt=1",
        }
    }
}

/// Whoever carries a flow over two links of which one goes silent.
pub(super) struct Candidate {
    kind: CandidateKind,
    flow: Flow,
    carrier: Carrier,
    silence: Silence,
    silenced: Vec<SilencedLink>,
    // Sockets and nodes end before the namespaces that they stand in.
    endpoints: Endpoints,
}

enum Carrier {
    Nodes(NodePair),
    Mptcp(Mptcp),
}

/// The link that is silenced, and its share of the flow's bytes before.
#[derive(Clone, Copy, Debug)]
pub(super) struct SilencedLink {
    pub(super) path: PathId,
    pub(super) share: f64,
}

/// What a candidate leaves behind.
pub(super) struct CandidateResult {
    pub(super) kind: CandidateKind,
    pub(super) start: Time,
    pub(super) sent: u32,
    pub(super) arrivals: Vec<Arrival>,
    pub(super) silenced: Vec<SilencedLink>,
    pub(super) nodes: Option<[Stats; 2]>,
}

impl Candidate {
    /// Sets it up between `ends` and starts its flow.
    pub(super) fn start(
        kind: CandidateKind,
        endpoints: Endpoints,
        silence: Silence,
        clock: Clock,
    ) -> io::Result<Self> {
        let (carrier, flow) = match kind {
            CandidateKind::Polypath => {
                let (nodes, sockets) = NodePair::start(&endpoints)?;
                let [sender, receiver] = sockets;
                let write = move |message: &[u8; LEN]| sender.send(message).map(drop);
                let read = move |buffer: &mut [u8]| receiver.recv(buffer);
                (Carrier::Nodes(nodes), Flow::start(clock, write, read))
            }
            CandidateKind::Mptcp | CandidateKind::QuickMptcp => {
                let quick = kind == CandidateKind::QuickMptcp;
                let (mptcp, [mut sender, mut receiver]) = Mptcp::start(&endpoints, quick)?;
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

    /// Why a silence now would find it unprepared, if it would; fails where its flow has ended.
    pub(super) fn unsettled(&mut self) -> io::Result<Option<String>> {
        self.flow.check()?;
        match &self.carrier {
            Carrier::Nodes(nodes) => nodes.unsettled(),
            Carrier::Mptcp(_) => Mptcp::unsettled(&self.endpoints),
        }
    }

    /// The link that carried most from one snapshot to the next is the one to be silenced.
    pub(super) fn choose(&mut self, before: &Snapshot, after: &Snapshot) {
        let [one, two] = [0, 1].map(|path| {
            let sent = |snapshot| bytes(snapshot, PathId(path), Side::Client);
            sent(after).saturating_sub(sent(before))
        });
        let path = PathId(u8::from(two > one));
        let share = one.max(two) as f64 / (one + two).max(1) as f64;
        self.silenced.push(SilencedLink { path, share });
    }

    pub(super) fn fall_silent(&self) {
        if let Some(choice) = self.silenced.last() {
            self.silence.begin(choice.path);
        }
    }

    pub(super) fn speak(&self) {
        self.silence.end();
    }

    /// Endpoints its flow and says what came of it.
    pub(super) fn finish(self) -> io::Result<CandidateResult> {
        let (start, sent, arrivals) = self.flow.finish()?;
        let nodes = match self.carrier {
            Carrier::Nodes(nodes) => Some(nodes.finish()?),
            Carrier::Mptcp(mptcp) => {
                mptcp.finish();
                None
            }
        };
        Ok(CandidateResult {
            kind: self.kind,
            start,
            sent,
            arrivals,
            silenced: self.silenced,
            nodes,
        })
    }
}

/// Bytes that entered the link of `path` to that side.
pub(super) fn bytes(snapshot: &Snapshot, path: PathId, towards: Side) -> u64 {
    let links = snapshot.links.iter();
    let those = links.filter(|(name, ..)| name.path == Some(path) && name.towards == Some(towards));
    those.map(|(_, _, counters)| counters.bytes_in).sum()
}

/// The flow of a candidate, on two threads, which end with it.
struct Flow {
    over: Arc<AtomicBool>,
    sender: Option<JoinHandle<io::Result<(Time, u32)>>>,
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
            // Without it a busy machine shows in the results; who may not have it is told of the links' thread.
            let _ = priority::realtime(PRIORITY);
            let start = clock.now();
            let sent = flow::send(clock, |_| !sending.load(Ordering::Relaxed), write)?;
            flow::pause(AFTERMATH);
            Ok((start, sent))
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

    /// Fails where it has ended.
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

    fn finish(mut self) -> io::Result<(Time, u32, Vec<Arrival>)> {
        self.over.store(true, Ordering::Relaxed);
        let (start, sent) = join(self.sender.take())?.unwrap_or_default();
        let arrivals = join(self.receiver.take())?.unwrap_or_default();
        Ok((start, sent, arrivals))
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        // Without it the threads, and the sockets that they hold, would outlive a run that failed.
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
