//! An absolute timer as a descriptor.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use polypath_core::time::Time;

use crate::clock::Clock;

/// A `timerfd` on the run's clock, which may fire too early, but never too late.
///
/// A deadline that each packet postpones thus costs one early wake-up, and no system call per
/// packet.
#[derive(Debug)]
pub(super) struct Timer {
    clock: Clock,
    fd: TimerFd,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Off,
    Armed(Time),
    /// Readable until it is armed or disarmed.
    Fired,
}

impl Timer {
    /// A timer that is not armed.
    pub(super) fn new(clock: Clock) -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        Ok(Self {
            clock,
            fd: TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?,
            state: State::Off,
        })
    }

    /// Becomes readable at `at`, or at an earlier time for which it was armed; returns whether that
    /// took a system call.
    pub(super) fn arm(&mut self, at: Time) -> io::Result<bool> {
        if matches!(self.state, State::Armed(armed) if armed <= at) {
            return Ok(false);
        }
        let expiration = Expiration::OneShot(self.clock.timespec(at));
        self.fd
            .set(expiration, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        self.state = State::Armed(at);
        Ok(true)
    }

    /// Does not become readable until armed again; returns whether that took a system call.
    pub(super) fn disarm(&mut self) -> io::Result<bool> {
        if self.state == State::Off {
            return Ok(false);
        }
        self.fd.unset()?;
        self.state = State::Off;
        Ok(true)
    }

    /// Records that the timer has fired.
    pub(super) fn expired(&mut self) {
        self.state = State::Fired;
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use polypath_core::time::Duration;

    fn is_readable(timer: &Timer) -> bool {
        let mut fds = [PollFd::new(timer.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO).unwrap() == 1
    }

    #[test]
    fn system_calls_are_made_only_if_needed() {
        let clock = Clock::starting_now();
        let mut timer = Timer::new(clock).unwrap();
        let second = |n| Time::ZERO + Duration::from_secs(n);
        assert!(!timer.disarm().unwrap());
        assert!(timer.arm(second(100)).unwrap());
        assert!(!timer.arm(second(200)).unwrap(), "it fires early enough");
        assert!(timer.arm(second(50)).unwrap());
        assert!(timer.disarm().unwrap());
        assert!(!timer.disarm().unwrap());
        assert!(timer.arm(second(200)).unwrap());
    }

    #[test]
    fn a_fired_timer_is_cleared_by_arming_and_disarming() {
        let clock = Clock::starting_now();
        let mut timer = Timer::new(clock).unwrap();
        for again in [Time::ZERO + Duration::from_secs(100), Time::ZERO] {
            assert!(timer.arm(clock.now()).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(5));
            assert!(is_readable(&timer));
            timer.expired();
            let called = match again {
                Time::ZERO => timer.disarm(),
                at => timer.arm(at),
            };
            assert!(called.unwrap() && !is_readable(&timer));
        }
    }
}
