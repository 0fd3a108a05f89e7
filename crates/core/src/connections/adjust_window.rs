//! Windows controlled by throughput (`AdjustWindowSize`, Algorithm 1).

use super::controller::{ConnectionController, Sample};
use super::parameters::{ControlConfig, Target};
use super::windows::{MAX_WINDOW_SUM, Windows};
use crate::math::floor;
use crate::time::{Duration, Time};
use crate::units::Rate;

/// The window of a connection before the round-trip time is known, in segments: the initial window
/// of RFC 2581.
const FIRST_WINDOW: u32 = 2;

/// A fixed number of connections whose windows grow, up to a bound, while the throughput is below
/// the target and shrink while it is above.
#[derive(Clone, Copy, Debug)]
pub struct AdjustWindow {
    target: Target,
    guard: u64,
    spike: f64,
    /// The configured number of connections.
    connections: u32,
    windows: Windows,
}

impl AdjustWindow {
    /// Creates a controller of `connections` connections with initial windows.
    #[must_use]
    pub fn new(connections: u32, target: Target, config: &ControlConfig) -> Self {
        Self {
            target,
            guard: config.guard.0,
            spike: config.spike,
            connections,
            windows: Windows::new(connections, connections.saturating_mul(FIRST_WINDOW)),
        }
    }

    /// The target.
    #[must_use]
    pub const fn target(&self) -> Target {
        self.target
    }

    /// Redistributes the sum of windows over `connections` connections, at least 1.
    pub fn set_connections(&mut self, connections: u32) {
        self.connections = connections;
        self.windows = self.windows.over(connections);
    }

    /// The sum of an uncongested network, to the nearest segment.
    fn uncongested(&self, rtt: Duration) -> u32 {
        whole(floor(self.target.uncongested_window(rtt) + 0.5))
    }

    /// The bound beyond which the sum does not grow, `f T_d RTT / MTU`, in whole segments.
    fn bound(&self, rtt: Duration) -> u32 {
        whole(floor(self.spike * self.target.uncongested_window(rtt)))
    }
}

impl ConnectionController for AdjustWindow {
    fn wanted(&self) -> Windows {
        self.windows
    }

    /// Line 2.
    fn initialize(&mut self, _: Time, rtt: Duration) {
        self.windows = Windows::new(self.windows.connections(), self.uncongested(rtt));
    }

    fn limit(&mut self, most: u32) {
        self.windows = self.windows.limited_to(self.connections.min(most));
    }

    fn set_rate(&mut self, rate: Rate) {
        self.target.rate = rate;
    }

    /// Lines 3 to 20. In an application-limited interval no window is raised, and those that a
    /// congestion has raised lose a segment (RFC 7661 reduces the window of TCP then).
    fn handle_sample(&mut self, _: Time, sample: &Sample) {
        let (wanted, measured) = (self.target.rate.0, sample.throughput.0);
        let step = self.target.step(sample.throughput, sample.rtt);
        if measured > wanted.saturating_add(self.guard) {
            self.windows = self.windows.lowered(step);
        } else if sample.is_application_limited {
            if self.windows.sum() > self.uncongested(sample.rtt) {
                self.windows = self.windows.lowered(1);
            }
        } else if measured < wanted && self.windows.sum() <= self.bound(sample.rtt) {
            self.windows = self.windows.raised(step);
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
