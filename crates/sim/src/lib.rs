//! Packet-level simulation of paths, their background traffic and the transfers over them.
pub mod calendar;
mod fabric;
pub mod network;
mod route;
mod slab;
pub mod tcp;
mod timer;
pub mod traffic;
pub mod world;
pub use world::{PortId, PortInput, Side, World, WorldOutput};
