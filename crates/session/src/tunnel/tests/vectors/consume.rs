//! The vectors as a receiver reads them: sessions and a relay of a file's keys get the file's
//! datagrams.

use std::collections::BTreeMap;

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};
use polypath_core::truncated::expand;
use polypath_core::wire;

use super::format::{
    FrameVector, Hex, InfoVector, Rejected, SessionVector, TransportVector, TruncatedVector,
    Vectors,
};
use super::generate::{RelayParty, SOURCES};
use super::parties::{Outputs, Party, config};
use crate::event::Reject;
use crate::key::PublicKey;

pub(super) fn check(vectors: &Vectors) {
    let mut parties = BTreeMap::new();
    for session in &vectors.sessions {
        let sides = parties.remove(&session.renews);
        let sides = sides.unwrap_or_else(|| vectors.new_parties(session));
        let now = Time::ZERO + Duration::from_secs(if session.renews.is_some() { 120 } else { 0 });
        let mut receiver = Receiver {
            session,
            sides,
            now,
        };
        receiver.check(vectors);
        parties.insert(Some(session.name.clone()), receiver.sides);
    }
    check_relayed(vectors);
    vectors.truncated.iter().for_each(check_truncated);
    for frame in &vectors.frames {
        check_frame(frame);
    }
    for frame in &vectors.rejected_frames {
        assert!(
            wire::decode(PathId(0), &frame.bytes.0).is_err(),
            "{}",
            frame.name
        );
    }
}

fn check_truncated(vector: &TruncatedVector) {
    let number = |bytes: &Hex| u64::from_be_bytes(bytes.0.as_slice().try_into().unwrap());
    let [truncated, lowest] = [&vector.truncated, &vector.lowest].map(number);
    let found = expand(truncated, lowest, vector.bits);
    assert_eq!(found, vector.number.as_ref().map(number), "{vector:?}");
}

/// A frame of the file decodes to its fields, and is encoded as in the file.
fn check_frame(frame: &FrameVector) {
    let decoded = wire::decode(PathId(0), &frame.bytes.0).unwrap();
    assert_eq!(decoded.epoch.0, u32::from(frame.epoch), "{}", frame.name);
    let sequence = decoded.sequence.to_be_bytes();
    assert_eq!(sequence[5..], frame.sequence.0, "{}", frame.name);
    let sent = (decoded.sent.0 / 1000).to_be_bytes();
    assert_eq!(sent[5..], frame.sent.0, "{}", frame.name);
    let mut again = Vec::new();
    wire::encode(&decoded, &mut again);
    assert_eq!(again, frame.bytes.0, "{}", frame.name);
    assert_eq!(again[0], frame.kind, "{}", frame.name);
    assert_eq!(again[wire::HEADER_LEN..], frame.body.0, "{}", frame.name);
}

impl Vectors {
    fn public(&self, name: &str) -> PublicKey {
        PublicKey(self.keys[name].public.0.as_slice().try_into().unwrap())
    }

    /// The initiator and the responder of a session without an earlier one.
    fn new_parties(&self, session: &SessionVector) -> [Party; 2] {
        let [a, b] = [&session.initiator, &session.responder];
        [[a, b], [b, a]].map(|[own, peer]| {
            let private = &self.keys[own].private.0;
            Party::node(config(private, self.public(peer), &session.psk.0))
        })
    }
}

/// The two sides of a session of the file.
struct Receiver<'a> {
    session: &'a SessionVector,
    sides: [Party; 2],
    now: Time,
}

impl Receiver<'_> {
    fn side(&self, name: &str) -> usize {
        usize::from(name == self.session.responder)
    }

    fn receive(&mut self, side: usize, path: u8, datagram: &[u8]) -> Outputs {
        self.sides[side].receive(self.now, path, SOURCES[1 - side], datagram)
    }

    fn reject(&mut self, rejected: &[Rejected]) {
        for Rejected {
            name,
            receiver,
            path,
            datagram,
            reason,
        } in rejected
        {
            let side = self.side(receiver);
            self.sides[side].draws.set([&[0; 32][..]]);
            let outputs = self.receive(side, *path, &datagram.0);
            assert_eq!(
                outputs.rejected().map(Reject::name),
                Some(&**reason),
                "{name}"
            );
            assert!(
                outputs.sent().is_empty() && !outputs.is_authenticated(),
                "{name}"
            );
        }
    }

    /// The receiver opens each datagram; a hello and its answer have no frame for the node.
    fn open(&mut self, transport: &[TransportVector]) {
        for vector in transport {
            let side = 1 - self.side(&vector.sender);
            let outputs = self.receive(side, vector.path, &vector.datagram.0);
            assert_eq!(outputs.rejected(), None, "{}", vector.name);
            assert!(outputs.is_authenticated(), "{}", vector.name);
            let frame = Some(&vector.plaintext.0[..]).filter(|frame| frame.len() > 1);
            assert_eq!(outputs.opened().as_deref(), frame, "{}", vector.name);
        }
    }

    fn check(&mut self, vectors: &Vectors) {
        let SessionVector {
            initiation,
            response,
            ..
        } = self.session;
        let draws = [
            &initiation.ephemeral_private.0[..],
            &initiation.info.instance.0,
            &index(&initiation.info),
        ];
        self.sides[0].draws.set(draws);
        // Without the initiation of its own it accepts no response.
        assert!(!self.sides[0].initiate(self.now).sent().is_empty());
        if let Some(cookie) = &self.session.cookie_reply {
            self.sides[1].exhaust(self.now, &vectors.public(&self.session.responder));
            self.sides[1].draws.set([&cookie.secret.0[..]]);
            let outputs = self.receive(1, 0, &cookie.initiation.0);
            assert_eq!(outputs.sent()[0].datagram, cookie.datagram.0);
            self.reject(&cookie.rejected);
            let repeated = self.receive(0, 0, &cookie.datagram.0).sent();
            assert_eq!(repeated[0].datagram, initiation.datagram.0);
        }
        self.reject(&initiation.rejected);
        let draws = [
            &response.ephemeral_private.0[..],
            &response.info.instance.0,
            &index(&response.info),
            &response.secret.0,
        ];
        self.sides[1].draws.set(draws);
        let answer = self.receive(1, 0, &initiation.datagram.0).sent();
        assert_eq!(answer[0].datagram, response.datagram.0);
        self.reject(&response.rejected);
        assert!(self.receive(0, 0, &response.datagram.0).is_authenticated());
        self.open(&self.session.transport);
        self.reject(&self.session.rejected);
        self.open(&self.session.accepted_after);
    }
}

fn index(info: &InfoVector) -> [u8; 4] {
    info.index.to_be_bytes()
}

/// A relay that has joined both nodes forwards the datagram bit for bit.
fn check_relayed(vectors: &Vectors) {
    let relayed = &vectors.relayed;
    let nodes = ["a", "b"].map(|name| vectors.public(name));
    let mut relay = RelayParty::new(&vectors.keys["r"].private.0, nodes);
    for (node, session) in relayed.sessions.iter().enumerate() {
        let response = &session.response;
        let draws = [
            &response.ephemeral_private.0[..],
            &response.info.instance.0,
            &index(&response.info),
            &response.secret.0,
        ];
        relay.draws.set(draws);
        let sent = relay.receive(node, &session.initiation.datagram.0);
        assert_eq!(sent, [response.datagram.0.as_slice()]);
        let hellos = session.transport.iter();
        for hello in hellos.filter(|hello| hello.sender == session.initiator) {
            relay.receive(node, &hello.datagram.0);
        }
    }
    let sent = relay.receive(0, &relayed.to_relay.datagram.0);
    assert_eq!(sent, [relayed.from_relay.datagram.0.as_slice()]);
}
