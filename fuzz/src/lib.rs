//! Assertions on every parser of untrusted input, for arbitrary bytes.
//!
//! Each target takes one input of the fuzzer and panics if an assertion fails; a panic in the
//! called code is a failure as well. [`wire`] and [`handshake`] test input from the network,
//! [`offload`] packets, and [`files`] files.

pub mod files;
pub mod handshake;
pub mod offload;
pub mod wire;

mod pair;
