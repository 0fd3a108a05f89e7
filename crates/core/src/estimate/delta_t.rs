//! Delta T: the additional delay of a data packet compared with a probe on the same path.
//!
//! A small and a large packet are sent back to back, the small one first; the difference of their
//! arrival times is delta T (PPD paper, 3.3). It is stored with the difference of their sizes and
//! scaled to a given packet, because it is the transmission time of the additional bytes (PPD
//! paper, equation 1). As in the paper, the latest pair replaces earlier ones.

use crate::time::{Duration, Time};

/// The latest measurement of delta T on one path.
#[derive(Clone, Debug, Default)]
pub struct DeltaT {
    leading: Option<Arrival>,
    latest: Option<Measurement>,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    pair: u64,
    at: Time,
    size: u32,
}

/// The differences in arrival time and size of a packet pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// The difference of the arrival times.
    pub span: Duration,
    /// The difference of the sizes on the wire in bytes, at least 1.
    pub bytes: u32,
}

impl DeltaT {
    /// Records the arrival of the small packet of pair number `pair`, of `size` bytes on the wire.
    pub fn on_leading(&mut self, now: Time, pair: u64, size: u32) {
        if self.leading.is_none_or(|known| known.pair < pair) {
            self.leading = Some(Arrival {
                pair,
                at: now,
                size,
            });
        }
    }

    /// Records the arrival of the large packet of pair number `pair`, of `size` bytes on the wire.
    ///
    /// Returns `None` if the small packet was lost, arrived later or was not smaller.
    pub fn on_trailing(&mut self, now: Time, pair: u64, size: u32) -> Option<Measurement> {
        let leading = self.leading.take_if(|known| known.pair == pair)?;
        let bytes = size.checked_sub(leading.size).filter(|&bytes| bytes > 0)?;
        self.latest = Some(Measurement {
            span: now.since(leading.at),
            bytes,
        });
        self.latest
    }

    /// Delta T of a packet that is `bytes` larger than its probe, if a pair has been measured.
    #[must_use]
    pub fn of(&self, bytes: u32) -> Option<Duration> {
        self.latest
            .map(|m| m.span.scale(u64::from(bytes), u64::from(m.bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_latest_pair_scales_with_the_packet_size() {
        let mut delta_t = DeltaT::default();
        assert_eq!(delta_t.of(960), None);
        delta_t.on_leading(Time::ZERO, 0, 40);
        let measured = delta_t.on_trailing(Time::ZERO + MS * 4, 0, 1000);
        assert_eq!(
            measured,
            Some(Measurement {
                span: MS * 4,
                bytes: 960
            })
        );
        assert_eq!(delta_t.of(960), Some(MS * 4));
        assert_eq!(delta_t.of(480), Some(MS * 2));
        delta_t.on_leading(Time::ZERO + MS * 10, 1, 40);
        delta_t.on_trailing(Time::ZERO + MS * 12, 1, 1000);
        assert_eq!(delta_t.of(960), Some(MS * 2));
    }

    #[test]
    fn incomplete_and_reordered_pairs_are_ignored() {
        let mut delta_t = DeltaT::default();
        assert_eq!(delta_t.on_trailing(Time::ZERO, 0, 1000), None);
        delta_t.on_leading(Time::ZERO, 0, 40);
        assert_eq!(
            delta_t.on_trailing(Time::ZERO + MS, 1, 1000),
            None,
            "the trailing packet of pair 0 was lost"
        );
        delta_t.on_leading(Time::ZERO, 3, 40);
        delta_t.on_leading(Time::ZERO, 2, 40);
        assert!(
            delta_t.on_trailing(Time::ZERO + MS, 3, 1000).is_some(),
            "a late leading packet is ignored"
        );
        assert_eq!(
            delta_t.on_trailing(Time::ZERO + MS * 9, 3, 1000),
            None,
            "duplicates are ignored"
        );
    }

    proptest! {
        /// On idle links the measured delta T is that of equation 1 for any rates and sizes, within
        /// the rounding of each link to nanoseconds.
        #[test]
        fn is_the_additional_transmission_time(
            rate in 100_000_u64..1_000_000_000, hops in 1_u64..10, small in 20_u32..100, large in 200_u32..1500,
            packet in 100_u32..1500,
        ) {
            use crate::units::{Bytes, Rate};
            let time = |bytes: u32| Rate(rate).transmission_time(Bytes(u64::from(bytes))) * hops;
            let mut delta_t = DeltaT::default();
            delta_t.on_leading(Time::ZERO + time(small), 0, small);
            delta_t.on_trailing(Time::ZERO + time(large), 0, large);
            let (estimated, exact) = (delta_t.of(packet).unwrap(), time(packet));
            let rounded = hops as f64 * (1.0 + f64::from(packet) / f64::from(large - small)) + 1.0;
            let off = estimated.as_nanos().abs_diff(exact.as_nanos());
            prop_assert!(off as f64 <= rounded, "{estimated} for {exact}");
        }
    }
}
