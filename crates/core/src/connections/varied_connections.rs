//! Joint control of the number of connections and their windows (`VariedConnVariedWinSize`,
//! Algorithm 3).

use super::adjust_connections::{AdjustConnections, Congestion};
use super::adjust_window::AdjustWindow;
use super::controller::{ConnectionController, Sample};
use super::parameters::{ControlConfig, Target, VariationConfig};
use super::windows::{MAX_CONNECTIONS, Windows};
use crate::time::{Duration, Time};
use crate::units::Rate;

/// Runs Algorithm 2, then Algorithm 1 with the resulting number of connections.
#[derive(Clone, Copy, Debug)]
pub struct VariedConnections {
    number: AdjustConnections,
    windows: AdjustWindow,
    /// The most connections that are possible.
    limit: u32,
}

impl VariedConnections {
    /// Creates a controller that starts with `connections` connections, or the most that there may be.
    #[must_use]
    pub fn new(
        connections: u32,
        target: Target,
        variation: VariationConfig,
        control: &ControlConfig,
    ) -> Self {
        let connections = connections.min(variation.max_connections);
        Self {
            number: AdjustConnections::new(variation),
            windows: AdjustWindow::new(connections, target, control),
            limit: MAX_CONNECTIONS,
        }
    }
}

impl ConnectionController for VariedConnections {
    fn wanted(&self) -> Windows {
        self.windows.wanted()
    }

    fn initialize(&mut self, now: Time, rtt: Duration) {
        self.windows.initialize(now, rtt);
    }

    fn limit(&mut self, most: u32) {
        self.limit = most;
        if self.windows.wanted().connections() > most {
            self.windows.limit(most);
        }
    }

    fn set_rate(&mut self, rate: Rate) {
        self.windows.set_rate(rate);
    }

    fn handle_sample(&mut self, now: Time, sample: &Sample) {
        let target = self.windows.target();
        let present = self.windows.wanted();
        let uncongested = target.uncongested_window(sample.rtt);
        let congestion = Congestion {
            // The ratio is undefined for a round-trip time or a target of zero.
            ratio: if uncongested > 0.0 {
                f64::from(present.sum()) / uncongested
            } else {
                1.0
            },
            // The connections could carry more than an application-limited sender had.
            throughput: if sample.is_application_limited {
                sample.throughput.max(Rate(target.rate.0.saturating_add(1)))
            } else {
                sample.throughput
            },
            target: target.rate,
        };
        let connections = self.number.next(present.connections(), &congestion);
        let connections = connections.min(self.limit).max(1);
        if connections != present.connections() {
            self.windows.set_connections(connections);
        }
        self.windows.handle_sample(now, sample);
    }
}
