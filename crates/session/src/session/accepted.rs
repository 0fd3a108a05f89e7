//! The last accepted handshake messages of the peer, in this run and before.

use crate::handshake::ReceivedInitiation;
use crate::session::io::usable_timestamp;

/// The last accepted handshake messages of the peer, which are not accepted again.
#[derive(Default)]
pub(super) struct AcceptedMessages {
    /// The timestamp of the newest initiation of this run, in nanoseconds since 1970; 0 if there is
    /// none.
    pub(super) timestamp: u64,
    /// That of earlier runs, which counts while it is usable.
    pub(super) kept: u64,
    /// The ephemeral key of the last initiation.
    pub(super) initiation: Option<[u8; 32]>,
    /// The ephemeral key of the last response.
    pub(super) response: Option<[u8; 32]>,
}

impl AcceptedMessages {
    /// The timestamp that newer initiations exceed, where the wall clock shows `wall_clock`.
    pub(super) fn newest(&self, wall_clock: u64) -> u64 {
        let kept = usable_timestamp(self.kept, wall_clock);
        self.timestamp.max(kept.unwrap_or(0))
    }

    /// Records an initiation that is newer.
    pub(super) fn accept(&mut self, initiation: &ReceivedInitiation) {
        self.timestamp = initiation.timestamp;
        self.initiation = Some(initiation.ephemeral);
    }

    /// Records that the peer has used the keys of the last initiation.
    ///
    /// Until then a kept timestamp stays, usable or not: the clock that is wrong may be this node's,
    /// as after a start without a battery-backed one, and what it accepts may be a recording.
    pub(super) fn on_confirmed(&mut self) {
        self.kept = 0;
    }
}
