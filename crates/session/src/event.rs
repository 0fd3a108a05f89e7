//! Events and counters of a session.

use polypath_core::frame::PathId;

/// An event of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// An initiation was sent on every reachable path.
    Initiated {
        /// The number of unanswered initiations before it.
        attempt: u32,
    },
    /// The peer has restarted: the keys that come into use belong to another instance than the
    /// previous ones.
    PeerRestarted,
    /// New keys are in use.
    Established {
        /// Whether this node initiated the handshake.
        initiator: bool,
    },
    /// The keys expired before new ones were agreed; frames are queued.
    Expired,
    /// The peer answered no frame for [`SILENCE_TIMEOUT`](crate::session::SILENCE_TIMEOUT); a
    /// handshake follows, if this node initiates any.
    Silent,
    /// A frame was dropped: the queue for an unestablished session was full, or it was too long.
    Discarded,
    /// The peer has another number of paths than this node; reported once per change.
    PathsDiffer {
        /// The number of paths of this node.
        own: u8,
        /// The number of paths of the peer.
        peer: u8,
    },
    /// The source of entropy failed, so a handshake could not be initiated or answered.
    NoEntropy,
    /// A datagram was dropped without a reply.
    Rejected {
        /// The path on which it was received.
        path: PathId,
        /// The reason.
        reason: Reject,
    },
}

macro_rules! rejects {
    ($($(#[$doc:meta])* $variant:ident => $name:literal,)+) => {
        /// The reason why a datagram was dropped.
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
    /// Shorter than its type requires.
    Truncated => "truncated",
    /// Longer than its type or the session allows.
    Oversized => "oversized",
    /// The type is none of this protocol.
    UnknownType => "unknown-type",
    /// Received on a path that the session does not have.
    UnknownPath => "unknown-path",
    /// The receiver index identifies no keys.
    UnknownIndex => "unknown-index",
    /// A handshake message whose MAC shows that its sender does not know this node's public key.
    BadMac => "bad-mac",
    /// A handshake message that proves another static key than the configured peer's.
    WrongKey => "wrong-key",
    /// Decryption failed: forged, or corrupted in transit.
    Undecryptable => "undecryptable",
    /// A response to this node's pending initiation did not decrypt: the pre-shared keys differ, or
    /// it is forged.
    WrongResponse => "wrong-response",
    /// An initiation that is not newer than an earlier one: a replay.
    StaleTimestamp => "stale-timestamp",
    /// An initiation beyond the rate limit, with a MAC that proves its sender: a flood.
    Throttled => "throttled",
    /// An initiation beyond the rate limit, without such a MAC: a flood. Its sender got a cookie.
    CookieRequired => "cookie-required",
    /// A response beyond the rate limit of its path: a flood of forged ones.
    TooManyResponses => "too-many-responses",
    /// An initiation in a session that answers none, as a node's with its relay.
    UnexpectedInitiation => "unexpected-initiation",
    /// A cookie reply to no pending initiation.
    UnexpectedCookie => "unexpected-cookie",
    /// A copy of a handshake message, as every path delivers one. One of an initiation gets the
    /// same response again, within the rate limits, until the peer has used its keys.
    HandshakeCopy => "handshake-copy",
    /// An initiation that loses to this node's own pending one.
    Simultaneous => "simultaneous",
    /// A datagram that was already opened: a replay.
    Replayed => "replayed",
    /// A datagram older than the replay window of its path.
    BehindWindow => "behind-window",
    /// Sealed for another path than the one on which it was received.
    WrongPath => "wrong-path",
    /// Opened, but the plaintext is not a frame.
    Malformed => "malformed",
    /// Marked by a congested link, although the packet in it is not ECN-capable: a device on the
    /// way set the mark without regard to that (RFC 6040, section 4.2).
    WrongMark => "wrong-mark",
}

/// Counters of a session since its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Frames sealed.
    pub sealed: u64,
    /// Frames opened.
    pub opened: u64,
    /// Initiations, each sent on every reachable path.
    pub initiated: u64,
    /// Handshakes whose keys came into use.
    pub established: u64,
    /// Hellos and answers to hellos sent.
    pub hellos: u64,
    /// Frames dropped because the queue for an unestablished session was full, or they were too
    /// long.
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
    /// The number of datagrams dropped for `reason`.
    #[must_use]
    pub fn rejected(&self, reason: Reject) -> u64 {
        self.rejected[reason as usize]
    }

    /// The number of datagrams dropped for any reason but [`Reject::HandshakeCopy`].
    #[must_use]
    pub fn rejected_total(&self) -> u64 {
        self.rejected.iter().sum::<u64>() - self.rejected(Reject::HandshakeCopy)
    }

    pub(crate) fn count_rejected(&mut self, reason: Reject) {
        self.rejected[reason as usize] += 1;
    }
}
