//! An absolute timer as a descriptor.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use polypath_core::time::Time;

use crate::clock::Clock;

/// A `timerfd` on the run's clock, which is told only what it does not know yet.
#[derive(Debug)]
pub(super) struct Timer {
    clock: Clock,
    fd: TimerFd,
    armed: Option<Time>,
}

impl Timer {
    /// A timer that is not armed.
    pub(super) fn new(clock: Clock) -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let fd = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let armed = None;
        Ok(Self { clock, fd, armed })
    }

    /// Becomes readable at `at`; arming anew also takes back an expiry that nobody read.
    pub(super) fn arm(&mut self, at: Time) -> io::Result<()> {
        if self.armed != Some(at) {
            let expiration = Expiration::OneShot(self.clock.timespec(at));
            self.fd
                .set(expiration, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            self.armed = Some(at);
        }
        Ok(())
    }

    /// Never becomes readable until armed again.
    pub(super) fn disarm(&mut self) -> io::Result<()> {
        self.fd.unset()?;
        self.armed = None;
        Ok(())
    }

    /// Notes that the timer has fired.
    pub(super) fn expired(&mut self) {
        self.armed = None;
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
