//! The lab: runs a scenario between real programs in real time.
//!
//! Every scheme has a network of its own: two anonymous network namespaces that a simulated network
//! ([`emulation`]) connects. Its links, queues and background traffic are those of the simulator; a
//! TUN device represents each end of a path. In the namespaces run two unmodified `polypath node`
//! processes, an HTTP server and an HTTP client, over the kernel's TCP. All schemes run
//! concurrently with the same background seed; each round of transfers starts in all of them at
//! once.
//!
//! *Hosts.* The kernel's TCP receives from the scenario the settings that a route can carry:
//! congestion control, segment size, initial window, receiver window and minimum retransmission
//! timeout. The rest (SACK, timestamps, RACK, delayed ACKs) is the kernel's own, as in a
//! deployment.
//!
//! *Time.* Real time starts where the background's warm-up ends: the worlds are warmed up in
//! virtual time first, so that time zero of the run precedes the start of the process. Nodes,
//! emulation and report share that time.
//!
//! *Lateness.* From the first transfer to the last, the lab measures the lateness of each packet
//! that leaves the simulated network and of each wake of the emulation's thread. If the larger of
//! the two 99th percentiles exceeds the scenario's bound, the run is invalid; the bound is five
//! times wider if the system refuses a real-time priority.
//!
//! *Cleanup.* Nothing is left behind: namespaces and devices exist while descriptors and processes
//! hold them, the programs die with the lab even if it is killed, and files are in a temporary
//! directory, which the next lab removes if this one was killed.

mod addressing;
pub mod bulk;
mod connections;
pub mod downloads;
pub mod emulation;
mod endpoints;
mod error;
pub mod failover;
pub mod flow;
mod groups;
mod host_tcp;
mod http;
pub mod interrupt;
pub mod media;
mod mptcp;
pub mod namespace;
pub mod network;
mod node_pair;
mod node_process;
pub mod node_thread;
mod preflight;
pub mod process;
mod processor_clock;
mod program;
mod run;
mod running;
mod scheme_programs;
mod settle;
pub mod silence;
pub mod sources;
pub mod spaced;
pub mod streams;
mod tcp;
mod transfer_file;
mod udp;

pub use endpoints::Endpoints;
pub use error::LabError;
pub use preflight::{LabCapabilities, PreflightError, can_test, enter_user_namespace, preflight};
pub use run::{Lab, LabOptions, Progress, run};
