//! Where the node of a file is asked.

use std::path::{Path, PathBuf};

use polypath_document as document;

use super::{LoadError, NodeConfig, read};

/// Where the node of a file is asked, by what the file says, whatever else in it is wrong: the node may run with what it
/// said before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// At this socket.
    Socket(PathBuf),
    /// At the socket that the node with this TUN device has by itself.
    Device(String),
    /// Nowhere: `control = "off"`.
    Nowhere,
}

impl Whereabouts {
    /// What the file `path` says.
    ///
    /// # Errors
    /// Where it cannot be read, is a relay's, or has neither socket nor TUN device: then all that is wrong with it.
    pub fn of(path: &Path) -> Result<Self, LoadError> {
        let text = read(path, "node", "relay")?;
        let string = |keys: &[&str]| document::string_at(&text, keys);
        if string(&["control"]).is_some_and(|control| control == "off") {
            return Ok(Self::Nowhere);
        }
        if let Some(socket) = string(&["control", "socket"]) {
            let directory = path.parent().unwrap_or(Path::new(""));
            return Ok(Self::Socket(directory.join(socket)));
        }
        if let Some(device) = string(&["node", "tun", "name"]) {
            return Ok(Self::Device(device));
        }
        let config = NodeConfig::parse(&text, &path.display().to_string())?;
        Ok(Self::Device(config.node.tun.name))
    }
}
