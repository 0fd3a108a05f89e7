//! The defects of state files, with their remedies.

use std::io;

use serde_json::error::Category;

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
    #[error("{}", defect_of(.0))]
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
    pub(super) fn remedy(&self) -> &'static str {
        match self {
            Self::Io(error) => {
                location_remedy(error).unwrap_or("let the user that the node runs as read and write it")
            }
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
            Self::Unwritable(error) => location_remedy(error).unwrap_or(
                "let the user that the node runs as create files in this directory, which must exist, and start it \
                 again",
            ),
            Self::InUse => "give each node a file of its own, or stop the other node",
        }
    }

    /// The correction for a node that does not start, since a path has a quota.
    pub(in crate::node) fn quota_remedy(&self) -> String {
        let user = privilege::current_user();
        match self {
            Self::Io(error) | Self::Unwritable(error) if location_remedy(error).is_some() => {
                self.remedy().to_owned()
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

/// The correction where the path of the file is wrong, whoever the user is.
fn location_remedy(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::IsADirectory => Some("name a file in it"),
        io::ErrorKind::ReadOnlyFilesystem => {
            Some("name a file on another file system, or have this one mounted for writing")
        }
        _ => None,
    }
}

/// The defect of a file that is not a state.
fn defect_of(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        Category::Eof if (line, column) == (1, 0) => "it is empty".to_owned(),
        Category::Eof => "it is cut off".to_owned(),
        Category::Data => format!("it is not a state file: {error}"),
        _ => format!("it is not a state file: line {line}, column {column} is wrong"),
    }
}
