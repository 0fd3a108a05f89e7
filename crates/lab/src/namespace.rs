//! Network namespaces without a name.
//!
//! A namespace is held by an open descriptor alone. Nothing stands in `/run/netns`, so that the kernel
//! takes the namespace away, with its interfaces, when the last process that uses it is gone, however it
//! ended.

mod child;

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::process::{Child, Command};

use nix::sched::{CloneFlags, setns, unshare};

use crate::program;

/// A network namespace with its loopback interface up.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// A new namespace.
    ///
    /// Fails with `PermissionDenied` without `CAP_SYS_ADMIN` in the user namespace of the process, and where
    /// `ip` is missing.
    pub fn new() -> io::Result<Self> {
        let file = on_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        })?;
        let namespace = Self { file };
        namespace.ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Runs `work` on a thread of its own inside the namespace.
    ///
    /// What it opens there (sockets, TUN devices) belongs to the namespace wherever it is used later. Fails
    /// where the namespace may not be entered, and where `work` does.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_thread(|| {
            setns(&self.file, CloneFlags::CLONE_NEWNET)?;
            work()
        })
    }

    /// Starts `command` inside the namespace.
    ///
    /// The kernel kills it when the calling *thread* ends, so that nothing outlives the lab. Fails where the
    /// program cannot be started or the namespace may not be entered.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        child::spawn(&self.file, command)
    }

    /// Runs iproute2's `ip` inside the namespace; what it complains of becomes the error.
    pub fn ip(&self, arguments: &[&str]) -> io::Result<String> {
        let mut command = Command::new(program::IP.path());
        command.args(arguments);
        self.output(&mut command)
    }

    /// Runs `command` inside the namespace to its end and gives what it wrote to its standard output.
    ///
    /// Fails where it cannot be started and, with what it wrote to its standard error, where it fails.
    pub fn output(&self, command: &mut Command) -> io::Result<String> {
        let output = child::output(&self.file, command)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(io::Error::other(format!("{command:?}: {said}")))
    }

    /// Sets a network parameter of the namespace, by its path below `/proc/sys/net`; fails where the kernel
    /// does not have it or refuses the value.
    pub fn set(&self, parameter: &str, value: &str) -> io::Result<()> {
        let path = format!("/proc/sys/net/{parameter}");
        self.run(|| std::fs::write(&path, value))
            .map_err(|e| io::Error::new(e.kind(), format!("{path}: {e}")))
    }

    /// Joins two namespaces by a pair of virtual Ethernet interfaces, both called `name`, and gives each
    /// its address with the length of its network (`"10.1.1.1/24"`).
    ///
    /// Fails where one of them has an interface of that name, and where an address is none.
    pub fn join(&self, other: &Self, name: &str, addresses: [&str; 2]) -> io::Result<()> {
        let mut command = Command::new(program::IP.path());
        command.args(["link", "add", name, "type", "veth", "peer", "name", name]);
        // The other namespace is the program's standard input, and this is its name there.
        command.args(["netns", "/proc/self/fd/0"]);
        command.stdin(other.file.try_clone()?);
        self.output(&mut command)?;
        for (namespace, address) in [(self, addresses[0]), (other, addresses[1])] {
            namespace.ip(&["address", "add", address, "dev", name])?;
            namespace.ip(&["link", "set", name, "up"])?;
        }
        Ok(())
    }

    /// Adds a route to `destination` over `device`, with metrics as `ip route` names them
    /// (`["congctl", "reno"]`); fails where there is no such device, or no such congestion control.
    pub fn route(&self, destination: IpAddr, device: &str, metrics: &[String]) -> io::Result<()> {
        let mut command = Command::new(program::IP.path());
        command.args(["route", "replace", &destination.to_string(), "dev", device]);
        self.output(command.args(metrics))?;
        Ok(())
    }
}

/// Runs `work` on a thread that changes its namespaces, which therefore serves nothing else after it.
fn on_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

#[cfg(test)]
mod tests;
