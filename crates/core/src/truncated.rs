//! Numbers of which only the lowest bits are sent (as packet numbers of QUIC: RFC 9000, section
//! 17.1).

/// The number of bits of a truncated counter, sequence number or send time.
pub const BITS: u32 = 24;
/// Numbers that are received in about their order are expanded from this far below the next one on;
/// what arrives later than that is taken for a newer one.
pub const BEHIND: u64 = 1 << 18;

/// The lowest `bits` of `number`; `bits` is less than 64.
#[must_use]
pub const fn truncate(number: u64, bits: u32) -> u64 {
    number & ((1 << bits) - 1)
}

/// The only number of the 2^`bits` from `lowest` on whose lowest bits are `truncated`; `None` if it
/// has more than 64 bits.
///
/// RFC 9000, appendix A.3, takes the number that is nearest to the expected one. An interval that
/// its user places also never yields a negative number, and can reach further ahead than back: after
/// a long loss, nothing else would follow.
#[must_use]
pub const fn expand(truncated: u64, lowest: u64, bits: u32) -> Option<u64> {
    lowest.checked_add(truncate(truncated.wrapping_sub(lowest), bits))
}

/// The largest number up to `newest` whose lowest [`BITS`] are `truncated`; of the first 2^24
/// numbers, the only one.
#[must_use]
pub const fn expand_up_to(truncated: u64, newest: u64) -> Option<u64> {
    expand(truncated, newest.saturating_sub((1 << BITS) - 1), BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of 4 bits are found in the window above every lowest one, at every wrap, and at both
    /// ends of the range.
    #[test]
    fn every_number_above_every_lowest_one_is_found() {
        let starts = (0..70).chain(u64::MAX - 70..=u64::MAX);
        for lowest in starts {
            for number in lowest..=lowest.saturating_add(15) {
                let found = expand(truncate(number, 4), lowest, 4);
                assert_eq!(found, Some(number), "{lowest}");
            }
        }
        assert_eq!(expand(0, u64::MAX - 3, 4), None);
    }

    proptest! {
        #[test]
        fn a_number_within_a_window_is_found(
            lowest in prop_oneof![any::<u64>(), 0..1_u64 << 26, Just(1 << 24)],
            offset in 0..1_u64 << BITS,
        ) {
            let number = lowest.checked_add(offset);
            let found = expand(truncate(lowest.wrapping_add(offset), BITS), lowest, BITS);
            prop_assert_eq!(found, number);
        }
    }
}
