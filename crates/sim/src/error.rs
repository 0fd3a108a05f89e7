//! Errors of a run.

use crate::network::BuildError;
use crate::world::Overflow;

/// An error in running a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The network is impossible.
    #[error(transparent)]
    Network(#[from] BuildError),
    /// An unlimited queue exceeded the memory bound.
    #[error(transparent)]
    Overflow(#[from] Overflow),
    /// The overlay is impossible.
    #[error("overlay: {0}")]
    Overlay(#[from] polypath_core::endpoint::ConfigError),
    /// The sample interval is 0, so a run would never end.
    #[error("the interval between samples must be more than 0")]
    Interval,
}
