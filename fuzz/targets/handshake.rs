//! Two sessions over a hostile network.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| polypath_fuzz::handshake::check(bytes));
