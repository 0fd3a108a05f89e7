//! The keys of one handshake, with a counter and a replay window for each path.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::time::Time;
use polypath_core::window::{SlidingWindow, Verdict};
use snow::StatelessTransportState;

use crate::arena::Arena;
use crate::datagram::{
    COUNTER_MAX, Nonce, OVERHEAD, TRANSPORT_HEADER, Transport, write_transport_header,
};
use crate::event::Reject;
use crate::handshake::{CompletedHandshake, HandshakeInfo};
use crate::mac::MacKey;
use crate::noise::TAG_LEN;

/// The size of the replay window of a path, in datagrams (as in RFC 4303, section 3.4.3).
const REPLAY_WINDOW: u32 = 2048;

/// The keys of one handshake; `local_index` is the receiver index in datagrams to this node.
pub(crate) struct KeyPair {
    pub(crate) local_index: u32,
    pub(crate) established: Time,
    /// The peer that has them, as the handshake described it.
    pub(crate) remote: HandshakeInfo,
    /// The key of the session MAC in initiations that renew them.
    pub(crate) session_mac: MacKey,
    transport: StatelessTransportState,
    paths: Vec<PathState>,
}

struct PathState {
    sent: u64,
    replay_window: SlidingWindow,
}

impl KeyPair {
    pub(crate) fn new(
        completed: CompletedHandshake,
        local_index: u32,
        now: Time,
        paths: u8,
    ) -> Self {
        let fresh = || PathState {
            sent: 0,
            replay_window: SlidingWindow::new(REPLAY_WINDOW),
        };
        Self {
            local_index,
            established: now,
            remote: completed.remote,
            session_mac: completed.session_mac,
            transport: completed.transport,
            paths: (0..paths).map(|_| fresh()).collect(),
        }
    }

    /// The number of datagrams sealed on the busiest path.
    pub(crate) fn sent(&self) -> u64 {
        self.paths.iter().map(|path| path.sent).max().unwrap_or(0)
    }

    /// Seals `frame` for `path`; `None` if the counter is exhausted or the frame too long for a
    /// datagram.
    pub(crate) fn seal(&mut self, path: PathId, frame: &[u8], arena: &mut Arena) -> Option<Bytes> {
        let state = self.paths.get_mut(path.index())?;
        if state.sent >= COUNTER_MAX {
            return None;
        }
        let nonce = Nonce {
            path,
            counter: state.sent,
        };
        state.sent += 1;
        let (transport, remote) = (&self.transport, self.remote.index);
        let sealed = arena.cut(frame.len() + OVERHEAD, |out| {
            write_transport_header(out, remote, nonce);
            let body = &mut out[TRANSPORT_HEADER..];
            let len = transport.write_message(nonce.to_bits(), frame, body)?;
            Ok::<_, snow::Error>(TRANSPORT_HEADER + len)
        });
        sealed.ok()
    }

    /// Opens a datagram received on `path`, once.
    pub(crate) fn open(
        &mut self,
        path: PathId,
        datagram: &Transport<'_>,
        arena: &mut Arena,
    ) -> Result<Bytes, Reject> {
        let Nonce {
            path: named,
            counter,
        } = datagram.nonce;
        if named != path {
            return Err(Reject::WrongPath);
        }
        let state = self
            .paths
            .get_mut(path.index())
            .ok_or(Reject::UnknownPath)?;
        check_replay(state.replay_window.classify(counter))?;
        let (transport, sealed) = (&self.transport, datagram.sealed);
        let frame = arena.cut(sealed.len(), |out| {
            let opened = transport.read_message(datagram.nonce.to_bits(), sealed, out);
            opened.map_err(|_| Reject::Undecryptable)
        })?;
        debug_assert_eq!(frame.len() + TAG_LEN, sealed.len());
        // Only an authentic datagram may advance the window.
        state.replay_window.accept(counter);
        Ok(frame)
    }
}

fn check_replay(verdict: Verdict) -> Result<(), Reject> {
    match verdict {
        Verdict::Fresh => Ok(()),
        Verdict::Duplicate => Err(Reject::Replayed),
        Verdict::Behind => Err(Reject::BehindWindow),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::datagram::{self, Datagram};
    use crate::handshake::{HandshakeInfo, Initiation, ReceivedInitiation};
    use crate::key::PrivateKey;
    use crate::noise::StaticKeys;
    use polypath_core::rng::Seed;

    /// The keys of the initiator and of the responder after a complete handshake, in which both
    /// describe themselves by this instance and index.
    pub(crate) fn connected(instance: u64, index: u32, paths: u8) -> [KeyPair; 2] {
        let key = |name| PrivateKey::generate(&mut Seed(1).stream(name)).unwrap();
        let (a, b) = (key("a"), key("b"));
        let initiator = StaticKeys::new(a.clone(), b.public(), None);
        let responder = StaticKeys::new(b, a.public(), None);
        let own = HandshakeInfo {
            index,
            instance,
            features: 0,
            paths,
        };
        let mac = &MacKey::of_handshakes_to(&initiator.peer);
        let mut initiation =
            Initiation::write(&initiator, mac, None, [7; 32].into(), 1, own).unwrap();
        let Ok(Datagram::Initiation(message)) = datagram::parse(&initiation.datagram) else {
            panic!("no initiation");
        };
        let received = ReceivedInitiation::read(&responder, [8; 32].into(), &message.handshake);
        let received = received.unwrap_or_else(|reason| panic!("{reason:?}"));
        let (response, completed) = received
            .respond(&MacKey::of_handshakes_to(&initiator.public), own, &[9; 16])
            .unwrap();
        let Ok(Datagram::Response { message, .. }) = datagram::parse(&response) else {
            panic!("no response");
        };
        let response = initiation.read_response(&message);
        let response = response.unwrap_or_else(|reason| panic!("{reason:?}"));
        let own = initiation.complete(&response).unwrap();
        [own, completed].map(|completed| KeyPair::new(completed, index, Time::ZERO, paths))
    }

    /// The result of opening a datagram of `path`.
    fn open(pair: &mut KeyPair, path: PathId, datagram: &Bytes) -> Result<Bytes, Reject> {
        match datagram::parse(datagram) {
            Ok(Datagram::Transport(transport)) => pair.open(path, &transport, &mut Arena::new()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_last_counters_of_a_path_are_used_once_and_no_more() {
        const PATH: PathId = PathId(1);
        let [mut from, mut to] = connected(1, 7, 2);
        let mut seal = |path: PathId, frame: &[u8]| from.seal(path, frame, &mut Arena::new());
        let first = seal(PATH, b"first").unwrap();
        from.paths[PATH.index()].sent = COUNTER_MAX - 2;
        let mut seal = |path: PathId, frame: &[u8]| from.seal(path, frame, &mut Arena::new());
        let last = [b"one", b"two"].map(|frame| seal(PATH, frame).unwrap());
        for _ in 0..3 {
            assert_eq!(seal(PATH, b"more"), None);
        }
        let other = seal(PathId(0), b"other").unwrap();
        assert_eq!(open(&mut to, PATH, &last[1]).unwrap(), "two");
        assert_eq!(open(&mut to, PATH, &last[0]).unwrap(), "one");
        for again in &last {
            assert_eq!(open(&mut to, PATH, again), Err(Reject::Replayed));
        }
        assert_eq!(open(&mut to, PATH, &first), Err(Reject::BehindWindow));
        assert_eq!(open(&mut to, PathId(0), &last[0]), Err(Reject::WrongPath));
        assert_eq!(open(&mut to, PathId(0), &other).unwrap(), "other");
    }
}
