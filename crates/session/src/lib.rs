//! Authenticated, encrypted sessions over several paths: machines without I/O, clock or entropy.
//!
//! A [`session::Session`] connects two nodes that know each other's static public keys. It derives
//! keys with the Noise protocol (pattern IK), seals each frame for the path that carries it, opens
//! received datagrams, and renews its keys without an interruption. A [`tunnel::Tunnel`] adds the
//! endpoint of `polypath-core`: IP packets on one side, datagrams on the other. A [`relay::Relay`]
//! connects two nodes on a path through a third machine, which has a session with each of them and
//! cannot read their traffic.
//!
//! Keys, entropy and the wall clock are arguments ([`session::SessionConfig`],
//! [`entropy::Entropy`]), so that two whole nodes run over a simulated network from one seed.
//! [`datagram`] specifies the wire format.

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
mod mac;
mod noise;
