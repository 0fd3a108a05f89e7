//! Why a lab did not come to its end.
//!
//! As usual, an error's text leaves its cause to [`std::error::Error::source`].

use std::io;
use std::path::PathBuf;

use polypath_live::tun::TunError;
use polypath_report::recorder::ReadEventsError;
use polypath_scenario::Scheme;
use polypath_sim::network::BuildError;

use crate::preflight::PreflightError;

/// Why a lab did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A lab cannot run here.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// The scenario makes no network.
    #[error(transparent)]
    Scenario(#[from] BuildError),
    /// A namespace could not be set up.
    #[error("cannot set up a network namespace")]
    Namespace(#[source] io::Error),
    /// A device could not be set up.
    #[error(transparent)]
    Device(#[from] TunError),
    /// The media file to be transferred could not be read, or is empty.
    #[error("cannot transfer the clip")]
    TransferFile(#[source] io::Error),
    /// The folder in which files are to be kept cannot be used, or is not empty.
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
        /// What happened.
        source: io::Error,
    },
    /// A transfer could not be attempted.
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
        /// What is wrong with it.
        source: ReadEventsError,
    },
    /// Signals could not be caught.
    #[error("cannot catch signals")]
    Signals(#[source] io::Error),
    /// The lab was told to stop.
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// The failure of a scheme's programs.
    pub(crate) fn of(scheme: Scheme, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::Interrupted => Self::Interrupted,
            _ => Self::Programs { scheme, source },
        }
    }
}

impl From<io::Error> for LabError {
    /// A wait that was interrupted, or a transfer that could not be attempted.
    fn from(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::Interrupted => Self::Interrupted,
            _ => Self::Transfer(source),
        }
    }
}
