//! The configuration of the liveness monitor.

use super::MAX_MISSES;
use crate::time::Duration;

/// The minimum interval between heartbeats: the stored heartbeats then span 2.5 s, longer than any
/// round trip.
const MIN_INTERVAL: Duration = Duration::from_millis(10);
/// The minimum margin: on a path without delay a heartbeat must not be overdue when it is sent.
const MIN_MARGIN: Duration = Duration::from_millis(1);
/// The minimum hold, so that doubling has an effect.
const MIN_HOLD: Duration = Duration::from_millis(1);
/// The maximum of all time spans, as everywhere in files.
const MAX_SPAN: Duration = Duration::from_secs(24 * 3600);

/// The configuration of the liveness monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct LivenessConfig {
    /// Heartbeats leave at this interval on a path that carries packets.
    pub interval: Duration,
    /// Heartbeats leave at this interval on a path that carries none.
    pub standby: Duration,
    /// The number of consecutive missed heartbeats after which a path is silent; more if its losses
    /// explain that many.
    pub misses: u32,
    /// The minimum time after the smoothed round-trip time at which an answer is overdue.
    pub margin: Duration,
    /// The maximum interval of heartbeats on a silent path.
    pub retry: Duration,
    /// A path that answers again is not used for this long; each return that does not last doubles
    /// it, and one that lasts ([`LASTING`](super::LASTING)) resets it.
    pub hold: Duration,
    /// The maximum hold.
    pub longest_hold: Duration,
}

impl Default for LivenessConfig {
    /// Three misses as BFD's detection multiplier commonly is (RFC 5880, 6.8.4), at an interval by
    /// which a path with a round trip of 50 ms is left within 150 ms, the delay that conversation
    /// hardly notices (ITU-T G.114). An idle path costs four frames a second. Holds double as the
    /// penalties of route-flap damping do (RFC 2439), from a second to a minute.
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(25),
            standby: Duration::from_millis(500),
            misses: 3,
            margin: Duration::from_millis(25),
            retry: Duration::from_secs(4),
            hold: Duration::from_secs(1),
            longest_hold: Duration::from_secs(60),
        }
    }
}

/// The error of an invalid configuration; each names its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LivenessError {
    /// Answers would arrive after their heartbeats are dropped.
    #[error("`interval` must be at least 10 ms")]
    Interval,
    /// An idle path would be probed more often than a busy one.
    #[error("`standby` must not be shorter than `interval`")]
    Standby,
    /// With one miss every lost heartbeat would be a silence, and very many would never be reached.
    #[error("`misses` must be 2 to {MAX_MISSES}")]
    Misses,
    /// A heartbeat could be overdue when it is sent.
    #[error("`margin` must be at least 1 ms")]
    Margin,
    /// The interval of retries would not grow.
    #[error("`retry` must not be shorter than `interval`")]
    Retry,
    /// A hold of 0 does not grow.
    #[error("`hold` must be at least 1 ms")]
    Hold,
    /// Holds would shrink.
    #[error("`longest_hold` must not be shorter than `hold`")]
    LongestHold,
    /// The value of this key is longer than a day.
    #[error("`{0}` must be at most {MAX_SPAN}")]
    TooLong(&'static str),
}

impl LivenessError {
    /// The key of the invalid value.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Interval => "interval",
            Self::Standby => "standby",
            Self::Misses => "misses",
            Self::Margin => "margin",
            Self::Retry => "retry",
            Self::Hold => "hold",
            Self::LongestHold => "longest_hold",
            Self::TooLong(key) => key,
        }
    }
}

impl LivenessConfig {
    /// All errors in the configuration.
    pub fn problems(&self) -> impl Iterator<Item = LivenessError> {
        let checks = [
            (self.interval < MIN_INTERVAL, LivenessError::Interval),
            (self.standby < self.interval, LivenessError::Standby),
            (
                !(2..=MAX_MISSES).contains(&self.misses),
                LivenessError::Misses,
            ),
            (self.margin < MIN_MARGIN, LivenessError::Margin),
            (self.retry < self.interval, LivenessError::Retry),
            (self.hold < MIN_HOLD, LivenessError::Hold),
            (self.longest_hold < self.hold, LivenessError::LongestHold),
        ];
        let spans = [
            (self.interval, "interval"),
            (self.standby, "standby"),
            (self.margin, "margin"),
            (self.retry, "retry"),
            (self.hold, "hold"),
            (self.longest_hold, "longest_hold"),
        ];
        let spans = spans.map(|(span, key)| (span > MAX_SPAN, LivenessError::TooLong(key)));
        let checks = checks.into_iter().chain(spans);
        checks.filter_map(|(wrong, error)| wrong.then_some(error))
    }
}
