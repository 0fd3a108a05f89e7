//! The messages between sender and receiver.

use super::wire::{FEEDBACK_LEN, HEADER_LEN, TIME_LEN};
use crate::time::{Duration, Time};

/// The header of a spaced packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SpacedHeader {
    /// The sequence number, from 0.
    pub sequence: u64,
    /// The send time by the sender's clock.
    pub sent: Time,
    /// The round-trip time, which is the receiver's feedback interval (paper, 2.1); 0 requests no
    /// feedback.
    pub rtt: Duration,
}

/// The receiver's report, sent once per round-trip time. Its counts are cumulative, as in RTCP
/// receiver reports (RFC 3550, section 6.4.1), so that the next feedback replaces a lost one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Feedback {
    /// The number of the feedback, from 1.
    pub number: u64,
    /// One past the highest sequence number that it covers.
    pub end: u64,
    /// Distinct packets below `end` that arrived before their range was reported.
    pub received: u64,
    /// One past the highest sequence number that was reported lost; 0 if none was.
    pub lost_end: u64,
    /// The arrivals until the feedback was sent.
    pub arrivals: Arrivals,
    /// The send time carried by the newest packet.
    pub echo: Time,
    /// The time since the arrival of the newest packet.
    pub hold: Duration,
}

/// Counts of all packets that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Arrivals {
    /// Distinct packets.
    pub distinct: u64,
    /// Packets that arrived after their range was reported.
    pub late: u64,
    /// Copies of packets that had arrived.
    pub duplicates: u64,
}

/// A message of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Message {
    /// A spaced packet; its payload follows.
    Packet(SpacedHeader),
    /// The receiver's feedback.
    Feedback(Feedback),
    /// Requests an immediate pong; carries the sender's time.
    Ping(Time),
    /// The answer to a ping, with the time of the ping.
    Pong(Time),
    /// The round-trip time for packets without a [`SpacedHeader`], as those of an endpoint; 0
    /// requests no feedback.
    RoundTrip(Duration),
}

impl Message {
    /// The length of the message in bytes, without the payload of a packet.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no message is empty")]
    pub const fn len(&self) -> usize {
        match self {
            Self::Packet(_) => HEADER_LEN,
            Self::Feedback(_) => FEEDBACK_LEN,
            Self::Ping(_) | Self::Pong(_) | Self::RoundTrip(_) => TIME_LEN,
        }
    }
}
