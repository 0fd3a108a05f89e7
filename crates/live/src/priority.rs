//! Real-time priority for a thread that must meet its deadlines on a busy machine.

use std::io;

use nix::libc;

/// Gives the calling thread the real-time policy `SCHED_FIFO` at `priority` (1 to 99).
///
/// Fails with `PermissionDenied` without `CAP_SYS_NICE` in the initial user namespace; deadlines
/// are then handled later, which the caller should report. Threads and processes started later do
/// not inherit the policy.
#[expect(
    unsafe_code,
    reason = "neither the standard library nor nix has this system call"
)]
pub fn realtime(priority: u8) -> io::Result<()> {
    let param = libc::sched_param {
        sched_priority: libc::c_int::from(priority),
    };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
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
