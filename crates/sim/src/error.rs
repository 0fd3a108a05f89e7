//! Errors of a run.

use crate::network::BuildError;
use crate::world::Overflow;

/// An error in running a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The network is impossible.
    #[error(transparent)]
    Network(#[from] BuildError),
    /// A queue without a limit outgrew what memory is for.
    #[error(transparent)]
    Overflow(#[from] Overflow),
    /// The overlay is impossible.
    #[error("overlay: {0}")]
    Overlay(#[from] polypath_core::endpoint::ConfigError),
    /// Samples without time between them never come to an end.
    #[error("the interval between samples must be more than 0")]
    Interval,
}
