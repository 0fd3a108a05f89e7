//! The paths of a file with the traffic that loads them.

use crate::background::{Background, Profile};
use crate::path::Path;
use crate::tcp::Tcp;

/// Paths between a server and a client under load: all that determines the simulated network of a
/// file.
#[derive(Clone, Copy, Debug)]
pub struct LoadedPaths<'a> {
    /// The paths, in the order of their numbers.
    pub paths: &'a [Path],
    /// The traffic that loads them.
    pub background: &'a Background,
    /// TCP of the background hosts.
    pub tcp: &'a Tcp,
}

impl<'a> LoadedPaths<'a> {
    /// The background profile of a path, if it carries background traffic.
    #[must_use]
    pub fn profile(&self, path: &Path) -> Option<&'a Profile> {
        match self.background {
            Background::Off => None,
            Background::Profiles(profiles) => profiles.get(path.background.as_ref()?),
        }
    }

    /// The background profile of the sources of a path that send towards the server, if it carries
    /// background traffic.
    #[must_use]
    pub fn profile_back(&self, path: &Path) -> Option<&'a Profile> {
        match (self.background, &path.background_back) {
            (Background::Profiles(profiles), Some(name)) => profiles.get(name),
            _ => self.profile(path),
        }
    }
}
