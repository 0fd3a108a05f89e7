//! A datagram that a relay forwards.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Wake, step};
use polypath_core::packet::TrafficClass;
use polypath_core::time::Time;
use polypath_core::units::Rate;

use super::{SideDraws, hellos, public_key, static_key, transport};
use crate::relay::{Input, Output, Relay, RelayConfig};
use crate::session::Limits;
use crate::tunnel::tests::vectors::format::{RelayedVector, SessionVector};
use crate::tunnel::tests::vectors::parties::{Draws, NO_PSK, Party, Sent, config, private_key};

const NODES: [&str; 2] = ["a", "b"];

/// A relay whose nodes are at the addresses 0 and 1.
pub(in super::super) struct RelayParty {
    relay: Relay<u32>,
    pub(in super::super) draws: Draws,
}

impl RelayParty {
    pub(in super::super) fn new(private: &[u8], nodes: [crate::key::PublicKey; 2]) -> Self {
        let draws = Draws::default();
        let config = RelayConfig {
            private_key: private_key(private),
            nodes,
            max_datagram: 1500,
            rate: Rate::from_mbits(1000),
            limits: Limits::default(),
            receives_ecn: true,
        };
        let relay = Relay::new(&config, [0, 1].map(|_| Box::new(draws.clone()) as _));
        Self { relay, draws }
    }

    /// The datagrams that follow from one of the node at address `from`, each with its destination.
    pub(in super::super) fn receive(&mut self, from: usize, datagram: &[u8]) -> Vec<Bytes> {
        let input = Input {
            source: u32::try_from(from).unwrap(),
            datagram: Bytes::copy_from_slice(datagram),
            traffic_class: TrafficClass::DEFAULT,
        };
        let mut sent = Vec::new();
        step(
            &mut self.relay,
            Time::ZERO,
            Wake::Input(input),
            &mut |output| {
                if let Output::Send { datagram, .. } = output {
                    sent.push(datagram);
                }
            },
        );
        sent
    }
}

/// The way of `inner` from `a` to `b`.
pub(super) fn vector(inner: &Bytes) -> RelayedVector {
    let mut relay = RelayParty::new(&static_key("r"), NODES.map(public_key));
    let relay_key = public_key("r");
    let mut nodes = NODES.map(|name| {
        let peer = public_key("b");
        Party::of_relay(&config(&static_key(name), peer, &NO_PSK), relay_key)
    });
    let sessions = [0, 1].map(|node| join(node, &mut nodes[node], &mut relay));
    let to_relay = nodes[0].seal(Time::ZERO, 0, inner);
    let forwarded = relay.receive(0, &to_relay);
    let opened = nodes[1]
        .receive(Time::ZERO, 0, RELAY, &forwarded[0])
        .opened();
    assert_eq!(opened.as_ref(), Some(inner));
    RelayedVector {
        sessions: sessions.into(),
        inner: inner.into(),
        to_relay: transport("to the relay", "a", inner, &to_relay),
        from_relay: transport("from the relay", "r", inner, &forwarded[0]),
    }
}

const RELAY: &str = "192.0.2.9:7101";

/// The handshake of a node with the relay, and the hellos.
fn join(node: usize, party: &mut Party, relay: &mut RelayParty) -> SessionVector {
    let name = format!("{} with the relay", NODES[node]);
    let draws = [NODES[node], "r"].map(|owner| SideDraws::new(owner, "", &name));
    party.draws.set(draws[0].all());
    let initiation = party.initiate(Time::ZERO).sent()[0].datagram.clone();
    relay.draws.set(draws[1].all());
    let response = relay.receive(node, &initiation)[0].clone();
    let mut to_party = |datagram: &[u8]| party.receive(Time::ZERO, 0, RELAY, datagram).sent();
    let first = to_party(&response);
    let transport = hellos([NODES[node], "r"], first, |side, sent| {
        if side == 0 {
            return to_party(&sent.datagram);
        }
        let replies = relay.receive(node, &sent.datagram).into_iter();
        let path = PathId(0);
        replies.map(|datagram| Sent { path, datagram }).collect()
    });
    SessionVector {
        name,
        renews: None,
        initiator: NODES[node].to_owned(),
        responder: "r".to_owned(),
        psk: NO_PSK.into(),
        cookie_reply: None,
        initiation: draws[0].initiation(Time::ZERO, 1, &initiation),
        response: draws[1].response(1, &response),
        transport,
        rejected: vec![],
        accepted_after: vec![],
    }
}
