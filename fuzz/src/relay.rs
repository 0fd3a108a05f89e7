//! Two nodes and a relay between them over a network controlled by the fuzzer, and a stranger.

use crate::script;
use crate::site::Site;

/// Performs a script between two nodes whose only path uses a relay.
pub fn check(bytes: &[u8]) {
    script::check(Site::relayed(), bytes);
}
