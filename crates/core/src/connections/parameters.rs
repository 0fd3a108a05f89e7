//! The target and the parameters of the controllers.

use super::windows::{MAX_CONNECTIONS, MAX_WINDOW_SUM};
use crate::time::Duration;
use crate::units::{Bytes, Rate};

/// Parameters of Algorithm 1; the defaults are those of the paper's Table II.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct ControlConfig {
    /// The sampling interval delta; `round_trips` round-trip times if absent.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub interval: Option<Duration>,
    /// The sampling interval in round-trip times; 6 to 8 work well (4.2.1).
    #[cfg_attr(feature = "serde", schemars(range(min = 1, max = 1000)))]
    pub round_trips: u32,
    /// The smoothing factor alpha: the weight of the previous mean.
    #[cfg_attr(feature = "serde", schemars(range(min = 0.0, max = 0.999)))]
    pub smoothing: f64,
    /// The time of the past that counts in the mean, if given: its weight after an interval is at
    /// most `exp(-interval / memory)`. Algorithm 1 changes windows by the whole difference from the
    /// target while the mean contains a tenth of the change before. With alpha = .9 that is hardly
    /// damped: the throughput oscillates with a period of 20 intervals, and the swing decreases by
    /// the square root of the weight in each, so that it takes 57 intervals to a twentieth: 20 s at
    /// a round-trip time of 60 ms, 100 s at 300 ms. With this it takes 6 times the memory.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub memory: Option<Duration>,
    /// The guard lambda: windows shrink when the throughput exceeds the target by more than this.
    pub guard: Rate,
    /// The spike factor f: the sum of windows does not grow beyond f times the window of an
    /// uncongested network. The paper requires more than 4/3, the ratio of a window's maximum to
    /// its mean under losses (4.2.1).
    #[cfg_attr(feature = "serde", schemars(range(min = 1.0, max = 1000.0)))]
    pub spike: f64,
}

/// Parameters of Algorithm 2; the defaults are those of the paper's Table III.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct VariationConfig {
    /// The damping beta: smaller changes of the congestion ratio are ignored.
    #[cfg_attr(feature = "serde", schemars(range(min = 0.0, max = 1000.0)))]
    pub damping: f64,
    /// The congestion factor cf: at or above this ratio congestion is severe and connections are
    /// closed.
    #[cfg_attr(feature = "serde", schemars(range(min = 1.0, max = 1000.0)))]
    pub congestion_factor: f64,
    /// The most connections. The paper has no limit, and nothing else bounds the share of a full link:
    /// n connections beside m of others take n / (n + m) of it.
    #[cfg_attr(feature = "serde", schemars(range(min = 1, max = 1024)))]
    pub max_connections: u32,
}

/// The target of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Target {
    /// The desired throughput `T_d`.
    pub rate: Rate,
    /// The size of a segment, the paper's MTU.
    pub segment: Bytes,
}

impl Default for ControlConfig {
    fn default() -> Self {
        Self {
            interval: None,
            round_trips: 6,
            smoothing: 0.9,
            memory: None,
            guard: Rate(3000 * 8),
            spike: 10.0,
        }
    }
}

impl Default for VariationConfig {
    fn default() -> Self {
        Self {
            damping: 1.0,
            congestion_factor: 5.0,
            max_connections: MAX_CONNECTIONS,
        }
    }
}

impl ControlConfig {
    /// The defaults for a stream, whose packets are the segments of `target`. The paper's guard of
    /// 3000 B/s would be more than a tenth of a low rate: here it is at most a twentieth. The mean
    /// covers the time of 32 packets, but at least a second, so that at 340 kbit/s and more the
    /// throughput is within a twentieth of the target after 6 s at any round-trip time. Over fewer
    /// packets, one more or less in an interval would move the windows.
    #[must_use]
    pub fn for_target(target: Target) -> Self {
        const SECOND: Duration = Duration::from_secs(1);
        let default = Self::default();
        let Target { rate, segment } = target;
        let packets = rate.transmission_time(Bytes(32 * segment.0));
        Self {
            guard: default.guard.min(Rate(rate.0 / 20)),
            memory: Some(packets.max(SECOND)),
            ..default
        }
    }

    /// The sampling interval for a round-trip time of `rtt`; at least 1 ms.
    #[must_use]
    pub fn interval_at(&self, rtt: Duration) -> Duration {
        let interval = self.interval.unwrap_or(rtt * u64::from(self.round_trips));
        interval.max(Duration::from_millis(1))
    }
}

impl VariationConfig {
    /// The f of Algorithm 1 for these parameters, cf - 1, as Table III has none.
    ///
    /// The sum of windows may pass `f W_n` by a step, which is `W_n` at the most: so the congestion
    /// ratio comes to cf, and connections are stopped, only where next to nothing arrives. With an f
    /// of cf or more it comes there wherever the target is missed for long.
    #[must_use]
    pub fn spike(&self) -> f64 {
        self.congestion_factor - 1.0
    }
}

impl Target {
    /// The window of one connection in an uncongested network, `W_n = T_d RTT / MTU`, in segments
    /// (4.2).
    #[must_use]
    pub fn uncongested_window(self, rtt: Duration) -> f64 {
        self.rate.as_f64() * rtt.as_secs_f64() / (8.0 * self.segment.0.max(1) as f64)
    }

    /// The change `D_s` of the sum of windows in whole segments, rounded up: the distance between
    /// `throughput` and the target over one round trip (Algorithm 1, line 4).
    #[must_use]
    pub fn step(self, throughput: Rate, rtt: Duration) -> u32 {
        const NS_PER_S: u128 = 1_000_000_000;
        let difference = u128::from(self.rate.0.abs_diff(throughput.0));
        let segment = u128::from(self.segment.0.max(1)) * 8 * NS_PER_S;
        let step = difference
            .saturating_mul(u128::from(rtt.0))
            .div_ceil(segment);
        u32::try_from(step).unwrap_or(u32::MAX).min(MAX_WINDOW_SUM)
    }
}
