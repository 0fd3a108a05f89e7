//! The Internet checksum (RFC 1071).

/// The sum of `bytes` as 16-bit words in ones' complement arithmetic, not yet folded, added to
/// `sum`.
///
/// Words are added in native byte order, which gives the same sum in that order (RFC 1071, section
/// 2).
pub(super) fn add(sum: u64, bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(4);
    let whole: u64 = (&mut words)
        .map(|word| u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]])))
        .sum();
    let mut last = [0; 4];
    let rest = words.remainder();
    last[..rest.len()].copy_from_slice(rest);
    sum + whole + u64::from(u32::from_ne_bytes(last))
}

/// The sum folded to 16 bits, in memory order.
pub(super) fn fold(mut sum: u64) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    // It has 16 bits by now.
    u16::try_from(sum).unwrap_or(0).to_ne_bytes()
}

/// The checksum: the complement of the folded sum.
pub(super) fn complement(sum: u64) -> [u8; 2] {
    fold(sum).map(|byte| !byte)
}

/// Whether the summed bytes, which include their checksum, are intact.
pub(super) fn is_intact(sum: u64) -> bool {
    fold(sum) == [0xff, 0xff]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_rfc() {
        // Section 3's example.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(add(0, &bytes)), [0xdd, 0xf2]);
        assert_eq!(complement(add(0, &bytes)), [0x22, 0x0d]);
        assert_eq!(
            fold(add(0, &[0x12])),
            [0x12, 0x00],
            "an odd byte counts as if zero followed"
        );
    }
}
