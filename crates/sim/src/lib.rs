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
//! *Known differences from ns-2.* A packet that finishes at t still has its place when another arrives at t
//! (ns-2: by the order of scheduling, which is mostly the same). A lazy timer takes its place among events of equal time when it was
//! last renewed, not when it was set. Sessions of a background host use one sink, whatever connection
//! they are. The measured transfers have an explicit set-up and a request from the client.
//!
//! *How near it comes.* One flow of each variant, with and without delayed ACKs, over 10 Mbit/s and 20 ms
//! with queues of 20, 50 and 100 packets, and with random losses up to 3 %: goodput within 3 % of ns-2 2.35,
//! drops and retransmissions within 10 %; many flows, bursts and chains likewise (`polypath validate`); many rows agree to the packet. The single-path baseline
//! of the PPD paper (5 links, 20 hosts a node), beside the same network in ns-2 (`validation/ns2/sessions.tcl`),
//! two seeds of 200 transfers each; the standard error of the mean is 5 %:
//!
//! | TCP idle, UDP off | load, ns-2 | load | loss, ns-2 | loss | mean, ns-2 | mean |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | 1.5 s, 3.5 s | .592 | .595 | 0.2 % | 0.2 % | 2.0 s | 2.0 s |
//! | 0.8 s, 2.5 s | .751 | .755 | 1.5 % | 1.6 % | 2.8 s | 2.7 s |
//! | 0.6 s, 2.0 s | .818 | .818 | 3.1 % | 3.1 % | 4.0 s | 4.0 s |
//! | 0.4 s, 1.5 s | .879 | .879 | 5.9 % | 5.8 % | 7.1 s | 6.9 s |
//! | 0.25 s, 1.1 s | .923 | .922 | 9.9 % | 9.9 % | 15.4 s | 15.7 s |
//! | 0.17 s, 0.85 s | .949 | .949 | 13.8 % | 13.9 % | 34.4 s | 31.6 s |
//!
//! In ns-2 an agent that is used for one session after another keeps `windowInit_` at 1 once the first packet
//! of a session was lost, unless it is set anew; the table sets it anew, as new connections have it. Left at 1,
//! the last two rows have losses of 9.1 and 13.1 % and means of 14 and 34 s.

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
pub use world::{
    Delays, Detail, FlowCounters, FlowPacket, LinkId, NetworkEvent, PortId, PortInput, Side, World,
    WorldOutput,
};
