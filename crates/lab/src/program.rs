//! The system's programs that a lab runs.

use std::env;
use std::path::{Path, PathBuf};

/// A program that a lab needs, with the Debian package that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    name: &'static str,
    package: &'static str,
}

/// iproute2's `ip`, which configures interfaces and routes.
pub(crate) const IP: Program = Program::new("ip", "iproute2");
/// iproute2's `ss`, which lists sockets.
pub(crate) const SS: Program = Program::new("ss", "iproute2");
/// The HTTP server.
pub(crate) const HTTP_SERVER: Program = Program::new("lighttpd", "lighttpd");
/// The HTTP client.
pub(crate) const HTTP_CLIENT: Program = Program::new("curl", "curl");

/// SRT's program for live streams, of which no Debian package has one with bonding.
pub(crate) const SRT: Program = Program::new("srt-test-live", "");
/// The programs of librist.
pub(crate) const RIST_SENDER: Program = Program::new("ristsender", "rist-tools");
pub(crate) const RIST_RECEIVER: Program = Program::new("ristreceiver", "rist-tools");

/// iputils' `ping`, which tests use.
pub(crate) const PING: Program = Program::new("ping", "iputils-ping");

/// All programs that a lab needs.
pub(crate) const ALL: [Program; 4] = [IP, SS, HTTP_SERVER, HTTP_CLIENT];

impl Program {
    const fn new(name: &'static str, package: &'static str) -> Self {
        Self { name, package }
    }

    /// The name of the program.
    pub(crate) const fn name(self) -> &'static str {
        self.name
    }

    /// The Debian package that contains it.
    pub(crate) const fn package(self) -> &'static str {
        self.package
    }

    /// The path of the program, or its bare name if it is not found.
    pub(crate) fn path(self) -> PathBuf {
        self.find().unwrap_or_else(|| self.name.into())
    }

    /// The path of the program: in a directory of `PATH` or in one of Debian's sbin directories,
    /// which are not in the `PATH` of ordinary users.
    pub(crate) fn find(self) -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let system_directories = ["/usr/sbin", "/sbin"].map(PathBuf::from);
        env::split_paths(&path)
            .chain(system_directories)
            .map(|directory| directory.join(self.name))
            .find(|candidate| is_executable(candidate))
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_installed_programs_are_found() {
        assert!(Program::new("sh", "dash").find().is_some());
        assert!(Program::new("no-such-program", "none").find().is_none());
        assert!(Program::new("", "none").find().is_none());
    }
}
