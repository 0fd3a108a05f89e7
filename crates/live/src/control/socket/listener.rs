//! The listening end of the control socket.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use super::address::{directories, socket_in};
use super::client::connect;
use crate::config::Control;

/// The user and group of the node may connect.
const MODE: u32 = 0o660;
/// The longest path of a Unix socket in bytes (`sun_path` without the terminating zero).
const MAX_PATH: usize = 107;

/// An error in opening a control socket.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Another node listens there.
    #[error(
        "control socket {path}: another node answers there; stop it, or give this one another \
         `control.socket`",
        path = .0.display()
    )]
    InUse(PathBuf),
    /// The path is another kind of file.
    #[error(
        "control socket {path}: the file is not a socket; remove it, or give the node another \
         `control.socket`",
        path = .0.display()
    )]
    NoSocket(PathBuf),
    /// The path is too long.
    #[error(
        "control socket {path}: the path is longer than {MAX_PATH} bytes; give the node a shorter \
         `control.socket`",
        path = .0.display()
    )]
    TooLong(PathBuf),
    /// Another error.
    #[error(
        "control socket {path}: {source}; name a file in a directory that exists and can be written with \
         `control.socket`, or write `control = \"off\"`",
        path = path.display()
    )]
    Io {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A listening socket; dropping it removes the file.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    inode: u64,
}

impl ControlSocket {
    /// Opens the socket that `control` configures for the node with this TUN device.
    ///
    /// Returns `None` if it is off, or if it has no name and none of the default directories can be
    /// used.
    pub(crate) fn configured(control: &Control, tun: &str) -> Result<Option<Self>, ControlError> {
        match control {
            Control::Off(_) => Ok(None),
            Control::Socket(config) => match &config.socket {
                Some(path) => Self::open(path).map(Some),
                None => Ok(Self::open_default(tun)),
            },
        }
    }

    /// Whether this is the socket that `control` configures for the node with this TUN device.
    pub(crate) fn is_at(&self, control: &Control, tun: &str) -> bool {
        match control {
            Control::Off(_) => false,
            Control::Socket(config) => match &config.socket {
                Some(path) => *path == self.path,
                None => directories()
                    .iter()
                    .any(|directory| socket_in(directory, tun) == self.path),
            },
        }
    }

    /// Opens the socket in the first default directory that can be used.
    fn open_default(tun: &str) -> Option<Self> {
        for directory in directories() {
            match Self::open_in(&directory, tun) {
                Ok(socket) => return Some(socket),
                Err(error @ ControlError::Io { .. }) => tracing::debug!("{error}"),
                Err(error) => {
                    tracing::warn!("{error}; this node has no control socket");
                    return None;
                }
            }
        }
        tracing::info!(
            "no control socket: neither /run/polypath nor $XDG_RUNTIME_DIR can be written; name one with \
             `control.socket`"
        );
        None
    }

    fn open_in(directory: &Path, tun: &str) -> Result<Self, ControlError> {
        match fs::create_dir(directory) {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                let path = directory.to_owned();
                Err(ControlError::Io { path, source })
            }
            _ => Self::open(&socket_in(directory, tun)),
        }
    }

    /// Listens at `path`; a socket that a killed node has left is replaced.
    pub(crate) fn open(path: &Path) -> Result<Self, ControlError> {
        check_replaceable(path)?;
        let error = |source| ControlError::Io {
            path: path.to_owned(),
            source,
        };
        // The mode is set under a temporary name, and the rename replaces an old socket atomically.
        let mut draft = path.as_os_str().to_owned();
        draft.push(format!(".{}", std::process::id()));
        let draft = PathBuf::from(draft);
        if draft.as_os_str().len() > MAX_PATH {
            return Err(ControlError::TooLong(path.to_owned()));
        }
        let _ = fs::remove_file(&draft);
        let listener = UnixListener::bind(&draft).map_err(error)?;
        let installed = install(&listener, &draft, path).map_err(error);
        if installed.is_err() {
            let _ = fs::remove_file(&draft);
        }
        let (path, inode) = (path.to_owned(), installed?);
        Ok(Self {
            listener,
            path,
            inode,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Accepts a client; `WouldBlock` if none is waiting.
    pub(crate) fn accept(&self) -> io::Result<UnixStream> {
        let (stream, _) = self.listener.accept()?;
        stream.set_nonblocking(false)?;
        Ok(stream)
    }
}

fn install(listener: &UnixListener, draft: &Path, path: &Path) -> io::Result<u64> {
    listener.set_nonblocking(true)?;
    fs::set_permissions(draft, Permissions::from_mode(MODE))?;
    let inode = fs::metadata(draft)?.ino();
    fs::rename(draft, path)?;
    Ok(inode)
}

/// Checks that a socket may replace the file at `path`, if there is one.
fn check_replaceable(path: &Path) -> Result<(), ControlError> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !metadata.file_type().is_socket() {
        return Err(ControlError::NoSocket(path.to_owned()));
    }
    match connect(path) {
        Ok(_) => Err(ControlError::InUse(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Err(ControlError::InUse(path.to_owned()))
        }
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Err(source) => Err(ControlError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // Another node may have replaced the socket.
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ControlConfig, Off};

    #[test]
    fn the_socket_of_an_ended_node_is_replaced_and_that_of_a_running_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pp0.sock");
        drop(UnixListener::bind(&path).unwrap());
        let socket = ControlSocket::open(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, MODE);
        UnixStream::connect(&path).unwrap();
        let error = ControlSocket::open(&path).unwrap_err();
        assert!(matches!(error, ControlError::InUse(_)), "{error}");
        assert!(error.to_string().contains("control.socket"), "{error}");
        let names = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(names, 1, "no draft is left");
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn a_socket_replaced_by_another_node_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pp0.sock");
        let first = ControlSocket::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let second = ControlSocket::open(&path).unwrap();
        drop(first);
        UnixStream::connect(&path).unwrap();
        drop(second);
    }

    #[test]
    fn errors_name_the_path_and_a_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let long = directory.path().join("x".repeat(MAX_PATH));
        let nowhere = directory.path().join("none/pp0.sock");
        for path in [file, long, nowhere] {
            let socket = Some(path.clone());
            let control = Control::Socket(ControlConfig { socket });
            let error = ControlSocket::configured(&control, "pp0").unwrap_err();
            let message = error.to_string();
            assert!(message.contains("control.socket"), "{message}");
            assert!(message.contains(&path.display().to_string()), "{message}");
        }
        let off = Control::Off(Off::Off);
        assert!(ControlSocket::configured(&off, "pp0").unwrap().is_none());
    }
}
