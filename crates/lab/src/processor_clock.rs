//! The processor time of threads and processes.

use std::io;
use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;

use nix::libc;
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;
use polypath_core::time::Duration;

/// The clock of the processor time, user and system, of a thread, or of all threads of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessorClock(ClockId);

impl ProcessorClock {
    /// The clock of a process; fails if there is none with this identifier.
    pub(crate) fn of_process(process: Pid) -> io::Result<Self> {
        Ok(Self(clock_getcpuclockid(process)?))
    }

    /// The clock of a thread of this process; fails if it has ended.
    #[expect(
        unsafe_code,
        reason = "neither the standard library nor nix has this function"
    )]
    pub(crate) fn of_thread<T>(thread: &JoinHandle<T>) -> io::Result<Self> {
        let mut clock = 0;
        // SAFETY: the identifier is valid, since the thread is not joined while its handle is
        // borrowed; the call writes `clock` alone and keeps no pointer.
        match unsafe { libc::pthread_getcpuclockid(thread.as_pthread_t(), &raw mut clock) } {
            0 => Ok(Self(ClockId::from_raw(clock))),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// The processor time since the start of the thread or process; fails if it has ended.
    pub(crate) fn now(self) -> io::Result<Duration> {
        let elapsed = std::time::Duration::from(self.0.now()?);
        Ok(Duration(
            u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::sync::mpsc::channel;

    use polypath_core::time::Time;
    use polypath_live::clock::Clock;

    use crate::flow::pause;

    const WORK: Duration = Duration::from_millis(100);

    fn work() {
        let clock = Clock::starting_now();
        while clock.now() < Time::ZERO + WORK {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_thread_s_clock_counts_its_work_and_not_its_sleep_or_that_of_others() {
        let (ready, is_ready) = channel();
        let (end, ends) = channel::<()>();
        let thread = std::thread::spawn(move || {
            work();
            ready.send(()).unwrap();
            let _ = ends.recv();
        });
        is_ready.recv().unwrap();
        let clock = ProcessorClock::of_thread(&thread).unwrap();
        let before = clock.now().unwrap();
        assert!(before > Duration::from_millis(10), "{before}");
        work();
        let later = clock.now().unwrap();
        assert!(later.0 - before.0 < 10_000_000, "{before} {later}");
        drop(end);
        thread.join().unwrap();
    }

    #[test]
    fn a_process_s_clock_counts_its_work() {
        let mut command = Command::new("sh");
        command
            .args(["-c", "while :; do :; done"])
            .stdin(Stdio::null());
        let mut child = command.spawn().unwrap();
        let process = Pid::from_raw(i32::try_from(child.id()).unwrap());
        pause(WORK * 3);
        let spent = ProcessorClock::of_process(process).and_then(ProcessorClock::now);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(spent.unwrap() > Duration::from_millis(10));
        assert!(ProcessorClock::of_process(process).is_err());
    }
}
