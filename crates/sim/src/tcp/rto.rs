//! The retransmission timeout (RFC 6298), in the integer arithmetic of BSD and ns-2.

use polypath_core::time::Duration;

/// Bounds and granularity of a retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Least timeout.
    pub min: Duration,
    /// Timeout before the first measurement.
    pub initial: Duration,
    /// Greatest timeout.
    pub max: Duration,
    /// Granularity of measurements; more than zero.
    pub tick: Duration,
}

/// Scale of the smoothed round-trip time: its gain is 1/8.
const SRTT_BITS: u32 = 3;
/// Scale of the mean deviation: its gain is 1/4.
const RTTVAR_BITS: u32 = 2;
/// From this back-off on, the smoothed time is given up for a new start (ns-2, BSD).
const CLOBBER_ABOVE: u64 = 8;
const GREATEST_BACKOFF: u64 = 64;

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

    /// The present timeout: the estimate within its least value, times the back-off, within the greatest.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        let floor = self.config.tick * 2;
        (self.base.max(self.config.min) * self.backoff)
            .min(self.config.max)
            .max(floor)
    }

    /// Takes a measurement of a segment that was sent once (Karn); the back-off ends.
    pub fn sample(&mut self, rtt: Duration) {
        self.backoff = 1;
        let tick = self.config.tick.as_nanos().max(1);
        let ticks = i64::try_from((rtt.as_nanos() + tick / 2) / tick).unwrap_or(i64::MAX >> 8);
        let rtt = ticks.max(1);
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

    /// Doubles the timeout after an expiry.
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff * 2).min(GREATEST_BACKOFF);
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

    #[test]
    fn the_first_measurement_gives_three_times_itself() {
        let mut rto = rto();
        assert_eq!(rto.timeout(), Duration::from_secs(3));
        rto.sample(Duration::from_millis(400));
        assert_eq!(rto.timeout(), Duration::from_millis(1200));
    }

    #[test]
    fn equal_measurements_come_down_to_the_round_trip_time_and_four_deviations_of_a_tick() {
        let mut rto = rto();
        for _ in 0..100 {
            rto.sample(Duration::from_millis(400));
        }
        // The integer deviation stops at 3/4 tick, four of which are 3 ticks.
        assert_eq!(rto.timeout(), Duration::from_millis(430));
        for _ in 0..100 {
            rto.sample(Duration::from_millis(40));
        }
        assert_eq!(rto.timeout(), Duration::from_millis(200));
    }

    #[test]
    fn backs_off_to_the_greatest_timeout_until_the_next_measurement() {
        let mut rto = rto();
        rto.sample(Duration::from_millis(400));
        rto.back_off();
        assert_eq!(rto.timeout(), Duration::from_millis(2400));
        for _ in 0..10 {
            rto.back_off();
        }
        assert_eq!(rto.timeout(), Duration::from_secs(60));
        rto.sample(Duration::from_millis(400));
        assert_eq!(rto.timeout(), Duration::from_millis(1200));
    }
}
