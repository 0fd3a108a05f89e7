//! The defects of state files, with their remedies.

use std::io;

use super::VERSION;
use crate::privilege;

/// The reason why a kept state is not used, or cannot be kept.
#[derive(Debug, thiserror::Error)]
pub(in crate::node) enum StateError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is not a regular file")]
    NotRegular,
    #[error("not a state file: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("it has version {0}, and this program reads {VERSION}")]
    Version(u32),
    #[error("it belongs to another peer")]
    OtherPeer,
    #[error("its time is more than a day ahead of this machine's clock")]
    Ahead,
    #[error("it cannot be written: {0}")]
    Unwritable(io::Error),
    #[error("another node keeps its state there")]
    InUse,
}

impl StateError {
    /// The correction for a node that starts all the same.
    pub(super) const fn remedy(&self) -> &'static str {
        match self {
            Self::Io(_) => "let the user that the node runs as read and write it",
            Self::NotRegular => "name a regular file, or one that does not exist",
            Self::Malformed(_) | Self::Version(_) => {
                "nothing to do if it is an old state file: the node replaces it; else name another file"
            }
            Self::OtherPeer => {
                "nothing to do if this node has a new peer: the node replaces it; else give each node a file of its own"
            }
            Self::Ahead => {
                "set this machine's clock if it is behind; else nothing to do: the node replaces the time when its \
                 peer has a new handshake"
            }
            Self::Unwritable(_) => {
                "the node continues, but after a restart it answers replayed handshakes, and waits for the peer to \
                 start a handshake where it has no `remote`; let the user that the node runs as create files in this \
                 directory, which must exist, and start it again"
            }
            Self::InUse => "give each node a file of its own, or stop the other node",
        }
    }

    /// The correction for a node that does not start, since a path has a quota.
    pub(in crate::node) fn quota_remedy(&self) -> String {
        let user = privilege::current_user();
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::IsADirectory => {
                "name a file in it".to_owned()
            }
            Self::Io(_) => format!("let the user `{user}`, as which the node runs, read it"),
            Self::Malformed(_) => {
                "name another file if it is not the node's; else restore it, or remove it to begin a new count"
                    .to_owned()
            }
            Self::Version(_) => {
                "update polypath, or remove the file to begin a new count".to_owned()
            }
            Self::Unwritable(_) => format!(
                "let the user `{user}`, as which the node runs, create files in its directory, which must exist, or \
                 run it as another `user` in `[node]`"
            ),
            Self::NotRegular | Self::OtherPeer | Self::Ahead | Self::InUse => {
                self.remedy().to_owned()
            }
        }
    }
}
