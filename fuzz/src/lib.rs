//! What is asserted of everything that reads what others wrote, for any bytes.
//!
//! Each target takes one input of the fuzzer and panics where an assertion fails; a panic of what it calls is a failure,
//! too. [`wire`] and [`handshake`] read what comes from the network, [`offload`] packets, the others files.

pub mod files;
pub mod handshake;
pub mod offload;
pub mod wire;

mod pair;
