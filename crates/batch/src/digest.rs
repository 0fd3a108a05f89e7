//! Content digests.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The SHA-256 of `content` in hexadecimal.
#[must_use]
pub fn digest(content: impl AsRef<[u8]>) -> String {
    let mut hexadecimal = String::new();
    for byte in Sha256::digest(content) {
        // Writing to a string cannot fail.
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    hexadecimal
}
