//! Numbers of which only the lowest bits are sent (RFC 9000, section 17.1 and appendix A.3).

/// The number of bits of a truncated counter, sequence number or send time.
pub const BITS: u32 = 24;

/// The lowest `bits` of `number`; `bits` is less than 64.
#[must_use]
pub const fn truncate(number: u64, bits: u32) -> u64 {
    number & ((1 << bits) - 1)
}

/// The number nearest to `expected` whose lowest `bits` are `truncated`.
///
/// It is the one that was truncated if that is at most 2^(`bits` - 1) above `expected`, or less than
/// that below. `None` if the nearest number is negative or exceeds 64 bits.
#[must_use]
pub const fn expand(truncated: u64, expected: u64, bits: u32) -> Option<u64> {
    let window = 1 << bits;
    // The distance upwards, modulo the window.
    let ahead = truncate(truncated.wrapping_sub(expected), bits);
    if ahead <= window / 2 {
        expected.checked_add(ahead)
    } else {
        expected.checked_sub(window - ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of 4 bits are found within half a window of every expected number, at every wrap, and
    /// at both ends of the range.
    #[test]
    fn every_number_near_every_expected_one_is_found() {
        let starts = (0..70).chain(u64::MAX - 70..=u64::MAX);
        for expected in starts {
            for number in expected.saturating_sub(7)..=expected.saturating_add(8) {
                let found = expand(truncate(number, 4), expected, 4);
                assert_eq!(found, Some(number), "{expected}");
            }
        }
    }

    #[test]
    fn what_would_be_negative_or_too_large_is_none() {
        assert_eq!(expand(15, 3, 4), None);
        assert_eq!(expand(11, 3, 4), Some(11));
        assert_eq!(expand(0, u64::MAX - 3, 4), None);
    }

    proptest! {
        #[test]
        fn a_number_within_half_a_window_is_found(
            expected in prop_oneof![any::<u64>(), 0..1_u64 << 26, Just(1 << 24)],
            offset in 1 - (1_i64 << (BITS - 1))..=1 << (BITS - 1),
        ) {
            let number = expected.checked_add_signed(offset);
            prop_assume!(number.is_some());
            let found = expand(truncate(number.unwrap_or(0), BITS), expected, BITS);
            prop_assert_eq!(found, number);
        }
    }
}
