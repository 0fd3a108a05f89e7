//! Two whole nodes over a simulated network, under faults drawn from one seed. The [`streams`] over
//! TCP connections have schedules of their own.
//!
//! # Model
//!
//! A node is `polypath node` without its sockets: a [`Tunnel`](polypath_session::tunnel::Tunnel),
//! and the address of the peer on each path. Some paths use a
//! [`Relay`](polypath_session::relay::Relay). Datagrams cross a [`World`](polypath_sim::World); its
//! output is then lost, corrupted, duplicated or reordered according to the [`schedule`]. Nodes
//! stop and restart, with changed clocks and wrong keys, and move to other addresses; relays
//! restart as well. An [`attacker`] observes all datagrams and sends arbitrary ones. The schedule
//! is drawn from the seed before the run begins, so the packets that must arrive are known
//! independently of the nodes.
//!
//! # Invariants
//!
//! * No packet is delivered twice, and only packets that the peer's applications sent, bit for bit.
//! * A packet arrives if the paths that its sender's policy uses work in both directions and
//!   neither node is disturbed ([`Schedule::must_deliver`](schedule::Schedule::must_deliver)).
//! * No node assumes a path MTU larger than the real one, and on working paths it discovers that.
//! * A forged, modified or replayed datagram has no effect: no reply, no delivery, no new address.
//!   The only exception is an initiation replayed from before a node's restart, which is answered.
//! * A node sends only to addresses that its configuration contains or from which the peer has
//!   proved its key in this run, except for the response to an initiation, which goes to the source
//!   address.
//! * A relay sends only to addresses from which a node has proved its key in this run, and forwards
//!   no more bytes than it received.
//! * A node buffers at most its [capacity](polypath_session::tunnel::Tunnel::capacity), and a relay
//!   at most [`CAPACITY`](polypath_session::relay::CAPACITY), whatever they receive.
//! * The deadline of a machine advances whenever it was woken for it.
//!
//! The invariants are checked during the run against knowledge that the nodes do not have. Nodes
//! with deliberate defects show that each check can fail ([`mutants`]).

pub mod attacker;
pub mod coverage;
pub mod datagram;
pub mod ledger;
pub mod mutants;
pub mod network;
pub mod node;
pub mod packet;
pub mod schedule;
pub mod streams;
pub mod trace;
pub mod violation;

mod parallel;
mod run;

pub use parallel::{run_many, run_many_streams};
pub use run::{Failure, Options, Outcome, run};
