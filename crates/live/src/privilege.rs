//! Drops privileges once the TUN device and the sockets are open.

use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::libc;
use nix::unistd::{Uid, User, chown, setgroups, setresgid, setresuid};

/// The users for a process that root starts without naming one, best first.
const DEFAULT_USERS: [&str; 2] = ["polypath", "nobody"];

/// An error in dropping privileges.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// The user does not exist.
    #[error("user: there is no user `{0}`; create one (`useradd --system {0}`) or name another")]
    NoUser(String),
    /// Only root can change its user.
    #[error("user: only root can become `{0}`; start it as root, or leave `user` out")]
    NotRoot(String),
    /// The system refused.
    #[error("user: privileges cannot be dropped: {0}; `user = \"root\"` keeps them")]
    Refused(#[from] io::Error),
    /// The system lets the process become root again.
    #[error(
        "user: the process could become root again; start it without the securebits of capabilities(7)"
    )]
    Regained,
}

impl From<Errno> for PrivilegeError {
    fn from(errno: Errno) -> Self {
        Self::Refused(errno.into())
    }
}

/// Changes the user of the process to `user`, if given, and drops the capabilities of the calling
/// thread, and of threads that it starts later, unless the user is then root.
pub fn drop_privileges(user: Option<&str>) -> Result<(), PrivilegeError> {
    let was_root = Uid::effective().is_root();
    if let Some(name) = user {
        become_user(name)?;
    }
    if Uid::effective().is_root() {
        if user.is_some() {
            tracing::warn!("the process keeps the privileges of root, as its file demands");
        }
        return Ok(());
    }
    drop_capabilities()?;
    if was_root {
        let root = Uid::from_raw(0);
        if setresuid(root, root, root).is_ok() {
            return Err(PrivilegeError::Regained);
        }
        tracing::info!(user, "the privileges of root are dropped");
    }
    Ok(())
}

/// The user for a process that root starts without naming one: that of the package, or else
/// `nobody`. `None` if the process is not root's.
pub(crate) fn default_user() -> Option<&'static str> {
    let [package, last] = DEFAULT_USERS;
    let user = if is_missing(package) { last } else { package };
    Uid::effective().is_root().then_some(user)
}

/// The name of the user of the process, or its number if it has no name.
pub(crate) fn current_user() -> String {
    let uid = Uid::effective();
    let user = User::from_uid(uid).ok().flatten();
    user.map_or_else(|| uid.to_string(), |user| user.name)
}

/// Keeps the process out of core dumps and from being traced by other processes of its user, which
/// could read the private key (`PR_SET_DUMPABLE` in `prctl(2)`). A change of user reverts it.
pub(crate) fn forbid_dumps() {
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        tracing::warn!("a core dump of this process could contain the private key: {error}");
    }
}

/// Makes `user` and its group the owners of the file `path`, if the process may.
pub(crate) fn hand_to(user: &str, path: &Path) -> Result<(), PrivilegeError> {
    let user = find(user)?;
    if Uid::effective().is_root() {
        chown(path, Some(user.uid), Some(user.gid))?;
    }
    Ok(())
}

/// Drops the capabilities of the calling thread, unless the process is root.
pub(crate) fn drop_thread_capabilities() {
    if !Uid::effective().is_root()
        && let Err(error) = drop_capabilities()
    {
        tracing::warn!("a thread keeps its capabilities: {error}");
    }
}

/// Whether the user database lacks this user; false if it cannot be read.
pub(crate) fn is_missing(name: &str) -> bool {
    matches!(User::from_name(name), Ok(None))
}

fn find(name: &str) -> Result<User, PrivilegeError> {
    User::from_name(name)?.ok_or_else(|| PrivilegeError::NoUser(name.to_owned()))
}

fn become_user(name: &str) -> Result<(), PrivilegeError> {
    let user = find(name)?;
    if Uid::effective() == user.uid {
        return Ok(());
    }
    if !Uid::effective().is_root() {
        return Err(PrivilegeError::NotRoot(name.to_owned()));
    }
    setgroups(&[user.gid])?;
    setresgid(user.gid, user.gid, user.gid)?;
    Ok(setresuid(user.uid, user.uid, user.uid)?)
}

/// Version of the two structures below (`_LINUX_CAPABILITY_VERSION_3`).
const VERSION: u32 = 0x2008_0522;

/// `struct __user_cap_header_struct` of capset(2).
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: libc::c_int,
}

/// `struct __user_cap_data_struct` of capset(2), of which version 3 takes two.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Capabilities {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

#[expect(
    unsafe_code,
    reason = "neither the standard library nor nix has this system call"
)]
fn drop_capabilities() -> io::Result<()> {
    let header = CapabilityHeader {
        version: VERSION,
        pid: 0,
    };
    let none = [Capabilities::default(); 2];
    // SAFETY: both structures have the layout of the call and outlive it, and the kernel keeps no
    // pointer.
    let done = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
    if done == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_user_is_named_in_the_error() {
        let error = drop_privileges(Some("no-such-user"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("`no-such-user`"), "{error}");
    }

    #[test]
    fn a_thread_without_capabilities_has_none() {
        let effective = || {
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("CapEff:"));
            line.unwrap().split_whitespace().nth(1).unwrap().to_owned()
        };
        // In a thread of its own: the others keep theirs.
        let left = std::thread::spawn(move || {
            drop_capabilities().unwrap();
            effective()
        });
        assert_eq!(left.join().unwrap(), "0000000000000000");
    }
}
