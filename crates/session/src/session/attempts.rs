//! The handshakes of a session: when this node initiates one, which initiation is pending, and
//! which of the peer's initiations are answered.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::Deadline;
use polypath_core::time::{Duration, Time};

use crate::address::Source;
use crate::datagram::{Authenticator, CookieReply, Handshake, InitiationMessage};
use crate::entropy::{BoxedEntropy, EntropyError};
use crate::event::Reject;
use crate::handshake::{self, CompletedHandshake, HandshakeInfo, Initiation, ReceivedInitiation};
use crate::mac::MacKey;
use crate::noise::StaticKeys;
use crate::session::SessionConfig;
use crate::session::accepted::AcceptedMessages;
use crate::session::admission::{Admission, Evidence};
use crate::session::cookie::{CookieJar, CookieSecrets};
use crate::session::local_identity::LocalIdentity;
use crate::session::schedule::{Schedule, WallClock};

/// Attempts during which the node with the smaller key ignores the peer's initiations. It accepts
/// them during later attempts; otherwise two nodes would block each other when only one direction
/// works.
const PRECEDENCE_ATTEMPTS: u32 = 2;
/// The time for which that node's completed handshake also takes precedence, unless the peer has
/// used its keys before: an initiation that was in flight at the same time is late.
const PRECEDENCE_TIME: Duration = Duration::from_secs(5);

/// The reason why an initiation was not decrypted.
pub(crate) enum InitiationError {
    Rejected(Reject),
    /// It is rejected, and its sender gets this datagram: a cookie, or the response to a copy.
    Replied(Reject, Bytes),
    NoEntropy,
}

/// The source of a received initiation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) path: PathId,
    pub(crate) source: Source,
    /// Whether it is the current address of the peer.
    pub(crate) is_peer_address: bool,
}

/// A response to the peer's initiation.
pub(super) struct Response {
    /// The index by which this node knows the keys.
    pub(super) index: u32,
    pub(super) datagram: Bytes,
    pub(super) completed: CompletedHandshake,
}

/// The relation of an initiation to the last accepted one, before it is decrypted.
pub(super) enum Known {
    /// It may be new.
    Nothing,
    /// It is a copy of the last accepted one.
    Copy,
    /// It is a copy of one that was answered with this response, whose keys nobody has used yet.
    Answered(Bytes),
}

/// The answer to the last accepted initiation of the peer.
struct Answer {
    /// The index by which this node knows the keys.
    index: u32,
    datagram: Bytes,
}

/// The handshakes of a session.
pub(super) struct Attempts {
    static_keys: StaticKeys,
    macs: MacKeys,
    local: LocalIdentity,
    clock: WallClock,
    pending: Option<Initiation>,
    unproven: Option<Unproven>,
    schedule: Schedule,
    seen: AcceptedMessages,
    admission: Admission,
    secrets: CookieSecrets,
    cookies: CookieJar,
    answer: Option<Answer>,
}

/// The keys of MACs that follow from public keys.
struct MacKeys {
    /// Of handshake messages to this node.
    to_local: MacKey,
    /// Of handshake messages to the peer.
    to_peer: MacKey,
    /// Of cookie replies of this node.
    local_cookies: MacKey,
    /// Of cookie replies of the peer.
    peer_cookies: MacKey,
}

/// A completed handshake of this node whose keys the peer has not used yet.
struct Unproven {
    completed: Time,
    /// The instance of the peer that answered.
    instance: u64,
}

impl Attempts {
    /// The handshakes of a session of `paths` paths.
    pub(super) fn new(config: &SessionConfig, paths: u8, entropy: BoxedEntropy) -> Self {
        let preshared = config.preshared_key.clone();
        let static_keys = StaticKeys::new(config.private_key.clone(), config.peer, preshared);
        Self {
            macs: MacKeys::new(&static_keys),
            static_keys,
            local: LocalIdentity::new(paths, handshake::features(config.receives_ecn), entropy),
            clock: WallClock::new(config.wall_clock),
            pending: None,
            unproven: None,
            schedule: Schedule::default(),
            seen: AcceptedMessages {
                kept: config.peer_timestamp,
                ..AcceptedMessages::default()
            },
            admission: Admission::new(usize::from(paths)),
            secrets: CookieSecrets::default(),
            cookies: CookieJar::new(paths),
            answer: None,
        }
    }

    /// The timestamp of the peer's newest accepted initiation, of earlier runs as well; 0 if there
    /// was none.
    pub(super) fn peer_timestamp(&self) -> u64 {
        self.seen.timestamp.max(self.seen.kept)
    }

    /// The number of remembered initiations.
    pub(super) fn buffered(&self) -> usize {
        self.admission.buffered()
    }

    pub(super) fn deadline(&self) -> Deadline {
        Deadline {
            at: self.schedule.deadline,
            why: "handshake",
        }
    }

    /// Schedules a handshake now, unless one is pending.
    pub(super) fn schedule_now(&mut self, now: Time) {
        if self.pending.is_none() {
            self.schedule.deadline = self.schedule.deadline.min(now);
        }
    }

    /// Schedules a handshake now, unless one is pending or a handshake of the peer was just
    /// answered.
    ///
    /// The current keys stay in use until it completes; a second concurrent handshake would only
    /// bring further keys into use.
    pub(super) fn schedule_rekey(&mut self, now: Time) {
        if !self.schedule.defers_rekey(now) {
            self.schedule_now(now);
        }
    }

    /// Sets what the wall clock would have shown at time zero; earlier values have no effect.
    pub(super) fn set_wall_clock(&mut self, origin: u64) {
        self.clock.set(origin);
    }

    /// Drops the pending initiation and schedules the next attempt at `at`.
    pub(super) fn schedule_at(&mut self, at: Time) {
        self.pending = None;
        self.schedule = Schedule::at(at);
    }

    /// The number of earlier attempts, if another one is due; the deadline is then set for the one
    /// after it.
    pub(super) fn take_due(&mut self, now: Time) -> Option<u32> {
        self.schedule.take_due(now)
    }

    /// Writes an initiation under a new index for which `is_used` is false, and with a session MAC
    /// if its key is known; returns whether there was entropy.
    pub(super) fn initiate(
        &mut self,
        now: Time,
        session_mac: Option<&MacKey>,
        is_used: impl Fn(u32) -> bool,
    ) -> bool {
        self.try_initiate(now, session_mac, is_used).is_some()
    }

    fn try_initiate(
        &mut self,
        now: Time,
        session_mac: Option<&MacKey>,
        is_used: impl Fn(u32) -> bool,
    ) -> Option<()> {
        let ephemeral = self.local.draw_ephemeral().ok()?;
        let own = self.handshake_info(is_used).ok()?;
        let timestamp = self.clock.next_timestamp(now);
        let initiation = Initiation::write(
            &self.static_keys,
            &self.macs.to_peer,
            session_mac,
            ephemeral,
            timestamp,
            own,
        );
        self.pending = Some(initiation.ok()?);
        Some(())
    }

    /// The index of the pending initiation.
    pub(super) fn pending_index(&self) -> Option<u32> {
        self.pending.as_ref().map(|initiation| initiation.index)
    }

    /// The pending initiation as sent on `path`.
    pub(super) fn pending_datagram(&self, now: Time, path: PathId) -> Option<Bytes> {
        let initiation = self.pending.as_ref()?;
        Some(match self.cookies.get(now, path) {
            Some(cookie) => initiation.with_cookie(&cookie),
            None => initiation.datagram.clone(),
        })
    }

    /// Handles a cookie for the pending initiation; returns that with the cookie, unless it was
    /// already sent again on this path with this or enough other ones.
    pub(super) fn on_cookie(
        &mut self,
        now: Time,
        path: PathId,
        reply: &CookieReply<'_>,
    ) -> Result<Option<Bytes>, Reject> {
        let initiation = self.pending.as_ref().ok_or(Reject::UnexpectedCookie)?;
        let (key, local) = (&self.macs.peer_cookies, &mut self.local);
        let draw = || local.draw().map(u32::from_be_bytes);
        let cookie = (self.cookies).receive(now, path, reply, initiation.mac(), key, draw)?;
        Ok(cookie.map(|cookie| initiation.with_cookie(&cookie)))
    }

    /// Decrypts an initiation after the cheap checks; its sender is not yet compared with the peer.
    /// `has_session_mac` returns whether its session MAC is valid.
    pub(super) fn read_initiation(
        &mut self,
        now: Time,
        origin: &Origin,
        message: &InitiationMessage<'_>,
        known: Known,
        has_session_mac: impl FnOnce(&Authenticator<'_>) -> bool,
    ) -> Result<ReceivedInitiation, InitiationError> {
        match self.admit(now, origin, message, &known, has_session_mac) {
            Ok(()) => {}
            Err(Reject::CookieRequired) => return Err(self.cookie_reply(now, origin, message)),
            Err(reason) => return Err(InitiationError::Rejected(reason)),
        }
        if let Known::Answered(response) = known {
            return Err(InitiationError::Replied(Reject::HandshakeCopy, response));
        }
        let ephemeral = self.local.draw_ephemeral();
        let ephemeral = ephemeral.map_err(|_| InitiationError::NoEntropy)?;
        ReceivedInitiation::read(&self.static_keys, ephemeral, &message.handshake)
            .map_err(InitiationError::Rejected)
    }

    fn cookie_reply(
        &mut self,
        now: Time,
        origin: &Origin,
        message: &InitiationMessage<'_>,
    ) -> InitiationError {
        let (key, local) = (&self.macs.local_cookies, &mut self.local);
        let mac = &message.handshake.mac;
        let reply = (self.secrets).reply(now, &origin.source, mac, key, || local.draw());
        reply.map_or(InitiationError::NoEntropy, |cookie| {
            InitiationError::Replied(Reject::CookieRequired, cookie)
        })
    }

    /// Whether an initiation is the peer's and is to be answered.
    pub(super) fn validate(
        &mut self,
        now: Time,
        initiation: &ReceivedInitiation,
    ) -> Result<(), Reject> {
        if !self.is_from_peer(initiation) {
            return Err(Reject::WrongKey);
        }
        if initiation.timestamp <= self.seen.newest(self.clock.read(now)) {
            return Err(Reject::StaleTimestamp);
        }
        self.seen.accept(initiation);
        self.answer = None;
        // It counts as seen all the same: otherwise a replay of it would be answered later.
        if self.has_precedence(now, initiation.remote.instance) {
            return Err(Reject::Simultaneous);
        }
        Ok(())
    }

    /// Whether an initiation is the peer's.
    pub(super) fn is_from_peer(&self, initiation: &ReceivedInitiation) -> bool {
        initiation.is_from(&self.static_keys.peer)
    }

    /// Remembers an authentic initiation if it is rejected as stale, so that copies of it are
    /// rejected before decryption.
    pub(super) fn remember(&mut self, ephemeral: [u8; 32], reason: Reject) {
        if reason == Reject::StaleTimestamp {
            self.admission.remember(ephemeral);
        }
    }

    /// The relation of an initiation to the last accepted one; `awaits_confirmation` returns whether
    /// nobody has used the keys of an index yet.
    pub(super) fn recognise(
        &self,
        message: &InitiationMessage<'_>,
        awaits_confirmation: impl Fn(u32) -> bool,
    ) -> Known {
        let ephemeral = message.handshake.ephemeral();
        if self.seen.initiation != Some(ephemeral) {
            return Known::Nothing;
        }
        match &self.answer {
            Some(answer) if awaits_confirmation(answer.index) => {
                Known::Answered(answer.datagram.clone())
            }
            _ => Known::Copy,
        }
    }

    /// Whether this node's handshake takes precedence over one that `instance` of the peer
    /// initiates.
    fn has_precedence(&self, now: Time, instance: u64) -> bool {
        let is_pending = self.pending.is_some() && self.schedule.attempts <= PRECEDENCE_ATTEMPTS;
        let is_late = self.unproven.as_ref().is_some_and(|unproven| {
            unproven.instance == instance && now < unproven.completed + PRECEDENCE_TIME
        });
        !self.peer_has_precedence() && (is_pending || is_late)
    }

    /// Whether the peer's handshake takes precedence when both nodes initiate one at the same time.
    pub(super) fn peer_has_precedence(&self) -> bool {
        self.static_keys.peer < self.static_keys.public
    }

    /// Records that the peer has used the current keys.
    pub(super) fn on_proven(&mut self) {
        self.unproven = None;
    }

    /// Records that the peer has used the keys of an answered initiation, which was no replay.
    pub(super) fn on_confirmed(&mut self) {
        self.seen.on_confirmed();
    }

    /// The checks before decryption, in the order of their cost.
    fn admit(
        &mut self,
        now: Time,
        origin: &Origin,
        message: &InitiationMessage<'_>,
        known: &Known,
        has_session_mac: impl FnOnce(&Authenticator<'_>) -> bool,
    ) -> Result<(), Reject> {
        self.macs.check(&message.handshake)?;
        if matches!(known, Known::Copy) {
            return Err(Reject::HandshakeCopy);
        }
        let ephemeral = message.handshake.ephemeral();
        self.admission.check_remembered(&ephemeral)?;
        let source = &origin.source;
        let has_cookie = self.secrets.verify(now, source, &message.cookie_mac);
        // Of a copy, anyone may be the sender.
        let is_new = matches!(known, Known::Nothing);
        let evidence = Evidence {
            has_session_mac: is_new && has_session_mac(&message.session_mac),
            cookie_bucket: has_cookie.then(|| self.secrets.bucket(source)),
            is_peer_address: origin.is_peer_address,
        };
        self.admission.admit(now, origin.path, evidence)
    }

    /// Answers an initiation under a new index for which `is_used` is false; `None` without
    /// entropy.
    ///
    /// This node's own initiation stays pending, since the answered one may be a replay.
    pub(super) fn respond(
        &mut self,
        now: Time,
        initiation: ReceivedInitiation,
        is_used: impl Fn(u32) -> bool,
    ) -> Option<Response> {
        let own = self.handshake_info(is_used).ok()?;
        let secret = self.local.draw_secret().ok()?;
        let (datagram, completed) = initiation.respond(&self.macs.to_peer, own, &secret).ok()?;
        let peer_has_precedence = self.peer_has_precedence();
        self.schedule.defer(now, peer_has_precedence);
        let index = own.index;
        self.answer = Some(Answer {
            index,
            datagram: datagram.clone(),
        });
        Some(Response {
            index,
            datagram,
            completed,
        })
    }

    /// Completes the pending handshake with its response, received on `path`; returns this node's
    /// index and the keys.
    pub(super) fn complete(
        &mut self,
        now: Time,
        path: PathId,
        receiver: u32,
        message: &Handshake<'_>,
    ) -> Result<(u32, CompletedHandshake), Reject> {
        self.macs.check(message)?;
        if self.seen.response == Some(message.ephemeral()) {
            return Err(Reject::HandshakeCopy);
        }
        let initiation = self
            .pending
            .as_mut()
            .filter(|initiation| initiation.index == receiver)
            .ok_or(Reject::UnknownIndex)?;
        self.admission.admit_response(now, path)?;
        let response = initiation.read_response(message)?;
        self.seen.response = Some(message.ephemeral());
        let initiation = self.pending.take().ok_or(Reject::UnknownIndex)?;
        let index = initiation.index;
        self.unproven = Some(Unproven {
            completed: now,
            instance: response.remote.instance,
        });
        let completed = initiation.complete(&response);
        Ok((index, completed.map_err(|_| Reject::Undecryptable)?))
    }

    /// Describes this node under a new index: neither used nor that of the pending initiation.
    fn handshake_info(
        &mut self,
        is_used: impl Fn(u32) -> bool,
    ) -> Result<HandshakeInfo, EntropyError> {
        let pending = self.pending_index();
        self.local
            .handshake_info(|index| pending == Some(index) || is_used(index))
    }
}

impl MacKeys {
    fn new(static_keys: &StaticKeys) -> Self {
        let StaticKeys { public, peer, .. } = static_keys;
        Self {
            to_local: MacKey::of_handshakes_to(public),
            to_peer: MacKey::of_handshakes_to(peer),
            local_cookies: MacKey::of_cookies_from(public),
            peer_cookies: MacKey::of_cookies_from(peer),
        }
    }

    /// Rejects a message whose sender does not know this node's public key.
    fn check(&self, message: &Handshake<'_>) -> Result<(), Reject> {
        let Authenticator { covered, mac } = message.mac;
        let is_valid = self.to_local.verify(&[covered], mac);
        if is_valid {
            Ok(())
        } else {
            Err(Reject::BadMac)
        }
    }
}
