//! Why a lab did not come to its end.

use std::io;

use polypath_live::tun::TunError;
use polypath_sim::network::BuildError;

use crate::preflight::Refusal;

/// Why a lab did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A lab cannot run here.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The scenario makes no network.
    #[error(transparent)]
    Scenario(#[from] BuildError),
    /// A namespace could not be set up.
    #[error("cannot set up a network namespace")]
    Namespace(#[source] io::Error),
    /// A device could not be set up.
    #[error(transparent)]
    Device(#[from] TunError),
}
