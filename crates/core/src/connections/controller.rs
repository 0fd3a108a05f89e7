//! What decides on connections and windows, and what it is told.

use alloc::boxed::Box;
use core::fmt::Debug;

use super::windows::Windows;
use crate::time::{Duration, Time};
use crate::units::Rate;

/// Sets the number of connections and their windows.
///
/// It is asked at the deadlines of a [`ControlUnit`](super::ControlUnit), and has none of its own.
pub trait ConnectionController: CloneBoxed + Debug + Send {
    /// The wanted state.
    fn wanted(&self) -> Windows;

    /// Takes the first round-trip time that is known: the windows of an uncongested network (Algorithm 1, line 2).
    fn initialize(&mut self, now: Time, rtt: Duration);

    /// Takes what was measured in an interval.
    fn handle_sample(&mut self, now: Time, sample: &Sample);
}

/// Copies a controller whose kind is not known: a simulated network is copied with its receivers.
pub trait CloneBoxed {
    /// A copy in the same state.
    fn clone_boxed(&self) -> Box<dyn ConnectionController>;
}

impl<C: ConnectionController + Clone + 'static> CloneBoxed for C {
    fn clone_boxed(&self) -> Box<dyn ConnectionController> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn ConnectionController> {
    fn clone(&self) -> Self {
        (**self).clone_boxed()
    }
}

/// What a receiver measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The smoothed throughput `T_m` of all connections together.
    pub throughput: Rate,
    /// The receiver's estimate of the round-trip time.
    pub rtt: Duration,
}
