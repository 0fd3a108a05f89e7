//! Sessions whose random draws are chosen.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Wake, step};
use polypath_core::packet::TrafficClass;
use polypath_core::time::Time;

use crate::address::Source;
use crate::datagram::{INITIATION, INITIATION_LEN, SESSION_MAC_OFFSET};
use crate::entropy::{Entropy, EntropyError};
use crate::event::{Reject, SessionEvent};
use crate::key::{KEY_LEN, PresharedKey, PrivateKey, PublicKey};
use crate::mac::{MAC_LEN, MacKey};
use crate::session::{Input, Output, Session, SessionConfig};

/// The number of paths of a node.
pub(super) const PATHS: u8 = 2;
/// The pre-shared key of sessions that have none.
pub(super) const NO_PSK: [u8; KEY_LEN] = [0; KEY_LEN];
/// The wall clock of every node at its start: 2026, in nanoseconds since 1970.
pub(super) const WALL: u64 = 1_790_000_000_000_000_000;
/// The budget of initiations of unknown senders (docs/protocol.md).
const STRANGERS: u32 = 20;

/// The draws of a session by their length; without one of the requested length it has no entropy.
#[derive(Clone, Default)]
pub(super) struct Draws(Arc<Mutex<BTreeMap<usize, Vec<u8>>>>);

impl Draws {
    /// Replaces the draws.
    pub(super) fn set<'a>(&self, draws: impl IntoIterator<Item = &'a [u8]>) {
        let draws = draws.into_iter().map(|draw| (draw.len(), draw.to_vec()));
        *self.0.lock().unwrap() = draws.collect();
    }
}

impl Entropy for Draws {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        let draws = self.0.lock().unwrap();
        bytes.copy_from_slice(draws.get(&bytes.len()).ok_or(EntropyError)?);
        Ok(())
    }
}

/// The private key with these bytes.
pub(super) fn private_key(bytes: &[u8]) -> PrivateKey {
    let mut draws = Draws::default();
    draws.set([bytes]);
    PrivateKey::generate(&mut draws).unwrap()
}

/// The configuration of a node's session with the peer; without a pre-shared key, `psk` is zero.
pub(super) fn config(own: &[u8], peer: PublicKey, psk: &[u8]) -> SessionConfig {
    let preshared_key = (psk != NO_PSK).then(|| {
        let mut draws = Draws::default();
        draws.set([psk]);
        PresharedKey::generate(&mut draws).unwrap()
    });
    SessionConfig {
        preshared_key,
        reachable: vec![true; usize::from(PATHS)],
        wall_clock: WALL,
        receives_ecn: true,
        ..SessionConfig::new(private_key(own), peer)
    }
}

/// One side of a session.
pub(super) struct Party {
    pub(super) session: Session,
    pub(super) draws: Draws,
}

impl Party {
    /// A node in a session with another.
    pub(super) fn node(config: SessionConfig) -> Self {
        let draws = Draws::default();
        let session = Session::new(config, Box::new(draws.clone()));
        Self { session, draws }
    }

    /// A node in its session with a relay.
    pub(super) fn of_relay(config: &SessionConfig, relay: PublicKey) -> Self {
        let draws = Draws::default();
        let session = Session::with_relay(config.with_relay(relay), Box::new(draws.clone()));
        Self { session, draws }
    }

    fn wake(&mut self, now: Time, wake: Wake<Input>) -> Outputs {
        let mut outputs = Vec::new();
        step(&mut self.session, now, wake, &mut |output| {
            outputs.push(output);
        });
        Outputs(outputs)
    }

    pub(super) fn initiate(&mut self, now: Time) -> Outputs {
        self.wake(now, Wake::Timeout)
    }

    pub(super) fn receive(
        &mut self,
        now: Time,
        path: u8,
        source: &str,
        datagram: &[u8],
    ) -> Outputs {
        let input = Input::Datagram {
            path: PathId(path),
            source: source.parse::<SocketAddr>().unwrap().into(),
            datagram: Bytes::copy_from_slice(datagram),
        };
        self.wake(now, Wake::Input(input))
    }

    /// The datagram that carries `frame`.
    pub(super) fn seal(&mut self, now: Time, path: u8, frame: &[u8]) -> Bytes {
        let input = Input::Seal {
            path: PathId(path),
            frame: Bytes::copy_from_slice(frame),
            traffic_class: TrafficClass::DEFAULT,
        };
        let sent = self.wake(now, Wake::Input(input)).sent();
        sent[0].datagram.clone()
    }

    /// Spends this node's budget for initiations of unknown senders on path 0.
    pub(super) fn exhaust(&mut self, now: Time, own: &PublicKey) {
        for number in 0..STRANGERS {
            let mut junk = [0; INITIATION_LEN];
            junk[0] = INITIATION;
            junk[1..5].copy_from_slice(&number.to_be_bytes());
            renew_mac(&mut junk[..SESSION_MAC_OFFSET], own);
            self.draws.set([&[0; 32][..]]);
            let outputs = self.receive(now, 0, "198.51.100.1:9", &junk);
            assert_eq!(outputs.rejected(), Some(Reject::Undecryptable));
        }
    }
}

/// Writes the MAC of a handshake message to `to` at the end of `bytes`.
pub(super) fn renew_mac(bytes: &mut [u8], to: &PublicKey) {
    let covered = bytes.len() - MAC_LEN;
    let tag = MacKey::of_handshakes_to(to).tag(&[&bytes[..covered]]);
    bytes[covered..].copy_from_slice(&tag);
}

/// The bytes of the source of a datagram that a cookie covers.
pub(super) fn source_bytes(source: &str) -> Vec<u8> {
    let source: Source = source.parse::<SocketAddr>().unwrap().into();
    source.as_bytes().to_vec()
}

/// The outputs of one wake.
#[derive(Debug)]
pub(super) struct Outputs(Vec<Output>);

/// A datagram to the peer.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) path: PathId,
    pub(super) datagram: Bytes,
}

impl Outputs {
    pub(super) fn sent(&self) -> Vec<Sent> {
        let sent = self.0.iter().filter_map(|output| match output.clone() {
            Output::Send { path, datagram, .. } | Output::Reply { path, datagram } => {
                Some(Sent { path, datagram })
            }
            _ => None,
        });
        sent.collect()
    }

    pub(super) fn rejected(&self) -> Option<Reject> {
        self.0.iter().find_map(|output| match output {
            Output::Event(SessionEvent::Rejected { reason, .. }) => Some(*reason),
            _ => None,
        })
    }

    pub(super) fn opened(&self) -> Option<Bytes> {
        self.0.iter().find_map(|output| match output {
            Output::Opened { frame, .. } => Some(frame.clone()),
            _ => None,
        })
    }

    pub(super) fn is_authenticated(&self) -> bool {
        let is_authenticated = |output: &Output| matches!(output, Output::Authenticated { .. });
        self.0.iter().any(is_authenticated)
    }
}
