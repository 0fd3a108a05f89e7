//! The library that the wrapped program loads.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::failure::Failure;

/// Its file name.
const NAME: &str = "libpolypath_wrap.so";
/// The environment variable that names it.
const VARIABLE: &str = "POLYPATH_WRAP_LIBRARY";
/// Its folder in the package, from that of the program.
const PACKAGED: &str = "../lib/polypath";

/// The library: the one that the environment names, or the one beside this program.
pub(super) fn find() -> Result<PathBuf, Failure> {
    if let Some(path) = env::var_os(VARIABLE).map(PathBuf::from) {
        return match path.canonicalize() {
            Ok(found) => Ok(found),
            Err(error) => Err(Failure::input(format!(
                "{VARIABLE} names {}: {error}",
                path.display()
            ))),
        };
    }
    let program = env::current_exe().context("finding this program")?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = [folder.join(NAME), folder.join(PACKAGED).join(NAME)];
    let found = places.iter().find_map(|place| place.canonicalize().ok());
    found.ok_or_else(|| {
        Failure::Machine(anyhow::anyhow!(
            "there is no {NAME} in {} or {PACKAGED} from there: install the package, build it beside this program with \
             `cargo build -p polypath-wrap`, or name it by {VARIABLE}",
            folder.display()
        ))
    })
}

/// The file beside the socket for questions that the first process with the library removes.
pub(super) struct LoadMarker(PathBuf);

impl LoadMarker {
    /// Creates it.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub(super) fn beside(socket: &Path) -> io::Result<Self> {
        let path = socket.with_extension("not-loaded");
        File::create(&path)?;
        Ok(Self(path))
    }

    /// Warns if no process has loaded the library so far.
    pub(super) fn warn(&self) {
        if self.0.exists() {
            tracing::warn!(
                "the program has not loaded the library so far, and has plain TCP: it may be linked \
                 statically, run with more rights than its user, or use another C library"
            );
        }
    }
}

/// The list of libraries to load: this one before those that the user has.
pub(super) fn preload(library: &Path) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}
