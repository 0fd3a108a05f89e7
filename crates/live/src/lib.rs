//! The live runtime: the only place with a clock, sockets, TUN devices, timers and key files.
//!
//! It drives the machines of the other crates and adds no mechanism of its own.

pub mod clock;
pub mod config;
pub mod control;
pub mod drive;
pub mod durations;
pub mod keys;
pub mod node;
pub mod notify;
pub mod priority;
pub mod privilege;
pub mod recording;
pub mod relay;
pub mod sources;
pub mod spaced;
pub mod stats;
pub mod tun;
pub mod udp;
pub mod udp_ports;

mod buffer;
mod deadline_stream;
mod interfaces;
mod output_file;
mod snapshot;
#[cfg(test)]
mod test_lock;
mod writer_thread;
