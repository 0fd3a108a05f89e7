//! The control socket, at which a running node answers requests for its status.
//!
//! **Protocol, version 1.** A Unix stream socket. The client sends requests, one JSON object per
//! line of at most [`MAX_REQUEST`] bytes; the node answers each with a JSON object on one line.
//!
//! ```text
//! > {"version":1,"request":"status"}
//! < {"version":1,"status":{...}}
//! > {"version":1,"request":"stats"}
//! < {"version":1,"error":{"reason":"unknown-request","message":"...","versions":[1],"requests":["status"]}}
//! ```
//!
//! `status` is [`Stats`](crate::stats::Stats) as `node --stats` writes it, with a version of its
//! own. Error reasons: `malformed`, `unknown-version`, `unknown-request`, `too-long` (the
//! connection is closed) and `busy` (the packet thread did not answer within 2 s, or there are too
//! many clients: then the oldest connection of the process that has the most is closed). A
//! connection is also closed after 10 s without a complete request. The version changes when a
//! field changes its meaning, not when one is added; clients ignore unknown fields.
//!
//! The socket has mode 0660: the node's user and group may connect.

mod address;
mod client;
mod listener;
mod server;

pub use address::{directories, sockets};
pub use client::{StatusError, is_answered, status};
pub use listener::ControlError;

pub(crate) use listener::ControlSocket;
pub(crate) use server::{refuse_client, serve};

/// The version of the protocol.
pub const VERSION: u32 = 1;
/// The longest request in bytes.
pub const MAX_REQUEST: usize = 4096;
/// The supported requests.
const REQUESTS: [&str; 1] = ["status"];
