//! Windows that follow the throughput (`AdjustWindowSize`, Algorithm 1).

use super::controller::{ConnectionController, Sample};
use super::parameters::{ControlConfig, Target};
use super::windows::{MAX_WINDOW_SUM, Windows};
use crate::math::floor;
use crate::time::{Duration, Time};

/// The window of a connection before the round-trip time is known, in segments: the initial window of RFC 2581.
const FIRST_WINDOW: u32 = 2;

/// A number of connections whose windows rise while the throughput is below the target, up to a bound, and fall where it
/// is above it.
#[derive(Clone, Copy, Debug)]
pub struct AdjustWindow {
    target: Target,
    guard: u64,
    spike: f64,
    windows: Windows,
}

impl AdjustWindow {
    /// With `connections`, before the round-trip time is known.
    #[must_use]
    pub fn new(connections: u32, target: Target, config: &ControlConfig) -> Self {
        Self {
            target,
            guard: config.guard.0,
            spike: config.spike,
            windows: Windows::new(connections, connections.saturating_mul(FIRST_WINDOW)),
        }
    }

    /// What it aims at.
    #[must_use]
    pub const fn target(&self) -> Target {
        self.target
    }

    /// Redistributes the sum of windows over another number of connections, at least one.
    pub fn set_connections(&mut self, connections: u32) {
        self.windows = self.windows.over(connections);
    }

    /// The sum beyond which windows do not rise, `f T_d RTT / MTU`, in whole segments.
    fn bound(&self, rtt: Duration) -> u32 {
        whole(floor(self.spike * self.target.uncongested_window(rtt)))
    }
}

impl ConnectionController for AdjustWindow {
    fn wanted(&self) -> Windows {
        self.windows
    }

    /// Line 2; the nearest whole sum.
    fn initialize(&mut self, _: Time, rtt: Duration) {
        let sum = floor(self.target.uncongested_window(rtt) + 0.5);
        self.windows = Windows::new(self.windows.connections(), whole(sum));
    }

    /// Lines 3 to 20.
    fn handle_sample(&mut self, _: Time, sample: &Sample) {
        let (wanted, measured) = (self.target.rate.0, sample.throughput.0);
        let step = self.target.step(sample.throughput, sample.rtt);
        if measured < wanted && self.windows.sum() <= self.bound(sample.rtt) {
            self.windows = self.windows.raised(step);
        } else if measured > wanted.saturating_add(self.guard) {
            self.windows = self.windows.lowered(step);
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and the sum of windows has a bound"
)]
fn whole(segments: f64) -> u32 {
    (segments as u32).min(MAX_WINDOW_SUM)
}
