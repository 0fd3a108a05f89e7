//! A scenario between real programs, in real time.
//!
//! Every scheme gets a network of its own: two network namespaces without a name, joined by a simulated
//! network ([`emulation`]) whose links, queues and background traffic are those of the simulator, behind
//! a TUN device for every end of a path. In the namespaces run two unmodified `polypath node` processes,
//! an HTTP server and an HTTP client, over the kernel's TCP. All schemes run side by side, with the same
//! background seed; each round of transfers starts in all of them at once.
//!
//! *Hosts.* The kernel's TCP gets from the scenario what a route can tell it: the congestion control, the
//! segment size, the initial window, the receiver window and the least retransmission timeout. The rest
//! (SACK, timestamps, RACK, delayed ACKs) is the kernel's own, as in a deployment.
//!
//! *Time.* Real time starts where the background's warm-up ends: the worlds are warmed up in virtual time
//! first, so that time zero of the run lies before the start of the process. Nodes, emulation and report
//! share that time.
//!
//! *Lateness.* Each packet's departure from the simulated network is compared with the time at which it
//! was due, and each wake of the emulation's thread with the time for which it was asked, from the first
//! transfer to the last. Where the later of the two has its 99th percentile above the scenario's bound, the
//! run is invalid; the bound is five times wider where the system refuses a real-time priority.
//!
//! *What is left behind.* Nothing: the namespaces and devices live as long as descriptors and processes
//! do, the programs die with the lab even if it is killed, and the files stand in a temporary directory,
//! which the next lab removes where this one was killed.

mod addressing;
pub mod emulation;
mod endpoints;
mod error;
pub mod failover;
pub mod flow;
mod host_tcp;
mod http;
pub mod interrupt;
pub mod namespace;
pub mod network;
mod node_process;
pub mod node_thread;
mod preflight;
mod program;
mod run;
mod scheme_programs;
pub mod silence;
mod transfer_file;

pub use endpoints::Endpoints;
pub use error::LabError;
pub use preflight::{LabCapabilities, PreflightError, can_test, enter_user_namespace, preflight};
pub use run::{Lab, LabOptions, Progress, run};
