//! The events of an endpoint, for reports, logs and recordings.
//!
//! The simulator's observer and the event stream of a node carry the same type, so that one report
//! reads both. The stream's form is versioned: [`VERSION`].

use crate::frame::{Epoch, FrameKind, PathId};
use crate::packet::Kind;
use crate::pmtu::state::MtuState;
use crate::time::{Duration, Time};

/// The version of the event stream. It changes when the meaning of a field changes, not when an
/// event or a kind of frame is added.
pub const VERSION: u32 = 1;

/// The reason why a received frame or a packet of an application was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum DropReason {
    /// A copy of it was delivered before.
    Duplicate,
    /// So old that it is unknown whether it was delivered.
    BehindWindow,
    /// It names a path that this endpoint does not have.
    UnknownPath,
    /// The application's packet is not IP.
    NotIp,
    /// The policy selected no path.
    NoPath,
    /// Longer than the path MTU ([`crate::pmtu`]).
    TooLong,
    /// It is missing at the receiver, and no repair would arrive before its deadline
    /// ([`crate::repair`]).
    PastDeadline,
    /// The queues of all paths are full; what is ECN-capable is marked instead.
    QueueFull,
    /// It waited for longer than a spaced packet may, or too many did ([`crate::spacing`]).
    WaitedTooLong,
    /// The losses of copies are those of congestion, and its flow does not understand marks
    /// ([`crate::combine`]).
    Congestion,
    /// A fragment of it is marked as having met congestion, and it is not ECN-capable
    /// ([`crate::fragment`]).
    WrongMark,
    /// A fragment that does not belong to those of its packet that arrived before
    /// ([`crate::fragment`]).
    InconsistentFragment,
}

/// An event of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "event", rename_all = "kebab-case"))]
pub enum Event {
    /// The sender received a packet of an application.
    PacketIn {
        /// The kind of the packet.
        kind: Kind,
        /// Its length in bytes.
        len: u32,
    },
    /// A frame was sent on a path.
    FrameOut {
        /// The path.
        path: PathId,
        /// The frame's kind.
        kind: FrameKind,
        /// Bytes on the wire, with all headers.
        len: u32,
    },
    /// A frame was received on a path.
    FrameIn {
        /// The path.
        path: PathId,
        /// The frame's kind.
        kind: FrameKind,
        /// Bytes on the wire, with all headers.
        len: u32,
        /// The one-way delay in nanoseconds; its error is the difference of the two clocks.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        delay: Duration,
    },
    /// The first copy of a packet was delivered to the application.
    Delivered {
        /// The path that it arrived on.
        path: PathId,
        /// Its length in bytes.
        len: u32,
    },
    /// The packet that was just delivered has a CE mark (RFC 3168), since the losses of copies are
    /// those of congestion ([`crate::combine`]).
    CongestionMarked {
        /// Its length in bytes.
        len: u32,
    },
    /// A frame or packet was dropped.
    Dropped {
        /// The reason.
        reason: DropReason,
        /// Its length in bytes: the packet's, without frame and outer headers.
        len: u32,
    },
    /// The receiver measured delta T with a packet pair (PPD paper, 3.3).
    DeltaT {
        /// The path.
        path: PathId,
        /// Difference of the arrival times of the pair; nanoseconds.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        span: Duration,
        /// Difference of their sizes, in bytes.
        bytes: u32,
    },
    /// The receiver requests that the peer switches its active path.
    SwitchWanted {
        /// The path to become active.
        to: PathId,
        /// The epoch that the switch opens.
        epoch: Epoch,
    },
    /// Heartbeats on a path are no longer answered.
    PathSilent {
        /// The path.
        path: PathId,
        /// The time since the last answer, in nanoseconds.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        silence: Duration,
        /// The smoothed round-trip time before, in nanoseconds.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        rtt: Duration,
    },
    /// A silent path answered again, and stopped before it was used.
    PathSilentAgain {
        /// The path.
        path: PathId,
        /// The time since the last answer, in nanoseconds.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        silence: Duration,
        /// The smoothed round-trip time before, in nanoseconds.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        rtt: Duration,
    },
    /// A silent path has answered for long enough to be used again.
    PathBack {
        /// The path.
        path: PathId,
        /// The time since the last answer before the silence, in nanoseconds.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        outage: Duration,
        /// The smoothed round-trip time; nanoseconds.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        rtt: Duration,
    },
    /// The path MTU or the state of its discovery has changed ([`crate::pmtu`]).
    PathMtu {
        /// The path.
        path: PathId,
        /// The state of the discovery; `base` is reported as `search`.
        state: MtuState,
        /// The path MTU in bytes once the discovery is complete, also while larger sizes are tried
        /// later.
        packet: Option<u16>,
        /// The longest packet in bytes that is sent for now; `None` if only the interface limits
        /// it, because no size has failed or discovery is impossible.
        #[cfg_attr(feature = "serde", serde(default))]
        limit: Option<u16>,
    },
    /// A path carries nothing until its quota is renewed ([`crate::metering`]).
    PathClosed {
        /// The path.
        path: PathId,
        /// Whether the quota is the peer's.
        by_peer: bool,
    },
    /// A path that was closed carries packets again.
    PathOpened {
        /// The path.
        path: PathId,
    },
    /// A path has a quota, but the peer does not know closed paths: what it sends on them counts
    /// beyond the quota.
    QuotaUnenforceable,
    /// The policy repairs losses, but the peer does not report what arrives: nothing is repaired.
    RepairUnavailable,
    /// A feedback of the peer was applied to the spacing of packets ([`crate::spacing`]).
    SpacingFeedback {
        /// The spacing from now on, in nanoseconds.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        spacing: Duration,
        /// Packets that it covers and the feedback before did not.
        sent: u64,
        /// Those of them that arrived, without repairs.
        received: u64,
    },
    /// The peer gives no feedback on the spacing of packets: it stays as it is.
    SpacingUnavailable,
    /// The sender switched its active path.
    Switched {
        /// The path that was active.
        from: PathId,
        /// The path that is active now.
        to: PathId,
        /// The epoch that the switch opened.
        epoch: Epoch,
    },
}

/// An event with its time: a line of the event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stamped {
    /// The time of the event, in nanoseconds since the start of the run.
    pub at: Time,
    /// The event.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub event: Event,
}

#[cfg(feature = "serde")]
mod nanoseconds {
    use crate::time::Duration;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde prescribes the signature"
    )]
    pub(super) fn serialize<S: Serializer>(span: &Duration, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u64(span.as_nanos())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        u64::deserialize(d).map(Duration::from_nanos)
    }
}
