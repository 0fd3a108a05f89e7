//! Why no failover could be measured.

use std::io;

use crate::LabError;

/// Why no failover could be measured.
#[derive(Debug, thiserror::Error)]
pub enum FailoverError {
    /// The lab.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// MPTCP is not to be had here.
    #[error("{0}")]
    Mptcp(String),
    /// No link has such a round trip.
    #[error("the round trip: {0}")]
    Rtt(String),
    /// A candidate does not come back after a silence.
    #[error("{who} has not settled a minute after a silence: {reason}")]
    Unsettled {
        /// Which.
        who: &'static str,
        /// What is still amiss.
        reason: String,
    },
    /// Sockets, programs, threads.
    #[error(transparent)]
    Io(io::Error),
    /// The process was told to stop.
    #[error("interrupted")]
    Interrupted,
}

impl FailoverError {
    /// Whether something is missing here, rather than gone wrong.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Mptcp(_) | Self::Lab(LabError::Preflight(_)))
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
