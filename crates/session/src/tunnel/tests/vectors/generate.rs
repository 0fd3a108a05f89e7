//! The vectors, from sessions and a relay that talk to each other.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};

use super::format::{
    CookieVector, Hex, InfoVector, InitiationVector, KeyPairVector, Rejected, ResponseVector,
    SessionVector, TransportVector, Vectors,
};
use super::parties::{NO_PSK, PATHS, Party, Sent, WALL, config, private_key, source_bytes};
use crate::datagram::{self, Datagram, Nonce, OVERHEAD};
use crate::entropy::Entropy as _;
use crate::event::Reject;
use crate::handshake;
use crate::key::{KEY_LEN, PublicKey};
use crate::mac::MAC_LEN;
use polypath_core::rng::Seed;

mod frames;
mod rejected;
mod relayed;

pub(super) use relayed::RelayParty;

/// The source of the datagrams of each side.
pub(super) const SOURCES: [&str; 2] = ["192.0.2.1:7001", "192.0.2.2:7002"];

pub(super) fn vectors() -> Vectors {
    let mut pair = Pair::new(["a", "b"], "", NO_PSK.to_vec());
    let (first, inner) = pair.first_session();
    let renewal = pair.renewal(&first);
    Vectors {
        noise: "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s".to_owned(),
        prologue: "polypath session 4".to_owned(),
        keys: keys(),
        relayed: relayed::vector(&inner),
        sessions: vec![first, renewal, session_with_cookie(), session_with_psk()],
        truncated: frames::truncated(),
        frames: frames::vectors(),
        rejected_frames: frames::rejected(),
        fragments: frames::fragments(),
        coded: frames::coded(),
    }
}

/// Random bytes that depend on their name alone.
fn draw(name: &str, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Seed(20).stream(name).fill(&mut bytes).unwrap();
    bytes
}

/// The static private key of a node or relay.
fn static_key(name: &str) -> Vec<u8> {
    draw(&format!("static key of {name}"), KEY_LEN)
}

fn public_key(name: &str) -> PublicKey {
    private_key(&static_key(name)).public()
}

fn keys() -> BTreeMap<String, KeyPairVector> {
    let names = ["a", "b", "r", "stranger"];
    let pair = |name: &str| KeyPairVector {
        private: Hex(static_key(name)),
        public: public_key(name).0.into(),
    };
    names.map(|name| (name.to_owned(), pair(name))).into()
}

/// The draws of one side for a handshake.
struct SideDraws {
    ephemeral: Vec<u8>,
    instance: Vec<u8>,
    index: Vec<u8>,
    secret: Vec<u8>,
}

impl SideDraws {
    /// Those of `owner` in the handshake named `handshake`; `run` names the run of the owner.
    fn new(owner: &str, run: &str, handshake: &str) -> Self {
        let of = |what: &str, len| draw(&format!("{what} of {owner}, {handshake}"), len);
        Self {
            ephemeral: of("ephemeral", KEY_LEN),
            instance: draw(&format!("instance of {owner}{run}"), 8),
            index: of("index", 4),
            secret: of("secret", MAC_LEN),
        }
    }

    fn all(&self) -> [&[u8]; 4] {
        [&self.ephemeral, &self.instance, &self.index, &self.secret]
    }

    fn info(&self, paths: u8) -> InfoVector {
        InfoVector {
            index: u32::from_be_bytes(self.index.as_slice().try_into().unwrap()),
            instance: Hex(self.instance.clone()),
            features: handshake::features(true),
            paths,
        }
    }

    fn initiation(&self, now: Time, paths: u8, datagram: &Bytes) -> InitiationVector {
        InitiationVector {
            ephemeral_private: Hex(self.ephemeral.clone()),
            timestamp: (WALL + now.0).to_be_bytes().into(),
            info: self.info(paths),
            session_secret: None,
            cookie: None,
            datagram: datagram.into(),
            rejected: vec![],
        }
    }

    fn response(&self, paths: u8, datagram: &Bytes) -> ResponseVector {
        ResponseVector {
            ephemeral_private: Hex(self.ephemeral.clone()),
            info: self.info(paths),
            secret: Hex(self.secret.clone()),
            datagram: datagram.into(),
            rejected: vec![],
        }
    }
}

/// Two nodes with a session; the first initiates.
struct Pair {
    names: [&'static str; 2],
    run: &'static str,
    psk: Vec<u8>,
    parties: [Party; 2],
    now: Time,
}

impl Pair {
    fn new(names: [&'static str; 2], run: &'static str, psk: Vec<u8>) -> Self {
        let config = |own, peer| config(&static_key(own), public_key(peer), &psk);
        let party = |own, peer| Party::node(config(own, peer));
        let [a, b] = names;
        Self {
            names,
            run,
            parties: [party(a, b), party(b, a)],
            psk,
            now: Time::ZERO,
        }
    }

    fn public(&self, side: usize) -> PublicKey {
        public_key(self.names[side])
    }

    fn receive(&mut self, side: usize, path: u8, datagram: &[u8]) -> super::parties::Outputs {
        self.parties[side].receive(self.now, path, SOURCES[1 - side], datagram)
    }

    fn initiate(&mut self, draws: &SideDraws) -> Bytes {
        self.parties[0].draws.set(draws.all());
        let sent = self.parties[0].initiate(self.now).sent();
        assert_eq!(sent.len(), usize::from(PATHS), "one on each path");
        assert_eq!(sent[0].datagram, sent[1].datagram);
        sent[0].datagram.clone()
    }

    /// Delivers datagrams that must be rejected, and returns them with the reason.
    fn reject(
        &mut self,
        side: usize,
        datagrams: impl IntoIterator<Item = rejected::Invalid>,
    ) -> Vec<Rejected> {
        let datagrams = datagrams.into_iter();
        let rejected = datagrams.map(|invalid| {
            self.parties[side].draws.set([&[0; KEY_LEN][..]]);
            let outputs = self.receive(side, invalid.path, &invalid.bytes);
            let reason = outputs.rejected();
            assert!(outputs.sent().is_empty() && !outputs.is_authenticated());
            Rejected {
                name: invalid.name.to_owned(),
                receiver: self.names[side].to_owned(),
                path: invalid.path,
                datagram: invalid.bytes.into(),
                reason: reason.map_or("none", Reject::name).to_owned(),
            }
        });
        rejected.collect()
    }

    /// Answers an initiation, completes the handshake and confirms its keys.
    fn complete(
        &mut self,
        name: &str,
        own: &SideDraws,
        initiation: &Bytes,
        invalid: impl FnOnce(&Bytes) -> Vec<rejected::Invalid>,
    ) -> SessionVector {
        let draws = SideDraws::new(self.names[1], self.run, name);
        self.parties[1].draws.set(draws.all());
        let sent = self.receive(1, 0, initiation).sent();
        assert_eq!(sent.len(), usize::from(PATHS), "one on each path");
        let datagram = sent[0].datagram.clone();
        let mut response = draws.response(PATHS, &datagram);
        response.rejected = self.reject(0, invalid(&datagram));
        let sent = self.receive(0, 0, &datagram).sent();
        let names = self.names;
        let transport = hellos(names, sent, |side, sent| {
            self.receive(side, sent.path.0, &sent.datagram).sent()
        });
        SessionVector {
            name: name.to_owned(),
            renews: None,
            initiator: names[0].to_owned(),
            responder: names[1].to_owned(),
            psk: Hex(self.psk.clone()),
            cookie_reply: None,
            initiation: own.initiation(self.now, PATHS, initiation),
            response,
            transport,
            rejected: vec![],
            accepted_after: vec![],
        }
    }

    /// Delivers a frame from one side to the other.
    fn exchange(&mut self, side: usize, path: u8, name: &str, frame: &[u8]) -> TransportVector {
        let datagram = self.parties[side].seal(self.now, path, frame);
        let opened = self.receive(1 - side, path, &datagram).opened();
        assert_eq!(opened.as_deref(), Some(frame));
        transport(name, self.names[side], frame, &datagram)
    }

    /// A session without an earlier one, and a datagram of it that is not delivered.
    fn first_session(&mut self) -> (SessionVector, Bytes) {
        let name = "first";
        let draws = SideDraws::new("a", self.run, name);
        let initiation = self.initiate(&draws);
        let (a, b) = (self.public(0), self.public(1));
        let invalid = rejected::initiations(&initiation, &b);
        let before = self.reject(1, invalid);
        let mut session = self.complete(name, &draws, &initiation, |response| {
            rejected::responses(response, &a)
        });
        session.initiation.rejected = before;
        for (number, frame) in (0_u8..).zip(frames::vectors()) {
            let (side, path) = (usize::from(number / 2 % 2), number % 2);
            let name = format!("frame: {}", frame.name);
            let sent = self.exchange(side, path, &name, &frame.bytes.0);
            session.transport.push(sent);
        }
        let inner = self.parties[0].seal(self.now, 1, &frames::data());
        let skipped = self.skip(1, 5000);
        let ahead = self.exchange(
            0,
            1,
            "a counter of two bytes, after 5000 lost",
            &frames::data(),
        );
        let unseen = self.parties[0].seal(self.now, 1, &frames::data());
        let seen = ahead.datagram.0.clone();
        session.transport.push(ahead);
        session.rejected = self.reject(
            1,
            rejected::datagrams(&initiation, &unseen, &seen, &skipped),
        );
        let copy = Bytes::copy_from_slice(&session.response.datagram.0);
        session
            .rejected
            .extend(self.reject(0, rejected::late_responses(&copy)));
        let late = self.receive(1, 1, &unseen).opened();
        assert_eq!(late.as_deref(), Some(&frames::data()[..]));
        let name = "its altered copies left no trace";
        session.accepted_after = vec![
            transport(name, "a", &frames::data(), &unseen),
            self.exchange(1, 0, "the other direction", &frames::data()),
        ];
        (session, inner)
    }

    /// Seals frames that are lost, and returns the first of their datagrams.
    fn skip(&mut self, path: u8, count: usize) -> Bytes {
        let mut seal = || self.parties[0].seal(self.now, path, &frames::data());
        let first = seal();
        (1..count).for_each(|_| drop(seal()));
        first
    }

    /// The session that the initiator renews when its keys are 120 s old.
    fn renewal(&mut self, first: &SessionVector) -> SessionVector {
        let name = "renewal";
        self.now = Time::ZERO + Duration::from_secs(120);
        let late = self.parties[0].seal(self.now, 1, &frames::data());
        let draws = SideDraws::new("a", self.run, name);
        let initiation = self.initiate(&draws);
        let mut session = self.complete(name, &draws, &initiation, |_| vec![]);
        let opened = self.receive(1, 1, &late).opened();
        assert_eq!(opened.as_deref(), Some(&frames::data()[..]));
        let retired = transport("under the retired keys", "a", &frames::data(), &late);
        session.renews = Some(first.name.clone());
        session.initiation.session_secret = Some(first.response.secret.clone());
        session
            .transport
            .push(self.exchange(1, 1, "frame: data", &frames::data()));
        session.transport.push(retired);
        session
    }
}

/// A handshake with a responder that has no budget for it without a cookie.
fn session_with_cookie() -> SessionVector {
    let (name, run) = ("with a cookie", " in another run");
    let mut pair = Pair::new(["a", "b"], run, NO_PSK.to_vec());
    let own = public_key("b");
    pair.parties[1].exhaust(pair.now, &own);
    let draws = SideDraws::new("a", run, name);
    let initiation = pair.initiate(&draws);
    let secret = draw("cookie secret", KEY_LEN);
    pair.parties[1].draws.set([&secret[..]]);
    let outputs = pair.receive(1, 0, &initiation);
    assert_eq!(outputs.rejected(), Some(Reject::CookieRequired));
    let reply = outputs.sent()[0].datagram.clone();
    let rejected = pair.reject(0, rejected::cookie_replies(&reply));
    let repeated = pair.receive(0, 0, &reply).sent();
    let mut session = pair.complete(name, &draws, &repeated[0].datagram, |_| vec![]);
    session.initiation.cookie = Some(reply[1..=MAC_LEN].into());
    session.cookie_reply = Some(CookieVector {
        initiation: initiation.into(),
        source: SOURCES[0].to_owned(),
        source_bytes: Hex(source_bytes(SOURCES[0])),
        secret: Hex(secret),
        datagram: reply.into(),
        rejected,
    });
    session
}

/// A handshake with a pre-shared key, and the response of a node that has none.
fn session_with_psk() -> SessionVector {
    let (name, run) = ("with a pre-shared key", " in a third run");
    let nodes = |psk| Pair::new(["a", "b"], run, psk);
    let (mut pair, mut without) = (
        nodes(draw("pre-shared key", KEY_LEN)),
        nodes(NO_PSK.to_vec()),
    );
    let draws = SideDraws::new("a", run, name);
    let initiation = pair.initiate(&draws);
    let other = SideDraws::new("b", run, "without a pre-shared key");
    without.parties[1].draws.set(other.all());
    let response = without.receive(1, 0, &initiation).sent()[0]
        .datagram
        .clone();
    let mut session = pair.complete(name, &draws, &initiation, |_| {
        vec![rejected::without_psk(response)]
    });
    let sent = pair.exchange(0, 0, "frame: data", &frames::data());
    session.transport.push(sent);
    session
}

/// Exchanges hellos until none is left, from those that the initiator sends.
fn hellos(
    names: [&str; 2],
    first: Vec<Sent>,
    mut deliver: impl FnMut(usize, &Sent) -> Vec<Sent>,
) -> Vec<TransportVector> {
    let mut queue: VecDeque<_> = first.into_iter().map(|sent| (0, sent)).collect();
    let mut vectors = Vec::new();
    while let Some((sender, sent)) = queue.pop_front() {
        let (name, plaintext) = match sent.datagram.len() - OVERHEAD {
            0 => ("hello", &[][..]),
            _ => ("answer to a hello", &[1][..]),
        };
        vectors.push(transport(name, names[sender], plaintext, &sent.datagram));
        let replies = deliver(1 - sender, &sent);
        queue.extend(replies.into_iter().map(|sent| (1 - sender, sent)));
    }
    vectors
}

fn transport(name: &str, sender: &str, plaintext: &[u8], datagram: &Bytes) -> TransportVector {
    let Ok(Datagram::Transport(parsed)) = datagram::parse(datagram) else {
        panic!("not a transport datagram");
    };
    // The counters of these sessions are not truncated.
    let nonce = (0..PATHS).find_map(|path| parsed.nonce(PathId(path), 0).ok());
    let Nonce { path, counter } = nonce.unwrap();
    TransportVector {
        name: name.to_owned(),
        sender: sender.to_owned(),
        path: path.0,
        counter,
        plaintext: plaintext.into(),
        datagram: datagram.into(),
    }
}
