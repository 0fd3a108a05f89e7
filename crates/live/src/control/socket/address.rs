//! The default locations of control sockets.

use std::env;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The directory of nodes that may write there.
const SYSTEM: &str = "/run/polypath";
/// The directory within that of a user.
const USER: &str = "polypath";

/// The default directories of control sockets, best first: that of the service manager
/// (`RUNTIME_DIRECTORY`), or else `/run/polypath` and `polypath` in `XDG_RUNTIME_DIR`.
#[must_use]
pub fn directories() -> Vec<PathBuf> {
    let given = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(managed) = given("RUNTIME_DIRECTORY") {
        return env::split_paths(&managed).take(1).collect();
    }
    let user = given("XDG_RUNTIME_DIR").map(|directory| Path::new(&directory).join(USER));
    [PathBuf::from(SYSTEM)].into_iter().chain(user).collect()
}

/// The default socket of the node with this TUN device in `directory`.
pub(super) fn socket_in(directory: &Path, tun: &str) -> PathBuf {
    directory.join(format!("{tun}.sock"))
}

/// The sockets in these directories, by name.
#[must_use]
pub fn sockets(directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = directories
        .iter()
        .filter_map(|directory| fs::read_dir(directory).ok())
        .flat_map(|entries| entries.filter_map(Result::ok))
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()))
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "sock")
        })
        .collect();
    found.sort();
    found
}
