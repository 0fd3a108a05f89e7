//! Whether a lab can run here, and what to do where it cannot.

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

/// Why a lab cannot run here, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// Programs are missing.
    #[error("the lab needs {programs}, not found in PATH: apt-get install {packages}")]
    Programs {
        /// The programs.
        programs: String,
        /// The Debian packages that bring them.
        packages: String,
    },
    /// Network namespaces cannot be made.
    #[error(
        "may not make network namespaces ({0}): run as root, or allow unprivileged user namespaces \
         (sysctl kernel.unprivileged_userns_clone=1; kernel.apparmor_restrict_unprivileged_userns=0)"
    )]
    Namespace(io::Error),
    /// TUN devices cannot be made.
    #[error(
        "cannot open {TUN} ({0}): run as root; in an unprivileged user namespace it must be open to all \
         (chmod 0666 {TUN}, once, as root); in a container it must be given (docker run --device {TUN})"
    )]
    Tun(io::Error),
}

/// What a lab can expect here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabCapabilities {
    /// Whether the network's thread may have a real-time priority; without it the bound on its lateness
    /// is wider.
    pub realtime: bool,
}

/// Whether a lab can run in this process, and if not, why.
///
/// It asks for a namespace, the TUN driver, `ip`, `ss`, the HTTP server and the HTTP client.
pub fn preflight() -> Result<LabCapabilities, PreflightError> {
    let missing = program::ALL.into_iter().filter(|p| p.find().is_none());
    let missing: Vec<Program> = missing.collect();
    if !missing.is_empty() {
        return Err(PreflightError::of(&missing));
    }
    let namespace = Namespace::new().map_err(PreflightError::Namespace)?;
    namespace
        .run(|| OpenOptions::new().read(true).write(true).open(TUN))
        .map_err(PreflightError::Tun)?;
    let realtime = std::thread::scope(|s| s.spawn(|| priority::realtime(1).is_ok()).join());
    Ok(LabCapabilities {
        realtime: realtime.unwrap_or(false),
    })
}

/// Whether a test of the lab can run here; the tests use `ping` besides.
///
/// Says why not on standard error itself, past the test harness, which would swallow what a passing test
/// prints.
#[must_use]
pub fn can_test() -> bool {
    let ping = match program::PING.find() {
        Some(_) => Ok(()),
        None => Err(PreflightError::of(&[program::PING])),
    };
    let refusal = ping.and_then(|()| preflight().map(|_| ())).err();
    if let Some(refusal) = &refusal {
        // Where nobody listens there is nobody to tell.
        let _ = writeln!(io::stderr(), "skipped: {refusal}");
    }
    refusal.is_none()
}

/// Gives a process without privileges a user namespace of its own, in which it may make network
/// namespaces; does nothing for root.
///
/// The kernel allows it only while the process has a single thread: call it first thing.
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
    fn of(missing: &[Program]) -> Self {
        let programs: Vec<String> = missing.iter().map(|p| format!("`{}`", p.name())).collect();
        // Each package once.
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
    fn a_refusal_names_the_remedy() {
        let missing =
            PreflightError::of(&[program::IP, program::SS, program::HTTP_SERVER]).to_string();
        assert_eq!(
            missing,
            "the lab needs `ip`, `ss`, `lighttpd`, not found in PATH: apt-get install iproute2 lighttpd"
        );
        let tun = PreflightError::Tun(io::ErrorKind::PermissionDenied.into()).to_string();
        assert!(tun.contains("chmod 0666 /dev/net/tun"), "{tun}");
    }

    #[test]
    fn it_allows_what_then_works_and_refuses_what_does_not() {
        let device = || {
            let namespace = Namespace::new().ok()?;
            let add = ["tuntap", "add", "p1", "mode", "tun"];
            namespace.ip(&add).ok()
        };
        match preflight() {
            Ok(_) => assert!(device().is_some()),
            // A program may be missing where devices can be made.
            Err(PreflightError::Programs { programs, .. }) => {
                for program in program::ALL {
                    let is_named = programs.contains(&format!("`{}`", program.name()));
                    assert_eq!(program.find().is_none(), is_named, "{programs}");
                }
            }
            Err(refusal) => assert!(device().is_none(), "{refusal}"),
        }
    }
}
