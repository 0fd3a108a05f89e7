//! What happens in an endpoint, as data, for reports, logs and recordings.
//!
//! The simulator's observer and the event stream of a node carry the same type, so that one report reads
//! both. The stream's form is versioned: [`VERSION`].

use crate::frame::{Epoch, FrameKind, PathId};
use crate::packet::Kind;
use crate::pmtu::state::MtuState;
use crate::time::{Duration, Time};

/// Version of the event stream; it changes when a field changes its meaning, not when an event or a kind of
/// frame is added.
pub const VERSION: u32 = 1;

/// Why an arriving frame, or a packet of an application, goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum DropReason {
    /// A copy of it was delivered before.
    Duplicate,
    /// So old that whether it was delivered is no longer known.
    BehindWindow,
    /// It names a path that this endpoint does not have.
    UnknownPath,
    /// The application's packet is not IP.
    NotIp,
    /// The policy found no path for it.
    NoPath,
    /// Longer than what a path carries whole ([`crate::pmtu`]).
    TooLong,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "event", rename_all = "kebab-case"))]
pub enum Event {
    /// An application's packet came to the sender.
    PacketIn {
        /// What it is.
        kind: Kind,
        /// Its length in bytes.
        len: u32,
    },
    /// A frame left on a path.
    FrameOut {
        /// The path.
        path: PathId,
        /// The frame's kind.
        kind: FrameKind,
        /// Bytes on the wire, with all headers.
        len: u32,
    },
    /// A frame arrived on a path.
    FrameIn {
        /// The path.
        path: PathId,
        /// The frame's kind.
        kind: FrameKind,
        /// Bytes on the wire, with all headers.
        len: u32,
        /// One-way delay; in nanoseconds, and only as good as the clocks of both ends agree.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        delay: Duration,
    },
    /// The first copy of a packet was handed to the application.
    Delivered {
        /// The path that brought it.
        path: PathId,
        /// Its length in bytes.
        len: u32,
    },
    /// Something went no further.
    Dropped {
        /// Why.
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
    /// The receiver asks the other end to switch its active path.
    SwitchWanted {
        /// The path to become active.
        to: PathId,
        /// The epoch that the switch opens.
        epoch: Epoch,
    },
    /// Heartbeats of this end are not answered on a path any more.
    PathSilent {
        /// The path.
        path: PathId,
        /// How long ago the last answer came; nanoseconds.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        silence: Duration,
        /// The smoothed round-trip time until then; nanoseconds.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        rtt: Duration,
    },
    /// A path that was silent has answered for long enough to be used again.
    PathBack {
        /// The path.
        path: PathId,
        /// From the last answer before the silence until now; nanoseconds.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        outage: Duration,
        /// The smoothed round-trip time; nanoseconds.
        #[cfg_attr(feature = "serde", serde(with = "nanoseconds"))]
        rtt: Duration,
    },
    /// What is known of how long a packet a path carries whole has changed ([`crate::pmtu`]).
    PathMtu {
        /// The path.
        path: PathId,
        /// How far the discovery is; a search that begins with a small size is one, too.
        state: MtuState,
        /// The longest packet in bytes, as soon as the discovery is complete, and while more is tried later on.
        packet: Option<u16>,
        /// The longest packet in bytes that is relied on to cross whole for now; none where no size has failed, and all may
        /// that the interface lets through, or where nothing can be found out.
        #[cfg_attr(feature = "serde", serde(default))]
        limit: Option<u16>,
    },
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

/// An event with its time, as a line of the event stream has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stamped {
    /// When it happened, in nanoseconds since the start of the run.
    pub at: Time,
    /// What happened.
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
