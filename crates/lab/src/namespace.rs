//! Anonymous network namespaces.
//!
//! Only an open descriptor holds a namespace, without an entry in `/run/netns`, so that the kernel
//! removes it with its interfaces when the last process that uses it exits, even if it is killed.

mod child;

use std::fs::{self, File};
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
    /// Creates a namespace.
    ///
    /// Fails with `PermissionDenied` without `CAP_SYS_ADMIN` in the user namespace of the process,
    /// and if `ip` is missing.
    pub fn new() -> io::Result<Self> {
        let file = on_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        })?;
        let namespace = Self { file };
        namespace.ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Runs `work` inside the namespace, on a thread of its own.
    ///
    /// Sockets and TUN devices that it opens belong to the namespace wherever they are used later.
    /// Fails if the namespace cannot be entered or `work` fails.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_thread(|| {
            setns(&self.file, CloneFlags::CLONE_NEWNET)?;
            work()
        })
    }

    /// Starts `command` inside the namespace.
    ///
    /// The kernel kills it when the calling *thread* ends, so that nothing outlives the lab. Fails
    /// if the program cannot be started or the namespace cannot be entered.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        child::spawn(&self.file, command)
    }

    /// Runs iproute2's `ip` inside the namespace; its standard error becomes the error text.
    pub fn ip(&self, arguments: &[&str]) -> io::Result<String> {
        let mut command = Command::new(program::IP.path());
        command.args(arguments);
        self.output(&mut command)
    }

    /// Runs `command` inside the namespace to its end and returns its standard output.
    ///
    /// Fails if it cannot be started, or with its standard error if it exits with an error.
    pub fn output(&self, command: &mut Command) -> io::Result<String> {
        let output = child::output(&self.file, command)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(io::Error::other(format!("{command:?}: {stderr}")))
    }

    /// A counter of the namespace's network stack, by its protocol and name in a file below
    /// `/proc/net`, such as `"netstat"`, `"TcpExt:"` and `"TCPDeliveredCE"`; `None` if the kernel
    /// does not have it. Fails if the file cannot be read.
    pub fn counter(&self, file: &str, protocol: &str, name: &str) -> io::Result<Option<u64>> {
        let path = format!("/proc/thread-self/net/{file}");
        let table = self.run(|| fs::read_to_string(path))?;
        Ok(counter(&table, protocol, name))
    }

    /// Sets a network parameter of the namespace by its path below `/proc/sys/net`; fails if the
    /// kernel does not have it or refuses the value.
    pub fn set(&self, parameter: &str, value: &str) -> io::Result<()> {
        let path = format!("/proc/sys/net/{parameter}");
        self.run(|| std::fs::write(&path, value))
            .map_err(|e| io::Error::new(e.kind(), format!("{path}: {e}")))
    }

    /// Connects two namespaces by a veth pair, both interfaces called `name`, with one address each
    /// in CIDR notation (`"10.1.1.1/24"`).
    ///
    /// Fails if either has an interface of that name or an address is invalid.
    pub fn join(&self, other: &Self, name: &str, addresses: [&str; 2]) -> io::Result<()> {
        let mut command = Command::new(program::IP.path());
        command.args(["link", "add", name, "type", "veth", "peer", "name", name]);
        // `ip` finds the other namespace as its standard input.
        command.args(["netns", "/proc/self/fd/0"]);
        command.stdin(other.file.try_clone()?);
        self.output(&mut command)?;
        for (namespace, address) in [(self, addresses[0]), (other, addresses[1])] {
            namespace.ip(&["address", "add", address, "dev", name])?;
            namespace.ip(&["link", "set", name, "up"])?;
        }
        Ok(())
    }

    /// Sets the route to `destination` over `device`, with metrics in the syntax of `ip route`
    /// (`["congctl", "reno"]`); fails if the device or the congestion control does not exist.
    pub fn route(&self, destination: IpAddr, device: &str, metrics: &[String]) -> io::Result<()> {
        let mut command = Command::new(program::IP.path());
        command.args(["route", "replace", &destination.to_string(), "dev", device]);
        self.output(command.args(metrics))?;
        Ok(())
    }
}

/// Runs `work` on a temporary thread, since it changes the namespace of its thread.
fn on_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// A counter of a table that has for each protocol a line of names and a line of values.
fn counter(table: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter(|line| line.starts_with(protocol));
    let (names, values) = (lines.next()?, lines.next()?);
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(n, _)| *n == name)?.1.parse().ok()
}

#[cfg(test)]
mod tests;
