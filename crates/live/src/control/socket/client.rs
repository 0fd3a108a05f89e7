//! The client side of the control socket.

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

/// The time limit of a request, longer than the node's own limit for its packet thread.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// The longest answer in bytes, many times that of 64 paths.
const MAX_ANSWER: usize = 1 << 20;

/// An error in requesting the status of a node.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The socket does not exist.
    #[error(
        "{path}: no such socket; is the node running? Start it with `polypath node FILE`",
        path = .0.display()
    )]
    Missing(PathBuf),
    /// The node of the socket has ended.
    #[error(
        "{path}: connection refused, the node of this socket has ended; start it with `polypath node FILE`",
        path = .0.display()
    )]
    Dead(PathBuf),
    /// The path is not a socket.
    #[error(
        "{path}: this is not a socket; name the control socket of a node, or its TUN device",
        path = .0.display()
    )]
    NoSocket(PathBuf),
    /// The user lacks the permission to connect.
    #[error(
        "{path}: permission denied; run it with sudo, or {remedy}",
        path = path.display(),
        remedy = remedy(group)
    )]
    NotPermitted {
        /// The socket.
        path: PathBuf,
        /// The group whose members may connect.
        group: String,
    },
    /// The node did not answer in time.
    #[error("{path}: the node does not answer within 5 s", path = .0.display())]
    Late(PathBuf),
    /// The node refused the request.
    #[error("{path}: the node refused: {message}", path = path.display())]
    Refused {
        /// The socket.
        path: PathBuf,
        /// The node's message.
        message: String,
    },
    /// The answer is not of this version of the protocol.
    #[error(
        "{path}: the answer is not of version {VERSION} of the protocol; are `polypath` here and the node of \
         the same version?",
        path = .0.display()
    )]
    Unintelligible(PathBuf),
    /// Another error.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Whether a node listens at `path`; also where the user lacks the permission to connect.
#[must_use]
pub fn is_answered(path: &Path) -> bool {
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    !connect(path).is_err_and(refused)
}

/// Connects to the node that listens at `path`.
///
/// # Errors
/// `WouldBlock` if its backlog is full, where a blocking `connect` would hang.
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

/// The remedy for a socket that only this group may access.
fn remedy(group: &str) -> String {
    if group == "root" {
        return "give the node a user of its own, whose group may then connect (`user` in its `[node]`)".to_owned();
    }
    format!(
        "become a member of the group {group}, as with `sudo usermod -aG {group} $USER` before you log in again"
    )
}

/// The group of the socket `path`, or that of the package if it cannot be read.
fn group_of(path: &Path) -> String {
    let gid = fs::metadata(path).map(|metadata| metadata.gid()).ok();
    let group = gid.and_then(|gid| Group::from_gid(Gid::from_raw(gid)).ok().flatten());
    group.map_or_else(|| "polypath".to_owned(), |group| group.name)
}

/// Requests the status of the node that listens at `path`: [`crate::stats::Stats`] as JSON.
pub fn status(path: &Path) -> Result<Value, StatusError> {
    let error = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => StatusError::Missing(path.to_owned()),
        io::ErrorKind::ConnectionRefused if !is_socket(path) => {
            StatusError::NoSocket(path.to_owned())
        }
        io::ErrorKind::ConnectionRefused => StatusError::Dead(path.to_owned()),
        io::ErrorKind::PermissionDenied => StatusError::NotPermitted {
            path: path.to_owned(),
            group: group_of(path),
        },
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => StatusError::Late(path.to_owned()),
        io::ErrorKind::InvalidData => StatusError::Unintelligible(path.to_owned()),
        _ => StatusError::Io {
            path: path.to_owned(),
            source,
        },
    };
    let stream = connect(path).map_err(error)?;
    let mut stream = DeadlineStream::new(stream, TIME_LIMIT);
    let request = format!("{{\"version\":{VERSION},\"request\":\"status\"}}\n");
    // A node that refuses a client answers before it reads the request.
    let _ = stream.write(request.as_bytes());
    let answer = stream.read_until(b"\n", MAX_ANSWER).map_err(error)?;
    let answer = answer.and_then(|answer| serde_json::from_slice::<Value>(&answer).ok());
    let unintelligible = || StatusError::Unintelligible(path.to_owned());
    let mut answer = answer.ok_or_else(unintelligible)?;
    if let Some(message) = answer["error"]["message"].as_str() {
        return Err(StatusError::Refused {
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
    fn a_node_with_a_full_backlog_is_late() {
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
        assert!(matches!(status(&path), Err(StatusError::Late(_))));
        assert!(is_answered(&path));
    }
}
