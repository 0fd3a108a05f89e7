//! Messages of a stream over several connections.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| polypath_fuzz::stream::check(bytes));
