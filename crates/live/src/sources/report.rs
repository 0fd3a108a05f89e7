//! The results of sources and of a responder.

use polypath_core::frame::PathId;
use polypath_core::time::Time;
use serde::Serialize;

use crate::durations::DurationHistogram;

/// A source begins on a path, or moves to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceChange {
    /// The time.
    pub at: Time,
    /// The number of the source.
    pub source: u32,
    /// The previous path; `None` at the start.
    pub from: Option<PathId>,
    /// The new path.
    pub to: PathId,
}

/// The results of sources, in the measured time.
#[derive(Clone, Debug, Default)]
pub struct SourcesReport {
    /// The number of datagrams sent.
    pub sent: u64,
    /// The number of these on each path.
    pub sent_on: Vec<u64>,
    /// The number of heartbeats sent.
    pub heartbeats: u64,
    /// The number of path switches.
    pub switches: u64,
    /// The number of datagrams of the measured time that were acknowledged, on each path.
    pub acknowledged_on: Vec<u64>,
    /// The number of datagrams sent early enough to be acknowledged before the end
    /// ([`SourcesConfig::due_until`](super::SourcesConfig::due_until)).
    pub due: u64,
    /// The number of those that were acknowledged.
    pub due_acknowledged: u64,
    /// The number of datagrams and heartbeats, counted as sent, that the kernel refused: a full
    /// queue, or no route.
    pub refused: u64,
    /// The number of datagrams received that are no answers to these sources.
    pub rejected: u64,
    /// The number of ACKs of datagrams that were acknowledged before: the network duplicated them.
    pub duplicates: u64,
    /// The time from sending each acknowledged datagram to the arrival of its ACK.
    pub round_trips: DurationHistogram,
    /// The one-way delays of the acknowledged datagrams: above the lowest of their path so far,
    /// unless both ends have one clock.
    pub delays: DurationHistogram,
    /// The lateness of the program itself, in the whole run.
    pub lateness: DurationHistogram,
    /// The time at which the sending ended.
    pub ended: Time,
}

/// The counters of a responder.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ResponderReport {
    /// The number of datagrams answered.
    pub datagrams: u64,
    /// Their bytes, with the headers of IP and UDP.
    pub bytes: u64,
    /// The number of heartbeats answered.
    pub heartbeats: u64,
    /// The number of datagrams that are no frames of sources.
    pub rejected: u64,
    /// The number of answers that the kernel refused.
    pub refused: u64,
    /// The time from the arrival of a datagram to its answer.
    #[serde(skip)]
    pub lateness: DurationHistogram,
}
