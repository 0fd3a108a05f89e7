//! Packet-level simulation of paths, their background traffic and the transfers over them.
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
pub use run::{LinkSummary, Outcome, RunError, SchemeOutcome, run};
pub use world::{PortId, PortInput, Side, World, WorldOutput};
