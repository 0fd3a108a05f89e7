//! The retransmission timeout (RFC 6298), in the integer arithmetic of BSD and ns-2.

use polypath_core::time::{Duration, Time};

/// Bounds and granularity of a retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// The minimum timeout.
    pub min: Duration,
    /// The timeout before the first measurement.
    pub initial: Duration,
    /// The maximum timeout.
    pub max: Duration,
    /// The granularity of measurements; more than zero.
    pub tick: Duration,
}

/// Scale of the smoothed round-trip time: its gain is 1/8.
const SRTT_BITS: u32 = 3;
/// Scale of the mean deviation: its gain is 1/4.
const RTTVAR_BITS: u32 = 2;
/// Above this back-off the smoothed round-trip time is discarded (ns-2, BSD).
const CLOBBER_ABOVE: u64 = 8;
/// Up to this back-off it always doubles, beyond only while the maximum timeout is not
/// reached (ns-2).
const UNBOUNDED_BACKOFF: u64 = 64;

/// Round-trip time estimator and timeout of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Rto {
    config: RtoConfig,
    /// Smoothed time in 1/8 ticks; 0 before the first measurement.
    srtt: i64,
    /// Mean deviation in 1/4 ticks.
    rttvar: i64,
    base: Duration,
    backoff: u64,
}

impl Rto {
    /// An estimator without measurements.
    #[must_use]
    pub fn new(config: RtoConfig) -> Self {
        Self {
            config,
            srtt: 0,
            rttvar: 0,
            base: config.initial,
            backoff: 1,
        }
    }

    /// The current timeout: the estimate, at least the minimum, times the back-off, at most the
    /// maximum.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        let floor = self.config.tick * 2;
        (self.base.max(self.config.min) * self.backoff)
            .min(self.config.max)
            .max(floor)
    }

    /// Processes the measurement of a segment that was sent once (Karn), at `sent`, and
    /// acknowledged at `now`; the back-off ends. The measurement is the number of clock ticks
    /// between the two, the first tick being at the start of the run.
    pub fn sample(&mut self, sent: Time, now: Time) {
        self.backoff = 1;
        let tick = self.config.tick.as_nanos().max(1);
        let ticks = (now.0 / tick).saturating_sub(sent.0 / tick);
        let rtt = i64::try_from(ticks)
            .unwrap_or(i64::MAX)
            .clamp(1, i64::MAX >> 8);
        if self.srtt == 0 {
            self.srtt = rtt << SRTT_BITS;
            self.rttvar = rtt << (RTTVAR_BITS - 1);
        } else {
            let error = rtt - (self.srtt >> SRTT_BITS);
            self.srtt = (self.srtt + error).max(1);
            self.rttvar = (self.rttvar + error.abs() - (self.rttvar >> RTTVAR_BITS)).max(1);
        }
        let four_deviations = self.rttvar << (2 + SRTT_BITS - RTTVAR_BITS);
        let rto_ticks = (self.srtt + four_deviations) >> SRTT_BITS;
        self.base = self.config.tick * rto_ticks.unsigned_abs();
    }

    /// Ends the back-off without a measurement: data was acknowledged that was sent after it began.
    pub fn end_back_off(&mut self) {
        self.backoff = 1;
    }

    /// Doubles the timeout after an expiry.
    pub fn back_off(&mut self) {
        if self.backoff < UNBOUNDED_BACKOFF || self.timeout() < self.config.max {
            self.backoff *= 2;
        }
        if self.backoff > CLOBBER_ABOVE {
            self.rttvar += self.srtt >> SRTT_BITS;
            self.srtt = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::TcpConfig;

    fn rto() -> Rto {
        Rto::new(TcpConfig::default().rto)
    }

    fn measure(rto: &mut Rto, ms: u64) {
        rto.sample(Time::ZERO, Time::ZERO + Duration::from_millis(ms));
    }

    #[test]
    fn a_measurement_counts_the_ticks_that_pass() {
        let timeout = |sent: u64, now: u64| {
            let mut rto = rto();
            rto.sample(Time(sent * 1_000_000), Time(now * 1_000_000));
            rto.timeout()
        };
        assert_eq!(timeout(9, 100), Duration::from_millis(300));
        assert_eq!(timeout(1, 99), Duration::from_millis(270));
    }

    #[test]
    fn the_back_off_grows_beyond_64_to_the_greatest_timeout() {
        let mut rto = rto();
        measure(&mut rto, 40);
        for _ in 0..7 {
            rto.back_off();
        }
        assert_eq!(rto.timeout(), Duration::from_millis(25_600));
        rto.back_off();
        assert_eq!(rto.timeout(), Duration::from_millis(51_200));
        rto.back_off();
        assert_eq!(rto.timeout(), Duration::from_secs(60));
    }

    #[test]
    fn the_first_measurement_gives_three_times_itself() {
        let mut rto = rto();
        assert_eq!(rto.timeout(), Duration::from_secs(3));
        measure(&mut rto, 400);
        assert_eq!(rto.timeout(), Duration::from_millis(1200));
    }

    #[test]
    fn equal_measurements_come_down_to_the_round_trip_time_and_four_deviations_of_a_tick() {
        let mut rto = rto();
        for _ in 0..100 {
            measure(&mut rto, 400);
        }
        // The integer deviation stops at 3/4 tick, four of which are 3 ticks.
        assert_eq!(rto.timeout(), Duration::from_millis(430));
        for _ in 0..100 {
            measure(&mut rto, 40);
        }
        assert_eq!(rto.timeout(), Duration::from_millis(200));
    }

    #[test]
    fn backs_off_to_the_greatest_timeout_until_the_next_measurement() {
        let mut rto = rto();
        measure(&mut rto, 400);
        rto.back_off();
        assert_eq!(rto.timeout(), Duration::from_millis(2400));
        for _ in 0..10 {
            rto.back_off();
        }
        assert_eq!(rto.timeout(), Duration::from_secs(60));
        measure(&mut rto, 400);
        assert_eq!(rto.timeout(), Duration::from_millis(1200));
    }
}
