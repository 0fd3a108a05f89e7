//! Two whole nodes over a simulated network, and all that can go wrong between them, from one seed.
//!
//! # The model
//!
//! A node is what `polypath node` is but for its sockets: a [`Tunnel`](polypath_session::tunnel::Tunnel), and the address
//! of the peer on each path. Some paths go by a [`Relay`](polypath_session::relay::Relay). Datagrams cross a [`World`](polypath_sim::World), and what leaves that is lost, changed,
//! copied or held back as the [`schedule`] says. Nodes stop and start anew, with clocks that were set and keys that are
//! not theirs, and move to other addresses; relays stop and start, too. A [`stranger`] hears all and sends what it likes. The schedule is drawn from
//! the seed before it begins, so that what is promised is known without asking those who have to keep it.
//!
//! # What must hold
//!
//! * No packet is delivered twice, and none that the peer's applications did not send, bit for bit.
//! * Every packet arrives that is sent while the paths that its sender's policy uses live in both directions, as
//!   [`Schedule::promises`](schedule::Schedule::promises) says, and nothing befalls either node.
//! * No node takes packets to cross a path that are longer than what does, and of paths that live it finds out what does.
//! * Nothing follows from a datagram that is forged, changed or taken before: no reply, no delivery, no new address. A
//!   handshake that was taken before the node started anew is answered, and nothing else.
//! * A node sends only to addresses that its configuration gives, or from which the peer proved its key in this run; but for
//!   the answer to a handshake, which goes to where that came from.
//! * A relay sends only to addresses from which a node proved its key in this run, and on to others no more than came.
//! * A node holds no more than [it may](polypath_session::tunnel::Tunnel::capacity), and a relay no more than
//!   [`CAPACITY`](polypath_session::relay::CAPACITY), whatever comes.
//! * The deadline of a machine that was woken for it moves on.
//!
//! They are checked as it goes, against what the harness knows and the nodes do not. That they can fail is shown by nodes
//! that are broken on purpose ([`sabotage`]).

pub mod ledger;
pub mod network;
pub mod node;
pub mod packet;
pub mod parcel;
pub mod sabotage;
pub mod schedule;
pub mod stranger;
pub mod tally;
pub mod trace;
pub mod violation;

mod many;
mod run;

pub use many::run_many;
pub use run::{Failure, Options, Outcome, run};
