//! Relay files.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| polypath_fuzz::files::check_relay(bytes));
