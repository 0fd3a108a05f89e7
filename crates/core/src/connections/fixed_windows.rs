//! Fixed windows: plain TCP, the paper's baseline (5.1.1, case a).

use super::controller::{ConnectionController, Sample};
use super::windows::Windows;
use crate::time::{Duration, Time};
use crate::units::Rate;

/// A fixed number of connections, each with the same window.
#[derive(Clone, Copy, Debug)]
pub struct FixedWindows(Windows);

impl FixedWindows {
    /// `connections` connections with a receiver window of `window` segments each.
    #[must_use]
    pub fn new(connections: u32, window: u32) -> Self {
        Self(Windows::new(
            connections,
            connections.saturating_mul(window),
        ))
    }
}

impl ConnectionController for FixedWindows {
    fn wanted(&self) -> Windows {
        self.0
    }

    fn initialize(&mut self, _: Time, _: Duration) {}

    fn set_rate(&mut self, _: Rate) {}

    fn handle_sample(&mut self, _: Time, _: &Sample) {}
}
