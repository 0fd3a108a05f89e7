//! Frames inside sealed datagrams, and IP packets.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| polypath_fuzz::wire::check(bytes));
