//! The prerequisites of a lab, and the remedies if one is missing.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use polypath_live::priority;

use crate::namespace::Namespace;
use crate::program::{self, Program};

const TUN: &str = "/dev/net/tun";

/// A missing prerequisite of the lab, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// Programs are not installed.
    #[error("the lab needs {programs}, not found in PATH: apt-get install {packages}")]
    Programs {
        /// The names of the programs.
        programs: String,
        /// The Debian packages that contain them.
        packages: String,
    },
    /// Network namespaces cannot be created.
    #[error(
        "cannot create network namespaces ({0}): run as root, or allow unprivileged user namespaces \
         (sysctl kernel.unprivileged_userns_clone=1; kernel.apparmor_restrict_unprivileged_userns=0)"
    )]
    Namespace(io::Error),
    /// TUN devices cannot be created.
    #[error(
        "cannot open {TUN} ({0}): run as root; in an unprivileged user namespace it must be accessible to all users \
         (chmod 0666 {TUN}, once, as root); in a container it must be passed in (docker run --device {TUN})"
    )]
    Tun(io::Error),
    /// The kernel's TCP lacks a congestion control; the text names the remedy.
    #[error("{0}")]
    Tcp(String),
    /// The kernel's Multipath TCP cannot be used; the text names the remedy.
    #[error("{0}")]
    Mptcp(String),
    /// SRT's program for live streams is not installed; Debian's package has no bonding.
    #[error(
        "`srt-test-live` with bonding was not found in PATH: scripts/srt.sh builds it and prints its path"
    )]
    Srt,
}

/// The capabilities of this machine that a lab can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabCapabilities {
    /// Whether the emulation's thread may have a real-time priority; without it the bound on
    /// lateness is wider.
    pub realtime: bool,
}

/// Checks that a lab can run in this process; the error is the missing prerequisite.
///
/// It tries a namespace and the TUN driver, and looks for `ip`, `ss`, the HTTP server and the HTTP
/// client.
pub fn preflight() -> Result<LabCapabilities, PreflightError> {
    require(&program::ALL)?;
    let namespace = Namespace::new().map_err(PreflightError::Namespace)?;
    namespace
        .run(|| OpenOptions::new().read(true).write(true).open(TUN))
        .map_err(PreflightError::Tun)?;
    let realtime = std::thread::scope(|s| s.spawn(|| priority::realtime(1).is_ok()).join());
    Ok(LabCapabilities {
        realtime: realtime.unwrap_or(false),
    })
}

/// Fails with all of these programs that are not installed.
pub(crate) fn require(programs: &[Program]) -> Result<(), PreflightError> {
    let missing = programs.iter().filter(|program| program.find().is_none());
    let missing: Vec<Program> = missing.copied().collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(PreflightError::missing_programs(&missing))
}

/// Whether tests of the lab can run here; they also need `ping`.
///
/// Writes the missing prerequisite to standard error directly, since the test harness captures the
/// output of a passing test.
#[must_use]
pub fn can_test() -> bool {
    let missing = require(&[program::PING])
        .and_then(|()| preflight().map(|_| ()))
        .err();
    if let Some(missing) = &missing {
        // A failed write to standard error has no one to report it to.
        let _ = writeln!(io::stderr(), "skipped: {missing}");
    }
    missing.is_none()
}

/// Moves an unprivileged process into a user namespace of its own, in which it may create network
/// namespaces; does nothing for root.
///
/// The kernel allows this only for a single-threaded process: call it first in `main`.
pub fn enter_user_namespace() -> Result<(), PreflightError> {
    let (user, group) = (geteuid(), getegid());
    if user.is_root() {
        return Ok(());
    }
    let enter = || -> io::Result<()> {
        unshare(CloneFlags::CLONE_NEWUSER)?;
        let own = Path::new("/proc/self");
        std::fs::write(own.join("setgroups"), "deny")?;
        std::fs::write(own.join("uid_map"), format!("0 {user} 1"))?;
        std::fs::write(own.join("gid_map"), format!("0 {group} 1"))
    };
    enter().map_err(PreflightError::Namespace)
}

impl PreflightError {
    fn missing_programs(missing: &[Program]) -> Self {
        let programs: Vec<String> = missing.iter().map(|p| format!("`{}`", p.name())).collect();
        let packages: BTreeSet<&str> = missing.iter().map(|p| p.package()).collect();
        Self::Programs {
            programs: programs.join(", "),
            packages: packages.into_iter().collect::<Vec<&str>>().join(" "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_remedy() {
        let missing =
            PreflightError::missing_programs(&[program::IP, program::SS, program::HTTP_SERVER])
                .to_string();
        assert_eq!(
            missing,
            "the lab needs `ip`, `ss`, `lighttpd`, not found in PATH: apt-get install iproute2 lighttpd"
        );
        let tun = PreflightError::Tun(io::ErrorKind::PermissionDenied.into()).to_string();
        assert!(tun.contains("chmod 0666 /dev/net/tun"), "{tun}");
    }

    #[test]
    fn the_check_agrees_with_what_the_system_allows() {
        let device = || {
            let namespace = Namespace::new().ok()?;
            let add = ["tuntap", "add", "p1", "mode", "tun"];
            namespace.ip(&add).ok()
        };
        match preflight() {
            Ok(_) => assert!(device().is_some()),
            // A program may be missing although devices can be created.
            Err(PreflightError::Programs { programs, .. }) => {
                for program in program::ALL {
                    let is_named = programs.contains(&format!("`{}`", program.name()));
                    assert_eq!(program.find().is_none(), is_named, "{programs}");
                }
            }
            Err(error) => assert!(device().is_none(), "{error}"),
        }
    }
}
