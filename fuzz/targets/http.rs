//! Clients of the HTTP server.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| polypath_fuzz::http::check(bytes));
