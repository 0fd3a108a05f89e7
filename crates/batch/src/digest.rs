//! Digests, by which contents are told apart.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The SHA-256 of what is given, in hexadecimal.
#[must_use]
pub fn digest(content: impl AsRef<[u8]>) -> String {
    let mut hexadecimal = String::new();
    for byte in Sha256::digest(content) {
        // A string takes whatever is written to it.
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    hexadecimal
}
