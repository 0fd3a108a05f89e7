//! The sender of a stream over several TCP connections: the striper of
//! [`polypath_core::connections`] over simulated senders.

use polypath_core::connections::{Striper, StriperInput, StriperOutput};
use polypath_core::machine::{Deadline, Machine};
use polypath_core::rng::Stream;
use polypath_core::spacing::Pacer;
use polypath_core::time::{Duration, Time};
use polypath_scenario::network::Striped;

use crate::agents::setup::FlowSetup;
use crate::tcp::{Overhead, Rto, Segment, SegmentKind, Sender, SenderStats, TcpConfig, TcpOutput};

/// The configuration of the connections.
#[derive(Clone, Copy, Debug)]
pub struct StripedSourceConfig {
    /// The TCP settings of the hosts; every connection starts with a set-up.
    pub tcp: TcpConfig,
    /// The maximum random send overhead.
    pub overhead: Duration,
    /// The minimum time between two packets that the application writes to a connection, if it
    /// limits their rate.
    pub interval: Option<Duration>,
}

/// Opens the connections that the receiver requests, and stripes endless media over them.
///
/// A connection is blocked if its windows allow no new segment: the striper fills no buffers, so
/// each packet goes to a connection that can send it immediately.
#[derive(Clone, Debug)]
pub struct StripedSource {
    config: StripedSourceConfig,
    /// The random stream of the connections' send overheads.
    stream: Stream,
    stop: Time,
    striper: Striper,
    /// The open connections.
    subflows: Vec<StripedSubflow>,
    /// Whether each connection number, from 1, has been used.
    known: Vec<bool>,
    /// The totals of closed connections.
    finished: SenderStats,
    observed: bool,
}

/// An open connection.
#[derive(Clone, Debug)]
struct StripedSubflow {
    number: u32,
    sender: Sender,
    pacer: Option<Pacer>,
    /// The time until which the application limits it.
    rests: Option<Time>,
}

/// An output of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StripedOutput {
    /// The output of a connection.
    Tcp(TcpOutput),
    /// The next segment of a connection carries this packet of the stream, as its header would
    /// state.
    Written {
        /// The connection.
        connection: u32,
        /// The number of the packet in the stream, from 1.
        sequence: u64,
    },
}

impl StripedSource {
    /// A source that writes no new data at `stop` or later.
    #[must_use]
    pub fn new(config: StripedSourceConfig, stream: Stream, stop: Time) -> Self {
        let mut striper = Striper::default();
        striper.handle_input(Time::ZERO, StriperInput::Data(u64::MAX), &mut |_| {});
        Self {
            config,
            stream,
            stop,
            striper,
            subflows: Vec::new(),
            known: Vec::new(),
            finished: SenderStats::default(),
            observed: false,
        }
    }

    /// The source of a flow of a graph.
    pub(super) fn of_flow(config: &Striped, tcp: TcpConfig, setup: &FlowSetup<'_>) -> Self {
        let segment = setup.hosts.segment;
        let limit = config.connection_limit;
        let config = StripedSourceConfig {
            tcp,
            overhead: setup.hosts.overhead,
            interval: limit.map(|rate| rate.transmission_time(segment)),
        };
        Self::new(config, setup.stream("traffic"), setup.span.stop)
    }

    /// Starts or stops reporting events of the senders.
    pub fn observe(&mut self, observed: bool) {
        self.observed = observed;
        for subflow in &mut self.subflows {
            subflow.sender.observe(observed);
        }
    }

    /// The totals so far, over all connections.
    #[must_use]
    pub fn stats(&self) -> SenderStats {
        let open: SenderStats = self
            .subflows
            .iter()
            .map(|subflow| subflow.sender.stats())
            .sum();
        self.finished + open
    }

    /// The mean congestion window of the open connections in segments; `None` without one.
    #[must_use]
    pub fn congestion_window(&self) -> Option<f64> {
        let windows = self
            .subflows
            .iter()
            .map(|subflow| subflow.sender.congestion_window());
        (!self.subflows.is_empty()).then(|| windows.sum::<f64>() / self.subflows.len() as f64)
    }

    /// Whether the receiver requests this connection for the first time.
    fn is_new(&mut self, number: u32) -> bool {
        let place = number as usize;
        if self.known.len() <= place {
            self.known.resize(place + 1, false);
        }
        !std::mem::replace(&mut self.known[place], true)
    }

    fn open(&mut self, now: Time, number: u32, out: &mut impl FnMut(StripedOutput)) {
        if !self.is_new(number) {
            return;
        }
        let tcp = self.config.tcp;
        let mut sender = Sender::new(number, 1, tcp, Rto::new(tcp.rto)).fed();
        if let Some(overhead) = Overhead::of_connection(self.config.overhead, &mut self.stream) {
            sender = sender.with_overhead(overhead);
        }
        sender.observe(self.observed);
        sender.start(now, &mut |output| out(StripedOutput::Tcp(output)));
        let pacer = self.config.interval.map(|interval| {
            let mut pacer = Pacer::new(interval, interval);
            pacer.on_writable();
            pacer
        });
        let subflow = StripedSubflow {
            number,
            sender,
            pacer,
            rests: None,
        };
        let place = self
            .subflows
            .partition_point(|subflow| subflow.number < number);
        self.subflows.insert(place, subflow);
    }

    fn take_ack(&mut self, now: Time, ack: Segment, out: &mut impl FnMut(StripedOutput)) {
        let found = self
            .subflows
            .iter()
            .position(|subflow| subflow.number == ack.connection);
        let Some(place) = found else {
            return;
        };
        let sender = &mut self.subflows[place].sender;
        sender.handle_input(now, ack, &mut |output| out(StripedOutput::Tcp(output)));
        let wants_no_more = ack.kind == SegmentKind::LastAck && ack.window == 0;
        if wants_no_more && ack.number >= sender.total() {
            self.finished += sender.stats();
            self.subflows.remove(place);
            let closed = StriperInput::Closed(ack.connection);
            self.striper.handle_input(now, closed, &mut |_| {});
        } else {
            self.stripe(now, place, out);
        }
    }

    /// Writes as many packets to the connection at `place` as it accepts.
    fn stripe(&mut self, now: Time, place: usize, out: &mut impl FnMut(StripedOutput)) {
        while now < self.stop {
            let room = self.subflows[place].room(now);
            let connection = self.subflows[place].number;
            let input = StriperInput::Writable { connection, room };
            let subflows = &mut self.subflows;
            let mut sent = false;
            self.striper.handle_input(now, input, &mut |output| {
                sent = true;
                write(now, output, subflows, out);
            });
            if !sent {
                return;
            }
        }
    }
}

/// Writes a packet to its connection.
fn write(
    now: Time,
    StriperOutput {
        connection,
        sequence,
    }: StriperOutput,
    subflows: &mut [StripedSubflow],
    out: &mut impl FnMut(StripedOutput),
) {
    let found = subflows.binary_search_by_key(&connection, |subflow| subflow.number);
    let place = found.expect("the striper knows open connections alone");
    out(StripedOutput::Written {
        connection,
        sequence,
    });
    let subflow = &mut subflows[place];
    if let Some(pacer) = &mut subflow.pacer {
        pacer.on_sent(now, Duration::ZERO);
        pacer.on_writable();
    }
    let out = &mut |output| out(StripedOutput::Tcp(output));
    subflow.sender.extend(now, 1, out);
}

impl StripedSubflow {
    /// The number of packets that the connection accepts now.
    fn room(&mut self, now: Time) -> u32 {
        let room = self.sender.room();
        let next = self
            .pacer
            .as_ref()
            .and_then(|pacer| pacer.next(Duration::ZERO));
        self.rests = next.filter(|next| *next > now && room > 0);
        match (next, self.rests) {
            (_, Some(_)) => 0,
            (Some(_), None) => room.min(1),
            (None, None) => room,
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let rests = self.rests.map(|at| Deadline {
            at,
            why: "rate limit of a connection",
        });
        Deadline::earlier(self.sender.deadline(), rests)
    }
}

impl Machine for StripedSource {
    type Input = Segment;
    type Output = StripedOutput;

    fn handle_input(&mut self, now: Time, segment: Segment, out: &mut impl FnMut(StripedOutput)) {
        match segment.kind {
            SegmentKind::Request if now < self.stop => self.open(now, segment.connection, out),
            SegmentKind::Ack | SegmentKind::LastAck => self.take_ack(now, segment, out),
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(StripedOutput)) {
        for place in 0..self.subflows.len() {
            let subflow = &mut self.subflows[place];
            if subflow.deadline().is_none_or(|deadline| deadline.at > now) {
                continue;
            }
            if subflow
                .sender
                .deadline()
                .is_some_and(|deadline| deadline.at <= now)
            {
                let out = &mut |output| out(StripedOutput::Tcp(output));
                subflow.sender.handle_timeout(now, out);
            }
            subflow.rests = None;
            self.stripe(now, place, out);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let deadlines = self.subflows.iter().map(StripedSubflow::deadline);
        deadlines.fold(None, Deadline::earlier)
    }
}
