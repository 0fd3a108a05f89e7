//! What sender and receiver say to each other.

use crate::time::{Duration, Time};

/// The header of a spaced packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpacedHeader {
    /// Counts the packets, from 0.
    pub sequence: u64,
    /// When it was sent, by the sender's clock.
    pub sent: Time,
    /// The round-trip time: how often the receiver is to send feedback (paper, 2.1); 0 for none.
    pub rtt: Duration,
}

/// What the receiver says once a round-trip time. Counts run from the start of the flow, as those of RTCP's
/// receiver reports do (RFC 3550, 6.4.1), so that the next feedback stands in for a lost one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// Counts the feedback, from 1.
    pub number: u64,
    /// One past the highest sequence number that it is about.
    pub end: u64,
    /// Distinct packets below `end` that came before their range was reported.
    pub received: u64,
    /// One past the highest sequence number that was reported lost; 0 if none was.
    pub lost_end: u64,
    /// Other counts, of what came until the feedback was sent.
    pub arrivals: Arrivals,
    /// The send time in the newest packet.
    pub echo: Time,
    /// How long ago the newest packet came.
    pub hold: Duration,
}

/// What came, whatever was said of it before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Distinct packets.
    pub distinct: u64,
    /// Packets that came after their range was reported.
    pub late: u64,
    /// Copies of packets that came before.
    pub duplicates: u64,
}

/// A message of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A spaced packet; its payload follows.
    Packet(SpacedHeader),
    /// The receiver's feedback.
    Feedback(Feedback),
    /// Asks for a pong at once; carries the sender's time.
    Ping(Time),
    /// Answers a ping with its time.
    Pong(Time),
}
