//! Handshakes: when one begins, which initiation is under way, which of the peer's are answered.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::Deadline;
use polypath_core::time::Time;

use crate::datagram::Handshake;
use crate::entropy::{BoxedEntropy, EntropyError};
use crate::event::Reject;
use crate::handshake::{Agreed, Initiation, Introduction, Opened};
use crate::hello::backoff;
use crate::key::{PrivateKey, PublicKey};
use crate::noise::{Identity, Mac};
use crate::session::guard::Guard;
use crate::session::local_identity::LocalIdentity;
use crate::session::reply_path::ReplyPath;

/// Own tries during which the end with the smaller key ignores the peer's initiations. Later ones are
/// taken, or two ends would wait for each other where only one of them is heard.
const STUBBORN_TRIES: u32 = 2;

/// Why an initiation is not read.
pub(crate) enum Refusal {
    Rejected(Reject),
    NoEntropy,
}

/// The handshakes of a session.
pub(super) struct Attempts {
    identity: Identity,
    mine: Mac,
    theirs: Mac,
    local: LocalIdentity,
    clock: WallClock,
    under_way: Option<Initiation>,
    schedule: Schedule,
    seen: Seen,
    guard: Guard,
    reply_path: ReplyPath,
}

/// When the next handshake begins, and how many tries went before it.
#[derive(Default)]
struct Schedule {
    due: Time,
    tries: u32,
    /// Until when renewal is left to a handshake of the peer that was answered.
    answered_until: Time,
}

/// The wall clock, which this end never shows twice.
struct WallClock {
    /// What it showed at time zero.
    origin: u64,
    shown: u64,
}

/// What was taken of the peer: it is not taken again.
#[derive(Default)]
struct Seen {
    timestamp: u64,
    initiation: Option<[u8; 32]>,
    response: Option<[u8; 32]>,
}

impl Attempts {
    pub(super) fn new(
        private: PrivateKey,
        peer: PublicKey,
        wall_clock: u64,
        paths: u8,
        entropy: BoxedEntropy,
    ) -> Self {
        let identity = Identity::new(private, peer);
        Self {
            mine: Mac::new(&identity.public),
            theirs: Mac::new(&identity.peer),
            identity,
            local: LocalIdentity::new(paths, entropy),
            clock: WallClock {
                origin: wall_clock,
                shown: 0,
            },
            under_way: None,
            schedule: Schedule::default(),
            seen: Seen::default(),
            guard: Guard::new(usize::from(paths)),
            reply_path: ReplyPath::new(paths),
        }
    }

    /// How many of the peer's initiations are known again.
    pub(super) fn buffered(&self) -> usize {
        self.guard.buffered()
    }

    pub(super) fn deadline(&self) -> Deadline {
        Deadline {
            at: self.schedule.due,
            why: "handshake",
        }
    }

    /// A handshake is wanted now, unless one is under way.
    pub(super) fn hasten(&mut self, now: Time) {
        if self.under_way.is_none() {
            self.schedule.due = self.schedule.due.min(now);
        }
    }

    /// Keys are spent: a handshake is wanted now, unless one is under way, of this end's own or of the peer's. Spent keys
    /// serve on meanwhile; a second handshake would only bring further keys into use while the first ends.
    pub(super) fn renew(&mut self, now: Time) {
        if now >= self.schedule.answered_until {
            self.hasten(now);
        }
    }

    /// Goes by a wall clock that was set ahead: at time zero it would have shown `origin`.
    pub(super) fn set_wall_clock(&mut self, origin: u64) {
        self.clock.set(origin);
    }

    /// No handshake is wanted before `at`.
    pub(super) fn rest_until(&mut self, at: Time) {
        self.under_way = None;
        self.schedule = Schedule {
            due: at,
            ..Schedule::default()
        };
        self.reply_path.forget();
    }

    /// The number of tries so far, if one more is due; the clock is then set for the one after.
    pub(super) fn take_due(&mut self, now: Time) -> Option<u32> {
        self.schedule.take_due(now)
    }

    /// Begins a handshake under an index that is not `taken`; nothing without entropy.
    pub(super) fn begin(&mut self, now: Time, taken: impl Fn(u32) -> bool) -> Option<Bytes> {
        let ephemeral = self.local.draw().ok()?;
        let own = self.introduce(taken).ok()?;
        let timestamp = self.clock.show(now);
        let initiation =
            Initiation::begin(&self.identity, &mut self.theirs, ephemeral, timestamp, own);
        let initiation = self.under_way.insert(initiation.ok()?);
        Some(initiation.datagram.clone())
    }

    /// Reads an initiation, from the cheapest check to the dearest; of whom it is remains to be seen.
    pub(super) fn read(
        &mut self,
        now: Time,
        path: PathId,
        message: &Handshake<'_>,
    ) -> Result<Opened, Refusal> {
        self.admit(now, path, message).map_err(Refusal::Rejected)?;
        let ephemeral = self.local.draw().map_err(|_| Refusal::NoEntropy)?;
        Opened::read(&self.identity, ephemeral, message).map_err(Refusal::Rejected)
    }

    /// Whether an initiation that came on `path` is the peer's and to be answered.
    pub(super) fn judge(&mut self, path: PathId, opened: &Opened) -> Result<(), Reject> {
        if !self.is_with(opened) {
            return Err(Reject::WrongKey);
        }
        if opened.timestamp <= self.seen.timestamp {
            return Err(Reject::StaleTimestamp);
        }
        let insists = self.insists();
        if !insists && self.reply_path.passes_over(path, opened.timestamp) {
            return Err(Reject::PassedOver);
        }
        self.seen.timestamp = opened.timestamp;
        self.seen.initiation = Some(opened.ephemeral);
        // It counts as seen, or a replay of it would be answered later.
        if insists {
            return Err(Reject::Simultaneous);
        }
        Ok(())
    }

    /// Whether an initiation is the peer's.
    pub(super) fn is_with(&self, opened: &Opened) -> bool {
        opened.is_of(&self.identity.peer)
    }

    /// Knows an old initiation again from now on.
    pub(super) fn remember_stale(&mut self, ephemeral: [u8; 32]) {
        self.guard.remember_stale(ephemeral);
    }

    /// Whether this is the initiation that was taken last.
    pub(super) fn is_copy(&self, message: &Handshake<'_>) -> bool {
        self.seen.initiation == Some(message.ephemeral())
    }

    /// Whether this end's own initiation takes precedence over the peer's.
    fn insists(&self) -> bool {
        self.is_first() && self.under_way.is_some() && self.schedule.tries <= STUBBORN_TRIES
    }

    fn is_first(&self) -> bool {
        self.identity.public < self.identity.peer
    }

    fn admit(&mut self, now: Time, path: PathId, message: &Handshake<'_>) -> Result<(), Reject> {
        if !self.mine.fits(message.covered, message.mac) {
            return Err(Reject::BadMac);
        }
        if self.is_copy(message) {
            return Err(Reject::HandshakeCopy);
        }
        self.guard.admit(now, path, &message.ephemeral())
    }

    /// Answers an initiation under an index that is not `taken`; nothing without entropy. The end with the
    /// larger key gives up its own one in favour of the peer's. Were both to do so, neither handshake would
    /// end.
    pub(super) fn answer(
        &mut self,
        now: Time,
        opened: Opened,
        taken: impl Fn(u32) -> bool,
    ) -> Option<(u32, Bytes, Agreed)> {
        let own = self.introduce(taken).ok()?;
        let (response, agreed) = opened.answer(&mut self.theirs, own).ok()?;
        let later = now + backoff(u32::MAX);
        // Were each answer to count, a peer that hears none of them would keep this end from its own handshake.
        if now >= self.schedule.answered_until {
            self.schedule.answered_until = later;
        }
        if !self.is_first() {
            self.under_way = None;
            self.schedule.due = self.schedule.due.max(later);
        }
        Some((own.index, response, agreed))
    }

    /// Reads the response to the initiation under way.
    pub(super) fn complete(
        &mut self,
        receiver: u32,
        message: &Handshake<'_>,
    ) -> Result<(u32, Agreed), Reject> {
        if !self.mine.fits(message.covered, message.mac) {
            return Err(Reject::BadMac);
        }
        if self.seen.response == Some(message.ephemeral()) {
            return Err(Reject::HandshakeCopy);
        }
        let initiation = self
            .under_way
            .as_mut()
            .filter(|initiation| initiation.index == receiver)
            .ok_or(Reject::UnknownIndex)?;
        let remote = initiation.read(message)?;
        self.seen.response = Some(message.ephemeral());
        let initiation = self.under_way.take().ok_or(Reject::UnknownIndex)?;
        let index = initiation.index;
        let agreed = initiation.into_agreed(remote);
        Ok((index, agreed.map_err(|_| Reject::Undecryptable)?))
    }

    /// This end under a new index: neither `taken` nor that of the initiation under way.
    fn introduce(&mut self, taken: impl Fn(u32) -> bool) -> Result<Introduction, EntropyError> {
        let under_way = self.under_way.as_ref().map(|initiation| initiation.index);
        self.local
            .introduce(|index| under_way == Some(index) || taken(index))
    }
}

impl Schedule {
    fn take_due(&mut self, now: Time) -> Option<u32> {
        if now < self.due {
            return None;
        }
        let tries = self.tries;
        self.due = now + backoff(tries);
        self.tries = tries.saturating_add(1);
        Some(tries)
    }
}

impl WallClock {
    /// A clock that was set back is not followed: the peer would take what it shows for a replay.
    fn set(&mut self, origin: u64) {
        self.origin = self.origin.max(origin);
    }

    fn show(&mut self, now: Time) -> u64 {
        self.shown = self.origin.saturating_add(now.0).max(self.shown + 1);
        self.shown
    }
}
