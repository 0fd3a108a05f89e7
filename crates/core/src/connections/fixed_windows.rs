//! Fixed windows: plain TCP, the paper's baseline (5.1.1, case a).

use super::controller::{ConnectionController, Sample};
use super::windows::Windows;
use crate::time::{Duration, Time};
use crate::units::Rate;

/// A fixed number of connections, each with the same window.
#[derive(Clone, Copy, Debug)]
pub struct FixedWindows {
    connections: u32,
    window: u32,
    windows: Windows,
}

impl FixedWindows {
    /// `connections` connections with a receiver window of `window` segments each.
    #[must_use]
    pub fn new(connections: u32, window: u32) -> Self {
        Self {
            connections,
            window,
            windows: equal(connections, window),
        }
    }
}

fn equal(connections: u32, window: u32) -> Windows {
    Windows::new(connections, connections.saturating_mul(window))
}

impl ConnectionController for FixedWindows {
    fn wanted(&self) -> Windows {
        self.windows
    }

    fn initialize(&mut self, _: Time, _: Duration) {}

    fn limit(&mut self, most: u32) {
        self.windows = equal(self.connections.min(most), self.window);
    }

    fn set_rate(&mut self, _: Rate) {}

    fn handle_sample(&mut self, _: Time, _: &Sample) {}
}
