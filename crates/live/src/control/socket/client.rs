//! The asking end of the control socket.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group};
use polypath_core::time::Duration;
use serde_json::Value;
use socket2::{Domain, SockAddr, Socket, Type};

use super::VERSION;
use crate::deadline_stream::DeadlineStream;

/// How long a node may take: more than its own patience with its packet thread.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest answer that is read, in bytes: of 64 paths, 1 kB each, many times over.
const MOST_ANSWER: usize = 1 << 20;

/// Why a node did not tell its state.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// There is no socket.
    #[error(
        "{path}: there is no such socket; is the node running? Start it with `polypath node FILE`",
        path = .0.display()
    )]
    Missing(PathBuf),
    /// The node that had the socket has ended.
    #[error(
        "{path}: nobody answers, its node has ended; start it with `polypath node FILE`",
        path = .0.display()
    )]
    Dead(PathBuf),
    /// It is something else.
    #[error(
        "{path}: this is no socket; name the control socket of a node, or its TUN device",
        path = .0.display()
    )]
    NoSocket(PathBuf),
    /// The user may not ask.
    #[error(
        "{path}: you may not ask this node; run it with sudo, or {remedy}",
        path = path.display(),
        remedy = remedy(group)
    )]
    NotPermitted {
        /// The socket.
        path: PathBuf,
        /// The group that may ask.
        group: String,
    },
    /// It took too long.
    #[error("{path}: the node does not answer within 5 s", path = .0.display())]
    Late(PathBuf),
    /// The node refused.
    #[error("{path}: the node says: {message}", path = path.display())]
    Refused {
        /// The socket.
        path: PathBuf,
        /// What it said, in words.
        message: String,
    },
    /// What answers is no node, or one of another version.
    #[error(
        "{path}: the answer is not one of version {VERSION} of the protocol; are `polypath` here and the node of \
         the same version?",
        path = .0.display()
    )]
    Unintelligible(PathBuf),
    /// Anything else.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Whether a node answers at `path`, as far as the user may know: one that may not ask is told so when it does.
#[must_use]
pub fn is_answered(path: &Path) -> bool {
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    !connect(path).is_err_and(refused)
}

/// A connection to the node that listens at `path`; `WouldBlock` where so many wait there already that it is stuck, for
/// which the system's own call would wait without end.
pub(super) fn connect(path: &Path) -> io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.connect(&SockAddr::unix(path)?)?;
    socket.set_nonblocking(false)?;
    Ok(OwnedFd::from(socket).into())
}

fn is_socket(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// How others than the administrator come to ask a node whose socket has this group.
fn remedy(group: &str) -> String {
    if group == "root" {
        return "give the node a user of its own, whose group may then ask (`user` in its `[node]`)".to_owned();
    }
    format!(
        "become a member of the group {group}, as with `sudo usermod -aG {group} $USER` before you log in again"
    )
}

/// The group that may ask at `path`; that of the package where it cannot be seen.
fn group_of(path: &Path) -> String {
    let gid = fs::metadata(path).map(|metadata| metadata.gid()).ok();
    let group = gid.and_then(|gid| Group::from_gid(Gid::from_raw(gid)).ok().flatten());
    group.map_or_else(|| "polypath".to_owned(), |group| group.name)
}

/// The state of the node that listens at `path`, as [`crate::stats::Stats`] has it.
pub fn status(path: &Path) -> Result<Value, AskError> {
    let error = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => AskError::Missing(path.to_owned()),
        io::ErrorKind::ConnectionRefused if !is_socket(path) => AskError::NoSocket(path.to_owned()),
        io::ErrorKind::ConnectionRefused => AskError::Dead(path.to_owned()),
        io::ErrorKind::PermissionDenied => AskError::NotPermitted {
            path: path.to_owned(),
            group: group_of(path),
        },
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => AskError::Late(path.to_owned()),
        io::ErrorKind::InvalidData => AskError::Unintelligible(path.to_owned()),
        _ => AskError::Io {
            path: path.to_owned(),
            source,
        },
    };
    let stream = connect(path).map_err(error)?;
    let mut stream = DeadlineStream::new(stream, PATIENCE);
    let request = format!("{{\"version\":{VERSION},\"request\":\"status\"}}\n");
    // A node that refuses a client does so before it reads.
    let _ = stream.write(request.as_bytes());
    let answer = stream.read_until(b"\n", MOST_ANSWER).map_err(error)?;
    let answer = answer.and_then(|answer| serde_json::from_slice::<Value>(&answer).ok());
    let unintelligible = || AskError::Unintelligible(path.to_owned());
    let mut answer = answer.ok_or_else(unintelligible)?;
    if let Some(message) = answer["error"]["message"].as_str() {
        return Err(AskError::Refused {
            path: path.to_owned(),
            message: message.to_owned(),
        });
    }
    match answer["status"].take() {
        status @ Value::Object(_) if answer["version"] == VERSION => Ok(status),
        _ => Err(unintelligible()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_takes_nobody_any_more_is_told_as_late() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pp0.sock");
        let stuck = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        stuck.bind(&SockAddr::unix(&path).unwrap()).unwrap();
        stuck.listen(1).unwrap();
        let mut waiting = Vec::new();
        let last = loop {
            match connect(&path) {
                Ok(stream) => waiting.push(stream),
                Err(error) => break error,
            }
            assert!(waiting.len() < 10);
        };
        assert_eq!(last.kind(), io::ErrorKind::WouldBlock);
        assert!(matches!(status(&path), Err(AskError::Late(_))));
        assert!(is_answered(&path));
    }
}
