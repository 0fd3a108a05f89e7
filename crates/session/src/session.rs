//! A session between two nodes over several paths, as a machine.
//!
//! **Handshake.** An initiation goes out on every path whose far end is known, the first answer wins, and
//! it is begun anew with growing intervals until one comes. Either end may begin; where both do, the end
//! with the smaller public key ignores the other's initiation during its own first tries. An initiation is
//! answered only if it proves the peer's static key and its timestamp is newer than all before. A check
//! that costs one hash heads off those who do not know this end's public key; older initiations that were
//! read before are known again; and beyond that few are read in a time ([`Reject::Throttled`]). There are
//! no cookies as `WireGuard` has them: while somebody who does know the key floods a path, the peer's
//! initiations get through on the other paths, and this end's own on all; on that path only as many as the
//! flood leaves. A path on which an answer was of no use gives way to the others with the next try
//! ([`Reject::PassedOver`]).
//!
//! **Keys.** The initiator renews the keys after [`Limits::rekey_after`], the responder somewhat later if
//! it did not; or after [`Limits::rekey_after_count`] datagrams, unless it has just answered the peer's
//! renewal. Old keys open what is under way for [`Limits::retire_after`] more, so that nothing is lost. Timestamps are
//! remembered for the life of the session.
//!
//! **Instances.** A peer that started anew is known by another instance number in its handshake, however its clock is set
//! and whoever began. Once keys of the new instance are in use, those of the one before open nothing any more, and
//! [`SessionEvent::PeerRestarted`] tells it before anything that they open. In use are keys that a response brings, or that a
//! datagram has confirmed: an old initiation, replayed, gets an answer at most.
//!
//! **Addresses.** An initiation is answered where it came from, and where the peer is known to be. Only what opens under
//! agreed keys tells where the peer is: an initiation may be an old one, which an end that started anew takes for
//! the first. The initiator's hellos tell it on every path.
//!
//! **Paths.** A frame is sealed for one path, with that path's counter, and opens on no other. Frames that
//! come before the session stands wait in a short queue.
//!
//! Times follow `WireGuard` (Donenfeld, NDSS 2017, section 6.1).

use std::collections::VecDeque;

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Deadline, Machine};
use polypath_core::time::{Duration, Time};

use crate::arena::Arena;
use crate::datagram::{self, Datagram, Handshake, Transport};
use crate::entropy::BoxedEntropy;
use crate::event::{Counters, Reject, SessionEvent};
use crate::handshake::Agreed;
use crate::hello::Hellos;
pub use crate::hello::{MAX_RETRY_INTERVAL, SILENCE_TIMEOUT};
use crate::keypair::KeyPair;
use crate::keyring::{Keyring, Slot};
use attempts::Attempts;
pub(crate) use attempts::Refusal;
pub use io::{Input, Output, SessionConfig};
pub use limits::Limits;

mod attempts;
mod guard;
mod initiations;
mod io;
mod limits;
mod local_identity;
mod reply_path;

/// Frames that wait for a session; the oldest gives way.
const QUEUE_LEN: usize = 64;
/// Most of what a session holds at once beside what its configuration says, whatever comes: frames that wait for keys,
/// and initiations that are known again ([`Session::buffered`]).
pub const CAPACITY: usize = QUEUE_LEN + guard::KNOWN;
/// Answers a hello.
const HELLO_ANSWER: &[u8] = &[1];

/// One end of a session.
pub struct Session {
    limits: Limits,
    begins: bool,
    max_datagram: usize,
    reachable: Vec<bool>,
    attempts: Attempts,
    keys: Keyring,
    hellos: Hellos,
    waiting: VecDeque<(PathId, Bytes)>,
    arena: Arena,
    counters: Counters,
    peer_paths: Option<u8>,
}

impl Session {
    /// A session at rest; it begins a handshake as soon as it is woken.
    ///
    /// Paths beyond the first 255 are not used: a path's number has eight bits.
    #[must_use]
    pub fn new(mut config: SessionConfig, entropy: BoxedEntropy) -> Self {
        config.reachable.truncate(usize::from(u8::MAX));
        let paths = u8::try_from(config.reachable.len()).unwrap_or(u8::MAX);
        Self {
            limits: config.limits,
            begins: true,
            max_datagram: config.max_datagram,
            reachable: config.reachable,
            attempts: Attempts::new(
                config.private_key,
                config.peer,
                config.wall_clock,
                paths,
                entropy,
            ),
            keys: Keyring::default(),
            hellos: Hellos::new(paths),
            waiting: VecDeque::with_capacity(QUEUE_LEN),
            arena: Arena::new(),
            counters: Counters::default(),
            peer_paths: None,
        }
    }

    /// A session that begins no handshake: it answers those of the peer, and sends nothing more to one that has answered
    /// nothing for [`SILENCE_TIMEOUT`] until it is heard again.
    #[must_use]
    pub fn responder(config: SessionConfig, entropy: BoxedEntropy) -> Self {
        Self {
            begins: false,
            ..Self::new(config, entropy)
        }
    }

    /// Whether frames can be sealed now.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.keys.current.is_some()
    }

    /// Since when the keys that seal now are in use.
    pub(crate) fn established_at(&self) -> Option<Time> {
        self.keys.current.as_ref().map(|pair| pair.established)
    }

    /// Notes that the peer's address on `path` is known; where it was known on none, a handshake follows at once.
    pub(crate) fn reach(&mut self, now: Time, path: PathId) {
        let first = !self.reachable.contains(&true);
        if let Some(reachable) = self.reachable.get_mut(path.index()) {
            *reachable = true;
        }
        if first && !self.is_established() {
            self.attempts.hasten(now);
        }
    }

    /// Nothing comes back any more: keys are renewed at once, since the peer may have started anew and lost them. Until then
    /// those in use serve on.
    pub(crate) fn request_rekey(&mut self, now: Time) {
        if self.is_established() {
            self.attempts.renew(now);
        }
    }

    /// The wall clock would have shown `at_zero` at time zero ([`SessionConfig::wall_clock`]); heeded where it was set ahead.
    pub(crate) fn set_wall_clock(&mut self, at_zero: u64) {
        self.attempts.set_wall_clock(at_zero);
    }

    /// Whether a frame for `path` would leave now, rather than wait for keys or for the peer's address.
    pub(crate) fn carries(&self, path: PathId) -> bool {
        let reachable = self.reachable.get(path.index());
        self.is_established() && reachable.is_some_and(|reachable| *reachable)
    }

    /// By what the peer names the keys that open here, in the bytes 1 to 4 of transport datagrams.
    pub fn local_indices(&self) -> impl Iterator<Item = u32> {
        self.keys.local_indices()
    }

    /// Whether the peer names keys of this end by `index`.
    pub(crate) fn knows(&self, index: u32) -> bool {
        self.keys.knows(index)
    }

    /// As if no address of the peer had been configured.
    #[cfg(test)]
    pub(crate) fn forget_addresses(&mut self) {
        self.reachable.fill(false);
    }

    /// How many paths the peer has, as it said in the last handshake; none before the first.
    #[must_use]
    pub fn peer_paths(&self) -> Option<u8> {
        self.peer_paths
    }

    /// How much is held of what comes and goes: at most [`CAPACITY`].
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.waiting.len() + self.attempts.buffered()
    }

    /// How often what happened.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Counts a frame that opened and yet is none.
    pub(crate) fn reject(&mut self, path: PathId, reason: Reject, out: &mut impl FnMut(Output)) {
        self.counters.count_rejected(reason);
        out(Output::Event(SessionEvent::Rejected { path, reason }));
    }

    /// Seals `frame` for `path`, or lets it wait for the session.
    pub(crate) fn seal(
        &mut self,
        now: Time,
        path: PathId,
        frame: &[u8],
        out: &mut impl FnMut(Output),
    ) {
        if self.keys.current.is_none() {
            return self.queue(path, frame, out);
        }
        if self.send_sealed(path, frame, out) {
            self.counters.sealed += 1;
            self.hellos.on_sent(now);
        } else {
            self.discard(out);
        }
        let spent = |pair: &KeyPair| pair.sent() >= self.limits.rekey_after_count;
        if self.keys.current.as_ref().is_some_and(spent) {
            self.attempts.renew(now);
        }
    }

    fn queue(&mut self, path: PathId, frame: &[u8], out: &mut impl FnMut(Output)) {
        if self.waiting.len() == QUEUE_LEN {
            self.waiting.pop_front();
            self.discard(out);
        }
        self.waiting
            .push_back((path, Bytes::copy_from_slice(frame)));
    }

    /// Counts a frame that is dropped.
    pub(crate) fn discard(&mut self, out: &mut impl FnMut(Output)) {
        self.counters.discarded += 1;
        out(Output::Event(SessionEvent::Discarded));
    }

    /// False where the frame is too long for a datagram, its path unknown or the keys used up.
    fn send_sealed(&mut self, path: PathId, frame: &[u8], out: &mut impl FnMut(Output)) -> bool {
        let pair = self.keys.current.as_mut();
        let Some(datagram) = pair.and_then(|pair| pair.seal(path, frame, &mut self.arena)) else {
            return false;
        };
        out(Output::Send { path, datagram });
        true
    }

    /// Takes a datagram from the network.
    pub(crate) fn receive(
        &mut self,
        now: Time,
        path: PathId,
        bytes: &[u8],
        out: &mut impl FnMut(Output),
    ) {
        if let Err(reason) = self.try_receive(now, path, bytes, out) {
            self.reject(path, reason, out);
        }
    }

    fn try_receive(
        &mut self,
        now: Time,
        path: PathId,
        bytes: &[u8],
        out: &mut impl FnMut(Output),
    ) -> Result<(), Reject> {
        if path.index() >= self.reachable.len() {
            return Err(Reject::UnknownPath);
        }
        if bytes.len() > self.max_datagram {
            return Err(Reject::Oversized);
        }
        match datagram::parse(bytes)? {
            Datagram::Transport(datagram) => self.on_transport(now, path, &datagram, out),
            Datagram::Initiation(message) => self.on_initiation(now, path, &message, out),
            Datagram::Response { receiver, message } => {
                self.on_response(now, path, receiver, &message, out)
            }
        }
    }

    fn on_transport(
        &mut self,
        now: Time,
        path: PathId,
        datagram: &Transport<'_>,
        out: &mut impl FnMut(Output),
    ) -> Result<(), Reject> {
        let (slot, pair) = self
            .keys
            .find(datagram.receiver)
            .ok_or(Reject::UnknownIndex)?;
        let frame = pair.open(path, datagram, &mut self.arena)?;
        self.authenticated(path, out);
        if slot == Slot::Next {
            if self.keys.confirm(now, &self.limits) {
                out(Output::Event(SessionEvent::PeerRestarted));
            }
            self.established(now, false, out);
        }
        // What old keys open says nothing of the new ones.
        if slot != Slot::Previous {
            self.hellos.on_heard(path);
        }
        match &frame[..] {
            [] => self.say_hello(path, HELLO_ANSWER, out),
            HELLO_ANSWER => {}
            _ => {
                self.counters.opened += 1;
                out(Output::Opened { path, frame });
            }
        }
        Ok(())
    }

    fn on_response(
        &mut self,
        now: Time,
        path: PathId,
        receiver: u32,
        message: &Handshake<'_>,
        out: &mut impl FnMut(Output),
    ) -> Result<(), Reject> {
        let (index, agreed) = self.attempts.complete(receiver, message)?;
        self.authenticated(path, out);
        let pair = self.pair(now, agreed, index, out);
        if self.keys.rotate(now, pair, &self.limits) {
            out(Output::Event(SessionEvent::PeerRestarted));
        }
        self.established(now, true, out);
        Ok(())
    }

    fn pair(
        &mut self,
        now: Time,
        agreed: Agreed,
        index: u32,
        out: &mut impl FnMut(Output),
    ) -> KeyPair {
        let own = u8::try_from(self.reachable.len()).unwrap_or(u8::MAX);
        let peer = agreed.remote.paths;
        if self.peer_paths.replace(peer) != Some(peer) && peer != own {
            out(Output::Event(SessionEvent::PathsDiffer { own, peer }));
        }
        KeyPair::new(agreed, index, now, own)
    }

    fn authenticated(&mut self, path: PathId, out: &mut impl FnMut(Output)) {
        self.reachable[path.index()] = true;
        out(Output::Authenticated { path });
    }

    /// New keys seal from now on: they are announced, and what waited goes out.
    fn established(&mut self, now: Time, initiator: bool, out: &mut impl FnMut(Output)) {
        self.counters.established += 1;
        let grace = if initiator {
            Duration::ZERO
        } else {
            self.limits.responder_grace
        };
        self.attempts
            .rest_until(now + self.limits.rekey_after + grace);
        out(Output::Event(SessionEvent::Established { initiator }));
        self.hellos.restart(now);
        self.on_hellos(now, out);
        for (path, frame) in std::mem::take(&mut self.waiting) {
            self.seal(now, path, &frame, out);
        }
    }

    fn on_hellos(&mut self, now: Time, out: &mut impl FnMut(Output)) {
        let due = self.hellos.take_due(now);
        if due.handshake {
            out(Output::Event(SessionEvent::Silent));
            if !self.begins {
                return self.hellos.rest();
            }
            self.attempts.hasten(now);
        }
        if due.hello {
            let unheard: Vec<PathId> = self.hellos.unheard().collect();
            for path in unheard {
                if self.reachable[path.index()] {
                    self.say_hello(path, &[], out);
                }
            }
        }
    }

    fn say_hello(&mut self, path: PathId, hello: &[u8], out: &mut impl FnMut(Output)) {
        if self.send_sealed(path, hello, out) {
            self.counters.hellos += 1;
        }
    }

    fn initiate(&mut self, now: Time, out: &mut impl FnMut(Output)) {
        let Some(attempt) = self.attempts.take_due(now) else {
            return;
        };
        // Until the peer's address is known on some path, it is the peer that has to begin.
        if !self.reachable.contains(&true) {
            return;
        }
        let taken = |index| self.keys.knows(index);
        let Some(datagram) = self.attempts.begin(now, taken) else {
            return out(Output::Event(SessionEvent::NoEntropy));
        };
        self.counters.initiated += 1;
        out(Output::Event(SessionEvent::Initiated { attempt }));
        self.send_everywhere(&datagram, None, out);
    }

    fn send_everywhere(
        &self,
        datagram: &Bytes,
        except: Option<PathId>,
        out: &mut impl FnMut(Output),
    ) {
        let reachable = (0_u8..).map(PathId).zip(&self.reachable);
        let wanted = reachable.filter(|(path, reachable)| **reachable && except != Some(*path));
        for (path, _) in wanted {
            out(Output::Send {
                path,
                datagram: datagram.clone(),
            });
        }
    }
}

impl Machine for Session {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Time, input: Input, out: &mut impl FnMut(Output)) {
        match input {
            Input::Datagram { path, datagram } => self.receive(now, path, &datagram, out),
            Input::Seal { path, frame } => self.seal(now, path, &frame, out),
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Output)) {
        if self.keys.expire(now, &self.limits) {
            self.attempts.hasten(now);
            out(Output::Event(SessionEvent::Expired));
        }
        self.on_hellos(now, out);
        if self.begins {
            self.initiate(now, out);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let keys = self.keys.deadline(&self.limits);
        let hellos = self.hellos.deadline();
        let attempts = self.begins.then(|| self.attempts.deadline());
        Deadline::earlier(attempts, Deadline::earlier(keys, hellos))
    }
}

#[cfg(test)]
mod tests;
