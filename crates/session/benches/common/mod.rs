//! The sessions of the benchmarks.

use polypath_core::rng::Seed;
use polypath_session::key::PrivateKey;
use polypath_session::session::{Limits, SessionConfig};

/// The configuration of a session of one path between two names.
pub(crate) fn config(own: &str, peer: &str) -> SessionConfig {
    let key = |name: &str| PrivateKey::generate(&mut Seed(1).stream(name)).expect("never fails");
    SessionConfig {
        reachable: vec![true],
        max_datagram: 1500,
        wall_clock: 1,
        limits: Limits::default(),
        ..SessionConfig::new(key(own), key(peer).public())
    }
}
