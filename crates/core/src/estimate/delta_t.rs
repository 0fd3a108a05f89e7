//! Delta T: how much later than a probe a data packet would arrive on the same path.
//!
//! A small and a large packet are sent back to back, the small one first; the difference of their
//! arrival times is delta T (PPD paper, 3.3). It is kept with the difference of their sizes and scaled
//! to the packet in question, since it is the time that the additional bytes take on the links (PPD
//! paper, equation 1). The paper's rule is the single pair: the latest measurement stands.

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

/// How much later the larger packet of a pair arrived, and by how much it was larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// Difference of the arrival times.
    pub span: Duration,
    /// Difference of the sizes on the wire in bytes, at least 1.
    pub bytes: u32,
}

impl DeltaT {
    /// Notes the arrival of the small packet of pair number `pair`, of `size` bytes on the wire.
    pub fn on_leading(&mut self, now: Time, pair: u64, size: u32) {
        if self.leading.is_none_or(|known| known.pair < pair) {
            self.leading = Some(Arrival {
                pair,
                at: now,
                size,
            });
        }
    }

    /// Takes the arrival of the large packet of pair number `pair`, of `size` bytes on the wire.
    ///
    /// `None` where the small one was lost, came later or was not smaller: such a pair measures nothing.
    pub fn on_trailing(&mut self, now: Time, pair: u64, size: u32) -> Option<Measurement> {
        let leading = self.leading.take_if(|known| known.pair == pair)?;
        let bytes = size.checked_sub(leading.size).filter(|&bytes| bytes > 0)?;
        self.latest = Some(Measurement {
            span: now.since(leading.at),
            bytes,
        });
        self.latest
    }

    /// Delta T of a packet that is `bytes` larger than its probe, if any pair was measured.
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
    fn the_latest_pair_stands_and_scales_with_the_packet() {
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
    fn half_a_pair_or_a_reordered_one_measures_nothing() {
        let mut delta_t = DeltaT::default();
        assert_eq!(delta_t.on_trailing(Time::ZERO, 0, 1000), None);
        delta_t.on_leading(Time::ZERO, 0, 40);
        assert_eq!(
            delta_t.on_trailing(Time::ZERO + MS, 1, 1000),
            None,
            "the other half was lost"
        );
        delta_t.on_leading(Time::ZERO, 3, 40);
        delta_t.on_leading(Time::ZERO, 2, 40);
        assert!(
            delta_t.on_trailing(Time::ZERO + MS, 3, 1000).is_some(),
            "a late one is ignored"
        );
        assert_eq!(
            delta_t.on_trailing(Time::ZERO + MS * 9, 3, 1000),
            None,
            "copies do not count"
        );
    }

    proptest! {
        /// On idle links the measured delta T is that of equation 1, whatever the link and the sizes, but for the
        /// nanosecond to which each link rounds: of both packets of the pair, and of the one in question.
        #[test]
        fn is_the_additional_transmission_time(
            rate in 100_000_u64..1_000_000_000, hops in 1_u64..10, small in 20_u32..100, large in 200_u32..1500,
            packet in 100_u32..1500,
        ) {
            use crate::units::{Bytes, Rate};
            let more = |bytes: u32| Rate(rate).transmission_time(Bytes(u64::from(bytes))) * hops;
            let mut delta_t = DeltaT::default();
            delta_t.on_leading(Time::ZERO + more(small), 0, small);
            delta_t.on_trailing(Time::ZERO + more(large), 0, large);
            let (estimated, exact) = (delta_t.of(packet).unwrap(), more(packet));
            let rounded = hops as f64 * (1.0 + f64::from(packet) / f64::from(large - small)) + 1.0;
            let off = estimated.as_nanos().abs_diff(exact.as_nanos());
            prop_assert!(off as f64 <= rounded, "{estimated} for {exact}");
        }
    }
}
