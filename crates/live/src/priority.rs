//! Real-time priority for a thread that must meet its deadlines on a busy machine.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::libc;

/// Gives the calling thread the real-time policy `SCHED_FIFO` at `priority` (1 to 99).
///
/// Fails with `PermissionDenied` without `CAP_SYS_NICE` in the initial user namespace; deadlines
/// are then handled later, which the caller should report. Threads and processes started later do
/// not inherit the policy.
pub fn realtime(priority: u8) -> io::Result<()> {
    set(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority)
}

/// Makes the program that `command` starts run with the real-time policy `SCHED_FIFO` at `priority`
/// (1 to 99), with all its threads and child processes.
///
/// Without `CAP_SYS_NICE` in the initial user namespace it runs with a normal priority.
#[expect(
    unsafe_code,
    reason = "the standard library has no safe way to act between fork and exec"
)]
pub fn realtime_program(command: &mut Command, priority: u8) {
    let prepare = move || {
        // Without the privilege the program is late on a busy machine.
        let _ = set(libc::SCHED_FIFO, priority);
        Ok(())
    };
    // SAFETY: the closure makes one system call and does not allocate, as required of the child of a
    // multi-threaded process.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Sets the policy and priority of the calling thread.
#[expect(
    unsafe_code,
    reason = "neither the standard library nor nix has this system call"
)]
fn set(policy: libc::c_int, priority: u8) -> io::Result<()> {
    let param = libc::sched_param {
        sched_priority: libc::c_int::from(priority),
    };
    // SAFETY: the call reads `param`, which outlives it, and keeps no pointer; 0 is the calling
    // thread.
    if unsafe { libc::sched_setscheduler(0, policy, &raw const param) } == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

/// Whether the calling thread has a real-time policy (`SCHED_FIFO` or `SCHED_RR`).
#[must_use]
#[expect(
    unsafe_code,
    reason = "neither the standard library nor nix has this system call"
)]
pub fn is_realtime() -> bool {
    // SAFETY: the call takes and returns only numbers; 0 is the calling thread.
    let policy = unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK;
    policy == libc::SCHED_FIFO || policy == libc::SCHED_RR
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program reads its own policy and priority: the fields 41 and 40 of /proc/self/stat, of which
    /// the second has the name of the program, `sh`.
    #[test]
    fn a_program_and_its_children_have_the_priority_if_the_system_allows_it() {
        let allowed = std::thread::spawn(|| realtime(1).is_ok()).join().unwrap();
        let mut command = Command::new("sh");
        // The child of a child; `true` keeps the shell from becoming it.
        command.args([
            "-c",
            "sh -c 'cut -d\" \" -f 40,41 /proc/self/stat; true'; true",
        ]);
        realtime_program(&mut command, 7);
        let _starting = crate::test_lock::new_process();
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let expected = if allowed { "7 1" } else { "0 0" };
        assert_eq!(text.trim(), expected);
    }
}
