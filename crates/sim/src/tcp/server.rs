//! The server of a measured transfer: takes one connection at a time and sends it the file.

use polypath_core::machine::{Deadline, Machine};
use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};

use super::config::TcpConfig;
use super::event::TcpOutput;
use super::overhead::Overhead;
use super::rto::Rto;
use super::segment::{Segment, SegmentKind};
use super::sender::{Sender, SenderStats};

/// The server's end of successive connections; a SYN with a higher number ends the one
/// before.
#[derive(Clone, Debug)]
pub struct Server {
    config: TcpConfig,
    segments: u32,
    connection: u32,
    phase: Phase,
    observed: bool,
    /// The maximum send overhead, and the stream from which those of connections are drawn.
    overhead: Option<(Duration, Stream)>,
}

#[derive(Clone, Debug)]
enum Phase {
    Closed,
    Opening(Opening),
    Sending(Box<Sender>),
}

/// The handshake, from the SYN to the request.
#[derive(Clone, Copy, Debug)]
struct Opening {
    rto: Rto,
    /// The retransmission deadline of the SYN-ACK; `None` once it is acknowledged.
    expires: Option<Time>,
    /// The time at which the SYN-ACK was sent; `None` after a retransmission (Karn).
    sent: Option<Time>,
    /// Whether the SYN-ACK was retransmitted.
    repeated: bool,
}

impl Server {
    /// A server of one file of `segments` segments.
    #[must_use]
    pub fn new(config: TcpConfig, segments: u32) -> Self {
        Self {
            config,
            segments,
            connection: 0,
            phase: Phase::Closed,
            observed: false,
            overhead: None,
        }
    }

    /// Gives the senders of all connections a random send overhead of up to
    /// `greatest`.
    #[must_use]
    pub fn with_overhead(mut self, greatest: Duration, stream: Stream) -> Self {
        self.overhead = Some((greatest, stream));
        self
    }

    /// Starts or stops reporting events of the senders.
    pub fn observe(&mut self, observed: bool) {
        self.observed = observed;
        if let Phase::Sending(sender) = &mut self.phase {
            sender.observe(observed);
        }
    }

    /// The totals of the current connection's sender, once it sends.
    #[must_use]
    pub fn stats(&self) -> Option<SenderStats> {
        match &self.phase {
            Phase::Sending(sender) => Some(sender.stats()),
            Phase::Closed | Phase::Opening(_) => None,
        }
    }

    /// The congestion window of the current connection in segments, once it sends.
    #[must_use]
    pub fn congestion_window(&self) -> Option<f64> {
        match &self.phase {
            Phase::Sending(sender) => Some(sender.congestion_window()),
            Phase::Closed | Phase::Opening(_) => None,
        }
    }

    fn take_syn(&mut self, now: Time, connection: u32, out: &mut impl FnMut(TcpOutput)) {
        if connection > self.connection {
            self.connection = connection;
            let rto = Rto::new(self.config.rto);
            self.phase = Phase::Opening(Opening {
                rto,
                expires: Some(now + rto.timeout()),
                sent: Some(now),
                repeated: false,
            });
        } else if let Phase::Opening(opening) = &mut self.phase {
            opening.repeat();
        }
        out(self.segment(SegmentKind::SynAck).into());
    }

    /// The client requests the file, and advertises its window.
    fn take_request(&mut self, now: Time, window: u32, out: &mut impl FnMut(TcpOutput)) {
        match &mut self.phase {
            Phase::Opening(opening) => {
                opening.acknowledge(now);
                let (config, rto) = opening.begin_data(self.config);
                let config = TcpConfig {
                    receiver_window: window,
                    ..config
                };
                let mut sender = Sender::new(self.connection, self.segments, config, rto);
                if let Some((greatest, stream)) = &mut self.overhead
                    && let Some(overhead) = Overhead::of_connection(*greatest, stream)
                {
                    sender = sender.with_overhead(overhead);
                }
                let mut sender = Box::new(sender);
                sender.observe(self.observed);
                sender.start(now, out);
                self.phase = Phase::Sending(sender);
            }
            // The client repeats its request because no data has arrived: the sender's timer will
            // send it.
            Phase::Closed | Phase::Sending(_) => {}
        }
    }

    fn segment(&self, kind: SegmentKind) -> Segment {
        Segment::new(kind, self.connection, 0, self.config.ack)
    }
}

impl Opening {
    /// Retransmits the SYN-ACK, whose acknowledgment is then no measurement (Karn).
    fn repeat(&mut self) {
        self.sent = None;
        self.repeated = true;
    }

    /// Starts the data after a set-up with a retransmitted SYN-ACK: with a window of one
    /// segment (RFC 5681, 3.1) and a timer without back-off (RFC 6298, 5.7).
    fn begin_data(&self, config: TcpConfig) -> (TcpConfig, Rto) {
        if self.repeated {
            let config = TcpConfig {
                initial_window: 1,
                ..config
            };
            return (config, Rto::new(config.rto));
        }
        (config, self.rto)
    }

    fn acknowledge(&mut self, now: Time) {
        self.expires = None;
        if let Some(sent) = self.sent.take() {
            self.rto.sample(sent, now);
        }
    }
}

impl Machine for Server {
    type Input = Segment;
    type Output = TcpOutput;

    fn handle_input(&mut self, now: Time, segment: Segment, out: &mut impl FnMut(TcpOutput)) {
        if segment.kind == SegmentKind::Syn && segment.connection >= self.connection {
            return self.take_syn(now, segment.connection, out);
        }
        if segment.connection != self.connection {
            return;
        }
        match (segment.kind, &mut self.phase) {
            (SegmentKind::Request, _) => self.take_request(now, segment.window, out),
            (SegmentKind::Reset, _) => self.phase = Phase::Closed,
            (SegmentKind::Ack, Phase::Opening(opening)) => opening.acknowledge(now),
            (SegmentKind::Ack, Phase::Sending(sender)) => sender.handle_input(now, segment, out),
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(TcpOutput)) {
        match &mut self.phase {
            Phase::Closed => {}
            Phase::Opening(opening) => {
                if opening.expires.is_some_and(|at| at <= now) {
                    opening.rto.back_off();
                    opening.repeat();
                    opening.expires = Some(now + opening.rto.timeout());
                    out(self.segment(SegmentKind::SynAck).into());
                }
            }
            Phase::Sending(sender) => sender.handle_timeout(now, out),
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        match &self.phase {
            Phase::Closed => None,
            Phase::Opening(opening) => opening.expires.map(|at| Deadline {
                at,
                why: "SYN-ACK is sent again",
            }),
            Phase::Sending(sender) => sender.deadline(),
        }
    }
}
