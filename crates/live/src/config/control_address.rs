//! The control address of a node, read from its configuration file.

use std::path::{Path, PathBuf};

use polypath_document::{self as document, FileKind, file};

use super::{LoadError, NodeConfig};

/// The address at which the node of a configuration file answers.
///
/// Other mistakes in the file do not matter: the node may still run with an earlier version of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlAddress {
    /// The socket that the file names.
    Socket(PathBuf),
    /// The default socket of the node with this TUN device.
    Device(String),
    /// None: `control = "off"`.
    Off,
}

impl ControlAddress {
    /// Reads the address from the file `path`.
    ///
    /// # Errors
    /// Where the file cannot be read, is a relay's, or names neither a socket nor a TUN device; the
    /// error then lists all mistakes in the file.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        let text = file::read_text(path, &[FileKind::Node])?;
        let string = |keys: &[&str]| document::string_at(&text, keys);
        if string(&["control"]).is_some_and(|control| control == "off") {
            return Ok(Self::Off);
        }
        if let Some(socket) = string(&["control", "socket"]) {
            let directory = path.parent().unwrap_or(Path::new(""));
            return Ok(Self::Socket(directory.join(socket)));
        }
        if let Some(device) = string(&["node", "tun", "name"]) {
            return Ok(Self::Device(device));
        }
        let config = NodeConfig::parse(&text, &path.display().to_string())?;
        Ok(Self::Device(config.node.name()))
    }
}
