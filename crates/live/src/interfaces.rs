//! Network interfaces, their addresses and routes, and the binding of paths to them.
//!
//! Interfaces come and go while a node runs. [`monitor`] learns of that through [`netlink`], reads
//! the whole state of the `network`, assigns uplinks to paths ([`uplink`], under `paths = "auto"`)
//! and rebinds the sockets of the paths that are affected (`binding`).

mod binding;
pub(crate) mod log;
pub(crate) mod monitor;
pub(crate) mod netlink;
mod network;
pub(crate) mod uplink;
