//! Priorities for threads and programs that must meet their deadlines on a busy machine.

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
pub fn realtime_program(command: &mut Command, priority: u8) {
    // Without the privilege the program is late on a busy machine.
    before_exec(command, move || _ = set(libc::SCHED_FIFO, priority));
}

/// Makes the program that `command` starts run with the lowest nice value, -20, of the normal
/// policy, with all its threads and child processes: before the other programs of its group, but
/// never instead of threads with real-time priority, nor for long instead of its equals, even if it
/// does not sleep.
///
/// Without `CAP_SYS_NICE` it runs with a normal priority.
pub fn favoured_program(command: &mut Command) {
    before_exec(command, || _ = set_nice_value(-20));
}

/// Makes the program that `command` starts run `prepare` first, which makes one system call and
/// does not allocate.
#[expect(
    unsafe_code,
    reason = "the standard library has no safe way to act between fork and exec"
)]
fn before_exec(command: &mut Command, prepare: impl Fn() + Send + Sync + 'static) {
    let prepare = move || {
        prepare();
        Ok(())
    };
    // SAFETY: the closure makes one system call and does not allocate, as required of the child of a
    // multi-threaded process.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Sets the nice value of the calling thread.
#[expect(
    unsafe_code,
    reason = "neither the standard library nor nix has this system call"
)]
fn set_nice_value(value: libc::c_int) -> io::Result<()> {
    // SAFETY: the call takes and returns only numbers; 0 is the calling thread.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) } == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
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

    /// Output of a child of a child of the program: its nice value, real-time priority and policy,
    /// the fields 19, 40 and 41 of /proc/self/stat.
    fn printed_by(prepare: impl FnOnce(&mut Command)) -> String {
        let mut command = Command::new("sh");
        // `true` keeps the shell from becoming its child.
        command.args([
            "-c",
            "sh -c 'cut -d\" \" -f 19,40,41 /proc/self/stat; true'; true",
        ]);
        prepare(&mut command);
        let _starting = crate::test_lock::new_process();
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn is_allowed(act: impl FnOnce() -> io::Result<()> + Send + 'static) -> bool {
        std::thread::spawn(|| act().is_ok()).join().unwrap()
    }

    #[test]
    fn a_program_and_its_children_have_the_priority_if_the_system_allows_it() {
        let usual = printed_by(|_| {});
        let realtime = printed_by(|command| realtime_program(command, 7));
        let nice = usual.split(' ').next().unwrap();
        let expected = if is_allowed(|| super::realtime(1)) {
            format!("{nice} 7 1")
        } else {
            usual.clone()
        };
        assert_eq!(realtime, expected);
        let favoured = printed_by(favoured_program);
        let expected = if is_allowed(|| set_nice_value(-20)) {
            "-20 0 0"
        } else {
            &usual
        };
        assert_eq!(favoured, expected);
    }
}
