//! The controller interface and its input.

use alloc::boxed::Box;
use core::fmt::Debug;

use super::windows::Windows;
use crate::time::{Duration, Time};
use crate::units::Rate;

/// Decides the number of connections and their windows.
///
/// A [`ControlUnit`](super::ControlUnit) calls it at its deadlines; a controller has no deadline of
/// its own.
pub trait ConnectionController: CloneBoxed + Debug + Send {
    /// The wanted number of connections and windows.
    fn wanted(&self) -> Windows;

    /// Sets the windows for an uncongested network from the first round-trip time (Algorithm 1,
    /// line 2).
    fn initialize(&mut self, now: Time, rtt: Duration);

    /// Uses at most `most` connections from now on, at least 1; 1024 are no limit.
    fn limit(&mut self, most: u32);

    /// Sets the desired throughput, from the next sample on.
    fn set_rate(&mut self, rate: Rate);

    /// Updates the wanted state at the end of a sampling interval.
    fn handle_sample(&mut self, now: Time, sample: &Sample);
}

/// Clones a boxed controller, as cloning a simulated network requires.
pub trait CloneBoxed {
    /// Clones the controller with its state.
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

/// The measurements of one sampling interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The smoothed throughput `T_m` of all connections together.
    pub throughput: Rate,
    /// The receiver's estimate of the round-trip time.
    pub rtt: Duration,
    /// Whether the sender waited for its source, although it could have sent more: the throughput is
    /// then that of the source, and shows no congestion.
    pub is_application_limited: bool,
}
