//! Two nodes with direct paths over a network controlled by the fuzzer.

use crate::script;
use crate::site::Site;

/// Performs a script between two nodes with two paths; its first byte decides whether the second
/// node learns the addresses of the first.
pub fn check(bytes: &[u8]) {
    if let Some((first, script)) = bytes.split_first() {
        script::check(Site::direct(first & 1 == 1), script);
    }
}
