//! Errors of a lab.
//!
//! An error's text does not include its cause, which [`std::error::Error::source`] returns.

use std::io;
use std::path::PathBuf;

use polypath_core::time::Duration;
use polypath_live::tun::TunError;
use polypath_report::recorder::ReadEventsError;
use polypath_scenario::Scheme;
use polypath_sim::network::BuildError;

use crate::preflight::PreflightError;

/// An error of a lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A prerequisite of the lab is missing.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// The scenario does not describe a valid network.
    #[error(transparent)]
    Scenario(#[from] BuildError),
    /// A namespace could not be set up.
    #[error("cannot set up a network namespace")]
    Namespace(#[source] io::Error),
    /// A device could not be set up.
    #[error(transparent)]
    Device(#[from] TunError),
    /// The media file to transfer could not be read or is empty.
    #[error("cannot read the file to transfer")]
    TransferFile(#[source] io::Error),
    /// The folder for the lab's files cannot be used or is not empty.
    #[error("cannot keep the lab's files")]
    Keep(#[source] io::Error),
    /// The emulated network failed.
    #[error("the emulated network failed")]
    Emulation(#[source] io::Error),
    /// A program of a scheme failed.
    #[error("scheme {scheme}")]
    Programs {
        /// The scheme.
        scheme: Scheme,
        /// The cause.
        source: io::Error,
    },
    /// The carriers of a media stream were not started before it began.
    #[error(
        "the nodes and programs took longer to start than the warm-up of {0}: raise media.warm_up"
    )]
    StartUp(Duration),
    /// A policy or another transport could not carry its stream.
    #[error("{carrier}")]
    Carrier {
        /// Its name.
        carrier: String,
        /// The cause.
        source: io::Error,
    },
    /// A transfer could not be started.
    #[error("cannot transfer")]
    Transfer(#[source] io::Error),
    /// The lab's own files could not be written or read.
    #[error("cannot use the lab's files")]
    Files(#[source] io::Error),
    /// The event stream of a node could not be read.
    #[error("{}", path.display())]
    Events {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ReadEventsError,
    },
    /// Signal handlers could not be installed.
    #[error("cannot install signal handlers")]
    Signals(#[source] io::Error),
    /// The lab was interrupted by a signal.
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// The error of a scheme's programs; [`Self::Interrupted`] if `source` is an interrupted wait.
    pub(crate) fn of_scheme(scheme: Scheme, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::Interrupted => Self::Interrupted,
            _ => Self::Programs { scheme, source },
        }
    }

    /// The error of a carrier's programs or stream.
    pub(crate) fn of_carrier(carrier: &str, source: io::Error) -> Self {
        let carrier = carrier.to_owned();
        Self::Carrier { carrier, source }
    }
}

impl From<io::Error> for LabError {
    /// [`LabError::Interrupted`] for an interrupted wait, else [`LabError::Transfer`].
    fn from(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::Interrupted => Self::Interrupted,
            _ => Self::Transfer(source),
        }
    }
}
