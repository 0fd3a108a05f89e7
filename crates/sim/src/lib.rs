//! Packet-level simulation of paths, their background traffic and the transfers over them.
//!
//! [`run`] simulates transfers over paths, [`run_media`] a media stream, [`run_network`] a network of
//! flows. They take the description and a seed; the first and the last report events to an observer. They start no thread, read no clock
//! and have no global state. The same description and seed give the same events in the same order
//! on every platform; the crate builds for `wasm32-unknown-unknown`.
//!
//! A simulated network is a machine of its own, a [`World`] with ports. Its driver decides what
//! crosses it: the frames of two overlay endpoints with simulated TCP behind them in a simulation,
//! the packets of real programs in the lab.
//!
//! # Model
//!
//! | part | module |
//! | --- | --- |
//! | links: queue, transmission, delay, loss | [`polypath_link`] |
//! | order of events | [`calendar`] |
//! | TCP of the simulated hosts, and its differences from RFC 5681 and ns-2 | [`tcp`] |
//! | traffic sources | [`agents`] |
//! | nodes, links and flows | [`network`] |
//! | ports, and the order of simultaneous events | [`world`] |
//! | diversity routing in rounds of one round-trip time | [`round_model`] |
//!
//! Packet sizes follow the conventions of ns-2, which the papers used: a data packet has the size
//! of its segment on every link, an ACK has 40 bytes, and there is no header below IP. Defaults are
//! those of ns-2 2.35.
//!
//! *Known differences from ns-2.* A packet whose transmission ends at t still occupies the queue
//! when another arrives at t (ns-2: by the order of scheduling, which usually gives the same
//! result). Among events of equal time, a lazy timer is ordered by its last renewal, not by when it
//! was first set. All sessions of a background host share one sink. The measured transfers begin
//! with an explicit connection set-up and a request from the client. An ns-2 agent that is reused
//! for another session keeps `windowInit_` at 1 after a loss of a session's first packet, unless a
//! script sets it again: `validation/ns2/sessions.tcl` does, as for new connections.
//!
//! *Accuracy.* `polypath validate` compares the simulator with theory and ns-2 2.35;
//! docs/VALIDATION.md has the table.

pub mod agents;
pub mod calendar;
mod concurrent_downloads;
mod error;
mod event;
mod fabric;
mod flow;
mod host;
mod host_group;
mod host_pairs;
mod media;
pub mod network;
mod observer;
mod packet;
mod percentiles;
pub mod round_model;
mod route;
mod run;
mod scheme_run;
mod senders;
mod slab;
pub mod tcp;
mod timer;
mod transfer_hosts;
pub mod world;

pub use agents::{AgentEvent, PathChange, SpacingEvent, StreamEvent, StreamState};
pub use concurrent_downloads::{
    ConcurrentDownloads, DownloadsRun, DownloadsSample, run_concurrent_downloads,
};
pub use error::RunError;
pub use flow::{BackgroundBytes, Delays, DueDatagrams, FlowCounters, SpanFiles};
pub use media::{
    DelayQuantiles, Delivery, MEDIA_DRAIN, MediaOutcome, PathBytes, WireCount, WireKind, WireUse,
    media_start, run_media, run_media_observed,
};
pub use observer::{Observer, SimEvent};
pub use percentiles::DelayPercentiles;
pub use run::{
    FlowOutcome, LinkOutcome, LinkSummary, NetworkObserver, NetworkOutcome, Outcome, SchemeOutcome,
    StreamSpan, run, run_network,
};
pub use senders::{PathChoices, PathLoad, SendersOutcome, SendersTotals};
pub use world::{
    Detail, FlowPacket, LinkId, LinkReport, NetworkEvent, PortId, PortInput, Side, World,
    WorldOutput,
};
