//! Assertions on every parser of untrusted input, and on nodes, relays and servers, for arbitrary
//! bytes.
//!
//! Each target takes one input of the fuzzer and panics if an assertion fails; a panic in the
//! called code is a failure as well. [`wire`] and [`stream`] test input from the network, [`offload`] packets,
//! and [`files`] files. Targets with state take the input as a script: [`session`] and [`relay`]
//! of the network, [`http`] and [`control`] of clients.

pub mod control;
pub mod files;
pub mod http;
pub mod offload;
pub mod relay;
pub mod session;
pub mod stream;
pub mod wire;

mod script;
mod site;
