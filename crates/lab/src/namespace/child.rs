//! Programs inside a namespace that die with the thread that started them.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output};

use nix::sched::{CloneFlags, setns};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpid, getppid};

/// Starts `command` in `namespace`; the kernel kills it when the calling thread ends.
pub(super) fn spawn(namespace: &File, command: &mut Command) -> io::Result<Child> {
    confine(namespace, command).spawn()
}

/// Runs `command` in `namespace` and waits for its exit.
pub(super) fn output(namespace: &File, command: &mut Command) -> io::Result<Output> {
    confine(namespace, command).output()
}

#[expect(
    unsafe_code,
    reason = "the standard library has no safe way to act between fork and exec"
)]
fn confine<'a>(namespace: &File, command: &'a mut Command) -> &'a mut Command {
    let descriptor = namespace.as_raw_fd();
    let parent = getpid();
    // Signals from the terminal go to the lab alone, which ends its programs in order.
    command.process_group(0);
    // SAFETY: the closure only makes system calls and does not allocate, as required of the child
    // of a multi-threaded process; `descriptor` is open in the child, since it is inherited until
    // exec and the callers start the child before they return.
    unsafe {
        command.pre_exec(move || {
            let namespace = BorrowedFd::borrow_raw(descriptor);
            setns(namespace, CloneFlags::CLONE_NEWNET)?;
            die_with(parent)
        })
    }
}

/// Makes the kernel kill this process when the thread that started it ends.
fn die_with(parent: Pid) -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    if getppid() == parent {
        return Ok(());
    }
    // The parent had exited before the signal was set.
    Err(io::ErrorKind::Interrupted.into())
}
