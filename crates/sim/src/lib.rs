//! Packet-level simulation of paths, their background traffic and the transfers over them.
//!
//! [`run`] is all that a program needs: it takes a scenario and a seed, and reports events to an
//! [`Observer`]. There is no thread, no clock and no global; the same scenario and seed give the
//! same events in the same order on every platform, and the crate builds for
//! `wasm32-unknown-unknown`.
//!
//! A simulated network is a machine of its own, a [`World`] with ports, and what crosses it is the
//! driver's business: in a simulation the frames of two endpoints of the overlay with simulated TCP
//! behind them, in the lab the packets of real programs.
//!
//! # The model
//!
//! | part | module |
//! | --- | --- |
//! | links: queue, wire, delay, loss | [`polypath_link`] |
//! | order of events | [`calendar`] |
//! | TCP of the simulated hosts, and how it differs from RFC 5681 and from ns-2 | [`tcp`] |
//! | background sources | [`agents`] |
//! | nodes, links and flows | [`network`] |
//! | ports, and order at equal times | [`world`] |
//! | diversity routing, a round trip at a time | [`round_model`] |
//!
//! Sizes follow the conventions of ns-2, which the papers used: a data packet is exactly a segment
//! on every link, an ACK is 40 bytes, nothing is added below IP. Defaults are those of ns-2 2.35.
//!
//! *Known differences from ns-2.* A packet that finishes at t still has its place when another
//! arrives at t (ns-2: by the order of scheduling, which is mostly the same). A lazy timer takes
//! its place among events of equal time when it was last renewed, not when it was set. Sessions of
//! a background host use one sink, whatever connection they are. The measured transfers have an
//! explicit set-up and a request from the client.
//!
//! *How near it comes.* `polypath validate` holds it against theory and ns-2 2.35;
//! docs/VALIDATION.md has the table.
//!
//! In ns-2 an agent that is used for one session after another keeps `windowInit_` at 1 once the
//! first packet of a session was lost, unless it is set again: `validation/ns2/sessions.tcl` sets
//! it, as new connections have it.

pub mod agents;
pub mod calendar;
mod concurrent_downloads;
mod error;
mod event;
mod fabric;
mod flow;
mod host;
mod host_pairs;
pub mod network;
mod observer;
mod packet;
mod percentiles;
pub mod round_model;
mod route;
mod run;
mod scheme_run;
mod slab;
pub mod tcp;
mod timer;
pub mod world;

pub use agents::{AgentEvent, PathChange, SpacingEvent, StreamEvent, StreamState};
pub use concurrent_downloads::{
    ConcurrentDownloads, DownloadsRun, DownloadsSample, run_concurrent_downloads,
};
pub use error::RunError;
pub use flow::{BackgroundBytes, Delays, FlowCounters, SpanFiles};
pub use observer::{Observer, SimEvent};
pub use percentiles::DelayPercentiles;
pub use run::{
    FlowOutcome, LinkOutcome, LinkSummary, NetworkObserver, NetworkOutcome, Outcome, SchemeOutcome,
    StreamSpan, run, run_network,
};
pub use world::{
    Detail, FlowPacket, LinkId, LinkReport, NetworkEvent, PortId, PortInput, Side, World,
    WorldOutput,
};
