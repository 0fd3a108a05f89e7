//! The foreground traffic: an unmodified HTTP server and unmodified HTTP clients over the kernel's
//! TCP.

mod fetch;
mod server;

pub(crate) use fetch::{Fetch, FetchResult};
pub(crate) use server::Server;

#[cfg(test)]
mod tests;
