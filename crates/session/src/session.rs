//! A session between two nodes over several paths, as a machine.
//!
//! **Handshake.** An initiation is sent on every path on which the peer's address is known, the
//! first response completes the handshake, and without a response a new initiation follows with
//! exponential backoff. Either node may initiate. When both do, the node with the smaller public
//! key ignores the peer's initiations during its own first attempts. An initiation is answered only
//! if it proves the peer's static key and its timestamp is newer than all earlier ones. It may be a
//! replay all the same if this node has restarted, so a node that answers keeps its own initiation
//! pending.
//!
//! **Rate limits.** A MAC that costs one hash rejects senders that do not know this node's public
//! key ([`Reject::BadMac`]). Initiations that were found stale are rejected before any
//! Diffie-Hellman operation ([`Reject::StaleTimestamp`]), and the number of others is limited. An
//! attacker who knows the key cannot use up the budget of the peer: the peer's initiations carry a
//! secret of an earlier handshake, come from its known address, or carry a cookie
//! ([`Reject::CookieRequired`]), and responses to this node's own initiations have another one.
//!
//! **Keys.** The initiator renews the keys after [`Limits::rekey_after`], the responder
//! [`Limits::responder_grace`] later if the initiator has not, and either after
//! [`Limits::rekey_after_count`] datagrams unless it has just answered a handshake of the peer.
//! Retired keys open datagrams that are still in flight for [`Limits::retire_after`], so a rekey
//! loses nothing. The newest timestamp of the peer is kept for the lifetime of the session, and the
//! driver may keep it for the next run ([`SessionConfig::peer_timestamp`]).
//!
//! **Instances.** A node draws a random instance number at its start and sends it in each
//! handshake, so a restart of the peer is recognised regardless of its clock and of the
//! initiator. As soon as keys of a new instance are in use, those of the previous one open nothing,
//! and [`SessionEvent::PeerRestarted`] precedes every frame that the new keys open. Keys are in use
//! once a response has brought them or a datagram has confirmed them. A replayed initiation
//! therefore gets a response at most.
//!
//! **Addresses.** An initiation is answered to the configured address of the peer or, without one,
//! to its source, and to the known addresses of the peer on other paths. A copy of it from another
//! path or source gets the same response: the copy that arrived first may be an observer's. Only a
//! datagram that opens under agreed keys, or a response that completes a handshake, reveals the
//! peer's address ([`Output::Authenticated`]): after a restart a node cannot distinguish a replayed
//! initiation from a new one. The initiator's hellos reveal its address on every path.
//!
//! **Paths.** A frame is sealed for one path, with the counter of that path, and opens on no other
//! path. Frames that arrive before the session is established wait in a short queue.
//!
//! The intervals are those of `WireGuard` (Donenfeld, NDSS 2017, section 6.1).

use std::collections::VecDeque;

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Deadline, Machine};
use polypath_core::packet::TrafficClass;
use polypath_core::time::{Duration, Time};

use crate::address::Source;
use crate::arena::Arena;
use crate::entropy::BoxedEntropy;
use crate::event::{Counters, Reject, SessionEvent};
use crate::handshake::{self, CompletedHandshake};
use crate::hello::{Hellos, SilenceTimeouts};
pub use crate::hello::{MAX_RETRY_INTERVAL, RELAY_SILENCE_TIMEOUT, SILENCE_TIMEOUT};
use crate::keypair::KeyPair;
use crate::keyring::Keyring;
use attempts::Attempts;
pub(crate) use attempts::{InitiationError, Origin};
pub use io::{Input, Output, SessionConfig, usable_timestamp};
pub use limits::Limits;
use send::QueuedFrame;

mod accepted;
mod admission;
mod attempts;
mod cookie;
mod initiations;
mod io;
mod limits;
mod local_identity;
mod receive;
mod schedule;
mod send;

/// Frames that are queued until the session is established; when full, the oldest is dropped.
const QUEUE_LEN: usize = 64;
/// The maximum of [`Session::buffered`], whatever is received: queued frames and remembered
/// initiations.
pub const CAPACITY: usize = QUEUE_LEN + admission::MAX_REMEMBERED;
/// The frame that answers a hello.
const HELLO_REPLY: &[u8] = &[1];

/// One side of a session.
pub struct Session {
    limits: Limits,
    initiates: bool,
    answers: bool,
    max_datagram: usize,
    /// The bits of the protocol's features that it supports.
    features: u32,
    reachable: Vec<bool>,
    /// For each path, the source of the peer's newest authentic datagram.
    sources: Vec<Option<Source>>,
    attempts: Attempts,
    keys: Keyring,
    hellos: Hellos,
    queued: VecDeque<QueuedFrame>,
    arena: Arena,
    counters: Counters,
    peer_paths: Option<u8>,
}

impl Session {
    /// A session without keys; it initiates a handshake on its first timeout.
    ///
    /// Paths beyond the first 255 are not used: a path number has eight bits.
    #[must_use]
    pub fn new(mut config: SessionConfig, entropy: BoxedEntropy) -> Self {
        config.reachable.truncate(usize::from(u8::MAX));
        let paths = u8::try_from(config.reachable.len()).unwrap_or(u8::MAX);
        Self {
            attempts: Attempts::new(&config, paths, entropy),
            limits: config.limits,
            initiates: true,
            answers: true,
            max_datagram: config.max_datagram,
            features: handshake::features(config.receives_ecn),
            sources: vec![None; config.reachable.len()],
            reachable: config.reachable,
            keys: Keyring::default(),
            hellos: Hellos::new(paths),
            queued: VecDeque::with_capacity(QUEUE_LEN),
            arena: Arena::new(),
            counters: Counters::default(),
            peer_paths: None,
        }
    }

    /// A session that initiates no handshake and only answers the peer's.
    ///
    /// After [`SILENCE_TIMEOUT`] without an answer it sends the peer nothing until it receives an
    /// authentic datagram again.
    #[must_use]
    pub fn responder(config: SessionConfig, entropy: BoxedEntropy) -> Self {
        Self {
            initiates: false,
            ..Self::new(config, entropy)
        }
    }

    /// The session with a relay, which answers hellos and nothing else by itself, and initiates no
    /// handshakes.
    pub(crate) fn with_relay(config: SessionConfig, entropy: BoxedEntropy) -> Self {
        let mut session = Self {
            answers: false,
            ..Self::new(config, entropy)
        };
        session.hellos.set_timeouts(SilenceTimeouts::RELAY);
        session
    }

    /// Whether there are keys to seal frames with.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.keys.current.is_some()
    }

    /// The time since which the current keys are in use.
    pub(crate) fn established_at(&self) -> Option<Time> {
        self.keys.current.as_ref().map(|pair| pair.established)
    }

    /// Records that the peer's address on `path` is known; if it is the first, a handshake is due
    /// immediately.
    pub(crate) fn set_reachable(&mut self, now: Time, path: PathId) {
        let first = !self.reachable.contains(&true);
        if let Some(reachable) = self.reachable.get_mut(path.index()) {
            *reachable = true;
        }
        if first && !self.is_established() {
            self.attempts.schedule_now(now);
        }
    }

    /// Renews the keys immediately, because the peer does not answer and may have lost them in a
    /// restart. The current keys stay in use until then.
    pub(crate) fn request_rekey(&mut self, now: Time) {
        if self.is_established() {
            self.attempts.schedule_rekey(now);
        }
    }

    /// Sets what the wall clock would have shown at time zero ([`SessionConfig::wall_clock`]); an
    /// earlier value than before has no effect.
    pub(crate) fn set_wall_clock(&mut self, at_zero: u64) {
        self.attempts.set_wall_clock(at_zero);
    }

    /// Whether a frame for `path` would be sent immediately: there are keys, and the peer's address
    /// is known.
    pub(crate) fn can_send(&self, path: PathId) -> bool {
        let reachable = self.reachable.get(path.index());
        self.is_established() && reachable.is_some_and(|reachable| *reachable)
    }

    /// The receiver indices of the keys that open here, which transport datagrams carry in bytes 1
    /// to 4.
    pub fn local_indices(&self) -> impl Iterator<Item = u32> {
        self.keys.local_indices()
    }

    /// The receiver index in a response to the pending initiation.
    pub(crate) fn pending_index(&self) -> Option<u32> {
        self.attempts.pending_index()
    }

    /// Whether `index` is the receiver index of keys that open here.
    pub(crate) fn contains_index(&self, index: u32) -> bool {
        self.keys.contains_index(index)
    }

    /// Forgets the addresses of the peer.
    #[cfg(test)]
    pub(crate) fn forget_addresses(&mut self) {
        self.reachable.fill(false);
    }

    /// The number of paths of the peer, by the handshake of the keys in use or last in use; `None`
    /// before the first.
    #[must_use]
    pub fn peer_paths(&self) -> Option<u8> {
        self.peer_paths
    }

    /// The bits of the protocol's features that both nodes support, by the handshake of the keys in
    /// use.
    #[must_use]
    pub fn features(&self) -> u32 {
        let pair = self.keys.current.as_ref();
        pair.map_or(0, |pair| pair.remote.features & self.features)
    }

    /// The names of [these features](Self::features): `reports`, `closed-paths`, `ecn`, `fragments`,
    /// `spacing`.
    pub fn feature_names(&self) -> impl Iterator<Item = &'static str> {
        handshake::feature_names(self.features())
    }

    /// The timestamp of the newest initiation of the peer that was accepted, in this run or in an
    /// earlier one, in nanoseconds since 1970; 0 if there was none. The next run of this node
    /// rejects older ones ([`SessionConfig::peer_timestamp`]).
    #[must_use]
    pub fn peer_timestamp(&self) -> u64 {
        self.attempts.peer_timestamp()
    }

    /// The number of queued frames and remembered initiations: at most [`CAPACITY`].
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.queued.len() + self.attempts.buffered()
    }

    /// The session's counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Counts a frame that opened and is rejected.
    pub(crate) fn reject(&mut self, path: PathId, reason: Reject, out: &mut impl FnMut(Output)) {
        self.counters.count_rejected(reason);
        out(Output::Event(SessionEvent::Rejected { path, reason }));
    }

    /// Puts the keys of this node's own handshake to use.
    fn on_completed(
        &mut self,
        now: Time,
        index: u32,
        completed: CompletedHandshake,
        out: &mut impl FnMut(Output),
    ) {
        let pair = self.key_pair(now, completed, index);
        let awaits = self.attempts.peer_has_precedence();
        if self.keys.rotate(now, pair, awaits, &self.limits) {
            out(Output::Event(SessionEvent::PeerRestarted));
        }
        self.established(now, true, out);
    }

    fn key_pair(&self, now: Time, completed: CompletedHandshake, index: u32) -> KeyPair {
        KeyPair::new(completed, index, now, self.own_paths())
    }

    fn own_paths(&self) -> u8 {
        u8::try_from(self.reachable.len()).unwrap_or(u8::MAX)
    }

    /// Compares the number of paths with that of the peer, which an answered initiation states only
    /// once its keys are in use: it may be a replay.
    fn compare_paths(&mut self, out: &mut impl FnMut(Output)) {
        let peer = self.keys.current.as_ref().map(|pair| pair.remote.paths);
        let (Some(peer), own) = (peer, self.own_paths()) else {
            return;
        };
        if self.peer_paths.replace(peer) != Some(peer) && peer != own {
            out(Output::Event(SessionEvent::PathsDiffer { own, peer }));
        }
    }

    /// Puts new keys to use: sends hellos and the queued frames.
    fn established(&mut self, now: Time, initiator: bool, out: &mut impl FnMut(Output)) {
        self.counters.established += 1;
        self.compare_paths(out);
        let grace = if initiator {
            Duration::ZERO
        } else {
            self.limits.responder_grace
        };
        self.attempts
            .schedule_at(now + self.limits.rekey_after + grace);
        out(Output::Event(SessionEvent::Established { initiator }));
        self.hellos.restart(now);
        self.send_due_hellos(now, out);
        for QueuedFrame {
            path,
            frame,
            traffic_class,
        } in std::mem::take(&mut self.queued)
        {
            self.seal(now, path, &frame, traffic_class, out);
        }
    }

    fn send_due_hellos(&mut self, now: Time, out: &mut impl FnMut(Output)) {
        let due = self.hellos.take_due(now);
        if due.handshake {
            out(Output::Event(SessionEvent::Silent));
            if !self.initiates {
                return self.hellos.stop();
            }
            self.attempts.schedule_now(now);
        }
        if due.hello {
            let unconfirmed: Vec<PathId> = self.hellos.unconfirmed().collect();
            for path in unconfirmed {
                if self.reachable[path.index()] {
                    self.send_hello(path, &[], out);
                }
            }
        }
    }

    fn send_hello(&mut self, path: PathId, hello: &[u8], out: &mut impl FnMut(Output)) {
        if self.send_sealed(path, hello, TrafficClass::DEFAULT, out) {
            self.counters.hellos += 1;
        }
    }

    fn initiate(&mut self, now: Time, out: &mut impl FnMut(Output)) {
        let Some(attempt) = self.attempts.take_due(now) else {
            return;
        };
        // Until the peer's address is known on some path, only the peer can initiate.
        if !self.reachable.contains(&true) {
            return;
        }
        let is_used = |index| self.keys.contains_index(index);
        if !(self.attempts).initiate(now, self.keys.session_mac(), is_used) {
            return out(Output::Event(SessionEvent::NoEntropy));
        }
        self.counters.initiated += 1;
        out(Output::Event(SessionEvent::Initiated { attempt }));
        for path in self.reachable_paths() {
            if let Some(datagram) = self.attempts.pending_datagram(now, path) {
                out(Output::Send {
                    path,
                    datagram,
                    traffic_class: TrafficClass::DEFAULT,
                });
            }
        }
    }

    fn reachable_paths(&self) -> impl Iterator<Item = PathId> {
        let reachable = (0_u8..).map(PathId).zip(&self.reachable);
        reachable.filter_map(|(path, reachable)| reachable.then_some(path))
    }

    fn send_on_all_paths(
        &self,
        datagram: &Bytes,
        except: Option<PathId>,
        out: &mut impl FnMut(Output),
    ) {
        for path in self.reachable_paths().filter(|path| except != Some(*path)) {
            out(Output::Send {
                path,
                datagram: datagram.clone(),
                traffic_class: TrafficClass::DEFAULT,
            });
        }
    }
}

impl Machine for Session {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Time, input: Input, out: &mut impl FnMut(Output)) {
        match input {
            Input::Datagram {
                path,
                source,
                datagram,
            } => self.receive(now, path, source, &datagram, out),
            Input::Seal {
                path,
                frame,
                traffic_class,
            } => self.seal(now, path, &frame, traffic_class, out),
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Output)) {
        if self.keys.drop_expired(now, &self.limits) {
            self.attempts.schedule_now(now);
            out(Output::Event(SessionEvent::Expired));
        }
        self.send_due_hellos(now, out);
        if self.initiates {
            self.initiate(now, out);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let keys = self.keys.deadline(&self.limits);
        let hellos = self.hellos.deadline();
        let attempts = self.initiates.then(|| self.attempts.deadline());
        Deadline::earlier(attempts, Deadline::earlier(keys, hellos))
    }
}

#[cfg(test)]
mod tests;
