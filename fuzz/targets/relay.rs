//! Two nodes and a relay over a network controlled by the fuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| polypath_fuzz::relay::check(bytes));
