//! The foreground's real programs: an HTTP server and clients, both unmodified, over the kernel's TCP.

mod fetch;
mod server;

pub(crate) use fetch::{Fetch, FetchResult};
pub(crate) use server::Server;

#[cfg(test)]
mod tests;
