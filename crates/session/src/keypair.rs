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
        let state = self
            .paths
            .get_mut(path.index())
            .ok_or(Reject::UnknownPath)?;
        let nonce = datagram.nonce(path, state.replay_window.end())?;
        check_replay(state.replay_window.classify(nonce.counter))?;
        let (transport, sealed) = (&self.transport, datagram.sealed);
        let frame = arena.cut(sealed.len(), |out| {
            let opened = transport.read_message(nonce.to_bits(), sealed, out);
            opened.map_err(|_| Reject::Undecryptable)
        })?;
        debug_assert_eq!(frame.len() + TAG_LEN, sealed.len());
        // Only an authentic datagram may advance the window.
        state.replay_window.accept(nonce.counter);
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
    use polypath_core::truncated::{BEHIND, BITS};

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
        skip_to(COUNTER_MAX - 10_000, PATH, [&mut from, &mut to]);
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

    /// Both ends as if all earlier datagrams of `path` had arrived: `counter` is next.
    fn skip_to(counter: u64, path: PathId, [from, to]: [&mut KeyPair; 2]) {
        from.paths[path.index()].sent = counter;
        to.paths[path.index()].replay_window.accept(counter - 1);
    }

    /// Seals on `path` and opens after `lost` others.
    fn cross(from: &mut KeyPair, to: &mut KeyPair, lost: u64) -> Result<Bytes, Reject> {
        const PATH: PathId = PathId(1);
        from.paths[PATH.index()].sent += lost;
        let datagram = from.seal(PATH, b"frame", &mut Arena::new()).unwrap();
        open(to, PATH, &datagram)
    }

    #[test]
    fn truncated_counters_are_found_around_every_wrap() {
        const PATH: PathId = PathId(1);
        const WRAP: u64 = 1 << BITS;
        let [mut from, mut to] = connected(1, 7, 2);
        for wrap in [WRAP, 2 * WRAP, WRAP << 10, COUNTER_MAX & !(WRAP - 1)] {
            skip_to(wrap - 3, PATH, [&mut from, &mut to]);
            let mut seal = || from.seal(PATH, b"frame", &mut Arena::new()).unwrap();
            let datagrams = [(); 6].map(|()| seal());
            for late in [1, 0, 3, 5, 2, 4] {
                assert_eq!(open(&mut to, PATH, &datagrams[late]).unwrap(), "frame");
                let again = open(&mut to, PATH, &datagrams[late]);
                assert_eq!(again, Err(Reject::Replayed), "{wrap}");
            }
            let other = open(&mut to, PathId(0), &datagrams[0]);
            assert_eq!(other, Err(Reject::WrongPath));
        }
    }

    #[test]
    fn most_of_a_window_of_lost_datagrams_is_survived_and_more_is_not() {
        const MOST: u64 = (1 << BITS) - 1 - BEHIND;
        for start in [BEHIND, MOST, 2 * MOST - 1, 9 * MOST] {
            let [mut from, mut to] = connected(1, 7, 2);
            skip_to(start, PathId(1), [&mut from, &mut to]);
            assert_eq!(cross(&mut from, &mut to, MOST).unwrap(), "frame");
            assert_eq!(cross(&mut from, &mut to, 0).unwrap(), "frame");
            let beyond = cross(&mut from, &mut to, MOST + 1);
            assert!(beyond.is_err(), "{start}: {beyond:?}");
        }
    }

    /// A counter beyond the last one would be a nonce of another.
    #[test]
    fn a_counter_at_the_end_is_not_taken_for_one_at_the_start() {
        const PATH: PathId = PathId(1);
        let [mut from, mut to] = connected(1, 7, 2);
        let first = from.seal(PATH, b"first", &mut Arena::new()).unwrap();
        skip_to(COUNTER_MAX - 1, PATH, [&mut from, &mut to]);
        assert_eq!(open(&mut to, PATH, &first), Err(Reject::BehindWindow));
    }
}
