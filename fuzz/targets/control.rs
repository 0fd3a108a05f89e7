//! Clients of the control socket.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| polypath_fuzz::control::check(bytes));
