//! Packet-level simulation of paths, their background traffic and the transfers over them.
//!
//! [`run`] is all that a program needs: it takes a scenario and a seed, and says what happens to an
//! [`Observer`]. There is no thread, no clock and no global; the same scenario and seed give the same
//! events in the same order on every platform, and the crate builds for `wasm32-unknown-unknown`.
//!
//! A simulated network is a machine of its own, a [`World`] with ports, and what crosses it is the
//! driver's business: in a simulation the frames of two endpoints of the overlay with simulated TCP
//! behind them, in the lab the packets of real programs.
//!
//! # The model
//!
//! | part | its module says |
//! | --- | --- |
//! | links: queue, wire, delay, loss | [`polypath_link`] |
//! | order of events | [`calendar`] |
//! | TCP of the simulated hosts, and how it differs from RFC 5681 and from ns-2 | [`tcp`] |
//! | background sources | [`traffic`] |
//! | who sends to whom over which links | [`network`] |
//! | ports, and order at equal times | [`world`] |
//!
//! Sizes follow the conventions of ns-2, which the papers used: a data packet is exactly a segment on
//! every link, an ACK is 40 bytes, nothing is added below IP. Defaults are those of ns-2 2.35.
//!
//! *Known differences from ns-2.* A packet that finishes at t frees its place for one that arrives at t
//! (ns-2: by the order of scheduling). A lazy timer takes its place among events of equal time when it was
//! last renewed, not when it was set. Sessions of a background host use one sink, whatever connection
//! they are. The measured transfers have an explicit set-up and a request from the client.
//!
//! *How near it comes.* One Reno flow over 10 Mbit/s and 20 ms with queues of 20, 50 and 100 packets:
//! goodput within 3 %, drops and retransmissions within 10 % of ns-2 2.35 are tested
//! (`tests/single_flow.rs`); a run gave 0.5 % and 5 %. The single-path baseline of the PPD paper (5 links, 20
//! hosts a node), one run with seed 1 and 200 transfers. At loads above .9 our paths are slightly more loaded
//! and markedly slower than ns-2's; the cause is not established:
//!
//! | TCP idle, UDP off | load, ns-2 | load | loss, ns-2 | loss | mean, ns-2 | mean |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | 1.5 s, 3.5 s | .586 | .574 | 0.2 % | 0.1 % | 2.0 s | 2.0 s |
//! | 0.8 s, 2.5 s | .755 | .739 | 1.7 % | 1.5 % | 2.9 s | 2.8 s |
//! | 0.6 s, 2.0 s | .810 | .809 | 2.8 % | 3.0 % | 4.4 s | 3.9 s |
//! | 0.4 s, 1.5 s | .869 | .873 | 5.5 % | 5.7 % | 6.8 s | 7.1 s |
//! | 0.25 s, 1.1 s | .914 | .921 | 9.2 % | 9.6 % | 12.0 s | 15.1 s |
//! | 0.17 s, 0.85 s | .941 | .948 | 12.7 % | 13.6 % | 24.8 s | 34.1 s |

pub mod calendar;
mod fabric;
mod host;
mod lane;
pub mod network;
mod observer;
mod route;
mod run;
mod slab;
pub mod tcp;
mod timer;
pub mod traffic;
pub mod world;

pub use observer::{Observer, SimEvent};
pub use run::{
    FlowOutcome, LinkOutcome, LinkSummary, NetworkObserver, NetworkOutcome, Outcome, RunError,
    SchemeOutcome, run, run_network,
};
pub use world::{Delays, FlowCounters, PortId, PortInput, Side, World, WorldOutput};
