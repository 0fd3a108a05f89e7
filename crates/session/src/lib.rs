//! Authenticated, encrypted sessions over several paths: machines without I/O, clock or entropy.
//!
//! A [`session::Session`] joins two nodes that know each other's static public keys. It agrees on keys by
//! the Noise protocol (pattern IK), seals each frame for the path on which it goes, opens what arrives,
//! and renews its keys without a gap. A [`tunnel::Tunnel`] puts the endpoint of `polypath-core` on top: IP
//! packets on one side, datagrams on the other. A [`relay::Relay`] joins two nodes on a path that goes by a third
//! machine, which holds sessions with both and cannot read what they say.
//!
//! Keys, entropy and the wall clock are arguments ([`session::SessionConfig`], [`entropy::Entropy`]), so
//! that two whole nodes run over a simulated network from one seed. The form of the datagrams is in
//! [`datagram`].

pub mod address;
pub mod datagram;
pub mod entropy;
pub mod event;
pub mod gcra;
pub mod key;
pub mod record;
pub mod relay;
pub mod session;
pub mod tunnel;

mod arena;
mod handshake;
mod hello;
mod keypair;
mod keyring;
mod noise;
