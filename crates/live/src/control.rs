//! Control of a running node or relay: its control socket, metrics, reloads and the thread that
//! serves them.
//!
//! None of it runs on the packet thread. The control thread (`thread`) waits for clients of the
//! control socket (`socket`), for a request to reload (`reload`) and for changes of the network's
//! interfaces (`interfaces`). The HTTP server (`http`) serves the `metrics`. Both ask the packet
//! thread for counters and for changes through a queue of `commands`. Both limit their clients by
//! source (`connections`).

pub(crate) mod change;
pub(crate) mod commands;
mod connections;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod http;
pub(crate) mod listeners;
mod metrics;
pub(crate) mod reload;
pub(crate) mod socket;
pub(crate) mod thread;

pub use reload::ReloadHandle;
pub use socket::{
    ControlError, MAX_REQUEST, StatusError, VERSION, directories, is_answered, sockets, status,
};
