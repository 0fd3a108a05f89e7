//! The client of a measured transfer: opens the connection, asks for the file and acknowledges it.

use polypath_core::machine::{Deadline, Machine};
use polypath_core::time::{Duration, Time};

use super::config::TcpConfig;
use super::receiver::Receiver;
use super::rto::Rto;
use super::segment::{Segment, SegmentKind};

/// Size of a request on the wire in bytes: that of a short HTTP request with its headers.
const REQUEST_SIZE: u32 = 100;

/// An input of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientInput {
    /// Open a connection with a number higher than any before, and request the file.
    Open(u32),
    /// Abort the current connection.
    Close,
    /// A segment arrived.
    Segment(Segment),
}

impl From<Segment> for ClientInput {
    fn from(segment: Segment) -> Self {
        Self::Segment(segment)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    SynSent,
    Requested,
    Receiving,
}

/// The client's end of successive connections.
#[derive(Clone, Debug)]
pub struct Client {
    config: TcpConfig,
    state: State,
    receiver: Receiver,
    rto: Rto,
    /// The deadline for sending the SYN or the request again.
    expires: Option<Time>,
    /// The time at which the SYN was sent; `None` after a retransmission (Karn).
    syn_sent: Option<Time>,
}

impl Client {
    /// A client without a connection.
    #[must_use]
    pub fn new(config: TcpConfig) -> Self {
        Self {
            config,
            state: State::Closed,
            receiver: Receiver::new(&config),
            rto: Rto::new(config.rto),
            expires: None,
            syn_sent: None,
        }
    }

    /// The number of segments of the file received in order.
    #[must_use]
    pub const fn in_order(&self) -> u32 {
        self.receiver.in_order()
    }

    /// The number of duplicate segments received: spurious retransmissions of the server,
    /// since the overlay delivers each packet once.
    #[must_use]
    pub const fn spurious(&self) -> u64 {
        self.receiver.spurious()
    }

    /// The number of segments that arrived with a mark ([`Receiver::marks`]).
    #[must_use]
    pub const fn marks(&self) -> u64 {
        self.receiver.marks()
    }

    /// The receiver's estimate of the round-trip time.
    #[must_use]
    pub const fn rtt(&self) -> Option<Duration> {
        self.receiver.rtt()
    }

    /// Sets the receiver window in segments, for later connections as well.
    pub fn set_window(&mut self, segments: u32) {
        self.receiver.set_window(segments);
    }

    fn open(&mut self, now: Time, connection: u32, out: &mut impl FnMut(Segment)) {
        self.receiver.open(connection);
        self.rto = Rto::new(self.config.rto);
        self.state = State::SynSent;
        self.syn_sent = Some(now);
        self.send_timed(now, SegmentKind::Syn, out);
    }

    fn close(&mut self, out: &mut impl FnMut(Segment)) {
        self.state = State::Closed;
        self.expires = None;
        out(self.segment(SegmentKind::Reset));
    }

    fn take(&mut self, now: Time, segment: Segment, out: &mut impl FnMut(Segment)) {
        if segment.connection != self.receiver.connection() {
            return;
        }
        match (self.state, segment.kind) {
            (State::Closed, SegmentKind::Data) => out(self.segment(SegmentKind::Reset)),
            (State::SynSent, SegmentKind::SynAck) => {
                match self.syn_sent {
                    Some(sent) => self.rto.sample(sent, now),
                    // RFC 6298, 5.7: the back-off of a lost SYN does not outlive the set-up.
                    None => self.rto = Rto::new(self.config.rto),
                }
                self.state = State::Requested;
                out(self.receiver.ack());
                self.send_timed(now, SegmentKind::Request, out);
            }
            (State::Requested | State::Receiving, SegmentKind::SynAck) => out(self.receiver.ack()),
            (State::Requested | State::Receiving, SegmentKind::Data) => {
                self.state = State::Receiving;
                self.expires = None;
                self.receiver.handle_input(now, segment, out);
            }
            _ => {}
        }
    }

    fn send_timed(&mut self, now: Time, kind: SegmentKind, out: &mut impl FnMut(Segment)) {
        self.expires = Some(now + self.rto.timeout());
        out(self.segment(kind));
    }

    fn segment(&self, kind: SegmentKind) -> Segment {
        let size = match kind {
            SegmentKind::Request => REQUEST_SIZE,
            _ => self.config.ack,
        };
        Segment {
            window: self.receiver.window(),
            ..Segment::new(kind, self.receiver.connection(), 0, size)
        }
    }
}

impl Machine for Client {
    type Input = ClientInput;
    type Output = Segment;

    fn handle_input(&mut self, now: Time, input: ClientInput, out: &mut impl FnMut(Segment)) {
        match input {
            ClientInput::Open(connection) => self.open(now, connection, out),
            ClientInput::Close => self.close(out),
            ClientInput::Segment(segment) => self.take(now, segment, out),
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Segment)) {
        self.receiver.handle_timeout(now, out);
        if self.expires.is_none_or(|at| now < at) {
            return;
        }
        self.rto.back_off();
        match self.state {
            State::SynSent => {
                self.syn_sent = None;
                self.send_timed(now, SegmentKind::Syn, out);
            }
            State::Requested => self.send_timed(now, SegmentKind::Request, out),
            State::Closed | State::Receiving => self.expires = None,
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let expires = self.expires.map(|at| Deadline {
            at,
            why: "SYN or request is sent again",
        });
        Deadline::earlier(expires, self.receiver.deadline())
    }
}
