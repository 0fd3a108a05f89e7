//! The control socket: where a running node is asked for its state.
//!
//! **Protocol, version 1.** A Unix stream socket. The client sends requests, a JSON object on a line each, of at most
//! [`MOST_REQUEST`] bytes; the node answers each with a JSON object on a line.
//!
//! ```text
//! > {"version":1,"request":"status"}
//! < {"version":1,"status":{...}}
//! > {"version":1,"request":"stats"}
//! < {"version":1,"error":{"reason":"unknown-request","message":"...","versions":[1],"requests":["status"]}}
//! ```
//!
//! `status` is [`Stats`](crate::stats::Stats) as `node --stats` writes it, with a version of its own. Reasons of errors:
//! `malformed`, `unknown-version`, `unknown-request`, `too-long` (the connection ends), `busy` (the packet thread did
//! not answer within 2 s, or there are too many clients; in the latter case the connection ends). A connection ends,
//! too, after 10 s without a whole request. The version changes when a field changes its meaning, not when one is
//! added; a client ignores what it does not know.
//!
//! The socket has mode 0660: the node's user and group may ask.

mod address;
mod client;
mod listener;
mod server;

pub use address::{directories, sockets};
pub use client::{AskError, is_answered, status};
pub use listener::ControlError;

pub(crate) use listener::ControlSocket;
pub(crate) use server::{refuse_client, serve};

/// Version of the protocol.
pub const VERSION: u32 = 1;
/// Longest request, in bytes.
pub const MOST_REQUEST: usize = 4096;
/// The requests that there are.
const REQUESTS: [&str; 1] = ["status"];
