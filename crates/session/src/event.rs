//! What happens in a session, for logs and counters.

use polypath_core::frame::PathId;

/// What happened in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// A handshake was begun: an initiation left on every path that can be reached.
    Initiated {
        /// How many went before it without an answer.
        attempt: u32,
    },
    /// The peer has started anew: the keys that come into use now are those of another instance than those before.
    PeerRestarted,
    /// New keys are in use.
    Established {
        /// Whether this end began the handshake.
        initiator: bool,
    },
    /// Keys ran out before new ones were agreed on; frames wait.
    Expired,
    /// Nothing authentic came back for a while after frames had been sent; a handshake follows, where this end begins any.
    Silent,
    /// A frame was dropped: it waited for a session and gave way to a newer one, or was too long.
    Discarded,
    /// The peer said that it has another number of paths than this end; told when it says so first.
    PathsDiffer {
        /// How many this end has.
        own: u8,
        /// How many the peer has.
        peer: u8,
    },
    /// The random source failed, so that no handshake could be begun or answered.
    NoEntropy,
    /// A datagram was dropped, without a reply.
    Rejected {
        /// The path on which it came.
        path: PathId,
        /// Why.
        reason: Reject,
    },
}

macro_rules! rejects {
    ($($(#[$doc:meta])* $variant:ident => $name:literal,)+) => {
        /// Why a datagram was dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Reject {
            $($(#[$doc])* $variant,)+
        }

        impl Reject {
            /// All reasons, in the order of their counters.
            pub const ALL: &[Reject] = &[$(Reject::$variant),+];

            /// The reason's name in statistics and logs.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Reject::$variant => $name,)+
                }
            }
        }
    };
}

rejects! {
    /// Shorter than its type prescribes.
    Truncated => "truncated",
    /// Longer than its type prescribes, or than the session takes.
    Oversized => "oversized",
    /// No type of datagram of this protocol.
    UnknownType => "unknown-type",
    /// It came on a path that the session does not have.
    UnknownPath => "unknown-path",
    /// Its receiver's index names no keys that are in use.
    UnknownIndex => "unknown-index",
    /// A handshake message whose writer does not know this end's public key.
    BadMac => "bad-mac",
    /// A handshake message that proves another static key than the configured peer's.
    WrongKey => "wrong-key",
    /// It does not open: forged, or changed on its way.
    Undecryptable => "undecryptable",
    /// An initiation no newer than one before it: a replay.
    StaleTimestamp => "stale-timestamp",
    /// An initiation beyond what may be read in a time: somebody floods this end with them.
    Throttled => "throttled",
    /// The same handshake message once more, as it comes over each path.
    HandshakeCopy => "handshake-copy",
    /// An initiation on a path where the answer to an earlier one was of no use; a copy on another path is answered.
    PassedOver => "passed-over",
    /// An initiation that gives way to one's own, which is under way.
    Simultaneous => "simultaneous",
    /// A datagram that was opened before: a replay.
    Replayed => "replayed",
    /// So far behind the newest of its path that whether it was opened before is no longer known.
    BehindWindow => "behind-window",
    /// Sealed for another path than the one on which it came.
    WrongPath => "wrong-path",
    /// Opened, but what lies in the seal is no frame.
    Malformed => "malformed",
}

/// How often what happened, since the start of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Frames that were sealed.
    pub sealed: u64,
    /// Frames that were opened.
    pub opened: u64,
    /// Initiations begun, each sent on every path that can be reached.
    pub initiated: u64,
    /// Handshakes that ended in keys in use.
    pub established: u64,
    /// Path checks and their answers sent.
    pub hellos: u64,
    /// Frames that gave way to newer ones while no session stood, or were too long.
    pub discarded: u64,
    rejected: Vec<u64>,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            sealed: 0,
            opened: 0,
            initiated: 0,
            established: 0,
            hellos: 0,
            discarded: 0,
            rejected: vec![0; Reject::ALL.len()],
        }
    }
}

impl Counters {
    /// How many datagrams were dropped for `reason`.
    #[must_use]
    pub fn rejected(&self, reason: Reject) -> u64 {
        self.rejected[reason as usize]
    }

    /// How many datagrams were dropped, copies of handshake messages aside.
    #[must_use]
    pub fn rejected_total(&self) -> u64 {
        self.rejected.iter().sum::<u64>() - self.rejected(Reject::HandshakeCopy)
    }

    pub(crate) fn count_rejected(&mut self, reason: Reject) {
        self.rejected[reason as usize] += 1;
    }
}
