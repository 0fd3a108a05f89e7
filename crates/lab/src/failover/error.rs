//! Errors of the failover measurement.

use std::io;

use crate::LabError;

/// An error of the failover measurement.
#[derive(Debug, thiserror::Error)]
pub enum FailoverError {
    /// An error of the lab.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// No link can have this round-trip time.
    #[error("round-trip time: {0}")]
    Rtt(String),
    /// A candidate did not recover within a minute after a silence.
    #[error("{candidate} has not settled a minute after a silence: {reason}")]
    Unsettled {
        /// The name of the candidate.
        candidate: &'static str,
        /// The condition that it does not meet.
        reason: String,
    },
    /// An error of a socket, program or thread.
    #[error(transparent)]
    Io(io::Error),
    /// A signal stopped the process.
    #[error("interrupted")]
    Interrupted,
}

impl FailoverError {
    /// Whether this machine lacks a prerequisite.
    #[must_use]
    pub fn is_missing_prerequisite(&self) -> bool {
        matches!(self, Self::Lab(LabError::Preflight(_)))
    }
}

impl From<io::Error> for FailoverError {
    fn from(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::Interrupted => Self::Interrupted,
            _ => Self::Io(source),
        }
    }
}
