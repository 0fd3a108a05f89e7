//! The target and the parameters of the controllers.

use super::windows::MAX_WINDOW_SUM;
use crate::time::Duration;
use crate::units::{Bytes, Rate};

/// How windows follow the throughput; the defaults are those of the paper's Table II.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct ControlConfig {
    /// The sampling interval delta; else it is `round_trips` round-trip times.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub interval: Option<Duration>,
    /// The sampling interval in round-trip times; 6 to 8 work well (4.2.1).
    #[cfg_attr(feature = "serde", schemars(range(min = 1, max = 1000)))]
    pub round_trips: u32,
    /// The smoothing factor alpha: how much of the throughput is that of before.
    #[cfg_attr(feature = "serde", schemars(range(min = 0.0, max = 0.999)))]
    pub smoothing: f64,
    /// The guard lambda: the windows fall where the throughput is more than this above the target.
    pub guard: Rate,
    /// The spike factor f: beyond so many times the window of an uncongested network the sum does not rise; the paper has
    /// more than 4/3, which is what windows under losses can have on average (4.2.1).
    #[cfg_attr(feature = "serde", schemars(range(min = 1.0, max = 1000.0)))]
    pub spike: f64,
}

/// How the number of connections follows the congestion; the defaults are those of the paper's Table III.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct VariationConfig {
    /// The damping beta: the congestion ratio has to change by more than this.
    #[cfg_attr(feature = "serde", schemars(range(min = 0.0, max = 1000.0)))]
    pub damping: f64,
    /// The congestion factor cf: from this ratio on the network is severely congested, and connections are stopped.
    #[cfg_attr(feature = "serde", schemars(range(min = 1.0, max = 1000.0)))]
    pub congestion_factor: f64,
}

/// What a controller aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        }
    }
}

impl ControlConfig {
    /// The sampling interval at a round-trip time; at least a millisecond.
    #[must_use]
    pub fn interval_at(&self, rtt: Duration) -> Duration {
        let interval = self.interval.unwrap_or(rtt * u64::from(self.round_trips));
        interval.max(Duration::from_millis(1))
    }
}

impl Target {
    /// The window of one connection in an uncongested network, `W_n = T_d RTT / MTU`, in segments (4.2).
    #[must_use]
    pub fn uncongested_window(self, rtt: Duration) -> f64 {
        self.rate.as_f64() * rtt.as_secs_f64() / (8.0 * self.segment.0.max(1) as f64)
    }

    /// The change `D_s` of the sum of windows for a throughput so far from the target, in segments: whole, rounded up
    /// (Algorithm 1, line 4).
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
