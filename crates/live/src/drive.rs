//! The drive loop: it connects machines with descriptors and the real clock.
//!
//! An [`EventHandler`] owns machines and the descriptors that feed them. The loop wakes it when a
//! descriptor is readable and when its deadline has passed, and guarantees what the machines rely
//! on: time never runs backwards, deadlines are handled before an input of the same or a later
//! time, and a flood of input delays a deadline by about one budget.
//!
//! It sleeps in `epoll` until [`SPIN`] before the deadline, by a `timerfd` with a timer slack of 1
//! ns, and polls the descriptors without sleeping for the rest, so that its lateness is that of a
//! system call and not of a wake-up. It polls only while a deadline is that near. Under a real-time
//! priority, where the kernel stalls a busy thread for 50 ms each second, it rests for at least a
//! tenth of the time, even if deadlines follow each other within [`SPIN`].

mod realtime_throttle;
mod stop;
mod timer;

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use polypath_core::machine::Deadline;
use polypath_core::time::{Duration, Time};

pub use stop::StopHandle;

use crate::clock::Clock;
use crate::durations::DurationHistogram;
use realtime_throttle::RealtimeThrottle;
use stop::StopListener;
use timer::Timer;

/// The time before a deadline at which the loop stops sleeping.
pub const SPIN: Duration = Duration::from_micros(30);

/// The number of inputs handled from one descriptor before deadlines are checked again.
pub const BUDGET: usize = 16;

const STOP: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
const EVENTS: usize = 64;

/// The number that a handler gives a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub u32);

/// Adds descriptors to a [`Driver`].
#[derive(Clone, Debug)]
pub struct Watcher {
    epoll: Arc<Epoll>,
}

impl Watcher {
    /// Watches `fd` (non-blocking) for input, until it is closed; several may have one token.
    pub fn watch(&self, fd: impl AsFd, token: Token) -> io::Result<()> {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, u64::from(token.0));
        Ok(self.epoll.add(fd, event)?)
    }
}

/// Machines with the descriptors that feed them.
///
/// An implementation wakes its machines by [`polypath_core::machine::step`] alone. An error ends
/// the drive; errors of a single packet (a full queue, invalid bytes) are counted by the handler
/// instead.
pub trait EventHandler {
    /// The next deadline.
    fn deadline(&self) -> Option<Deadline>;

    /// Whether inputs were read and are not yet handled: the handler is then woken immediately, as
    /// for a deadline, and no lateness is counted.
    fn has_backlog(&self) -> bool {
        false
    }

    /// Handles the deadlines up to `now`.
    fn handle_timeout(&mut self, now: Time) -> io::Result<()>;

    /// Handles about `budget` inputs from the readable descriptor `token` and returns their number:
    /// inputs that one system call returned together are all handled.
    ///
    /// All deadlines up to `now` have been handled.
    fn handle_readable(&mut self, token: Token, now: Time, budget: usize) -> io::Result<usize>;
}

/// The counters of a drive.
#[derive(Clone, Debug, Default)]
pub struct DriveReport {
    /// The lateness of deadlines.
    pub lateness: DurationHistogram,
    /// The number of deadlines that did not advance after they were handled: a bug of a machine.
    pub stuck: u64,
    /// The number of inputs handled.
    pub inputs: u64,
    /// The number of pauses of a loop with real-time priority, each 0.1 ms or longer.
    pub rests: u64,
}

/// Waits for descriptors and deadlines and wakes an [`EventHandler`].
#[derive(Debug)]
pub struct Driver {
    clock: Clock,
    watcher: Watcher,
    timer: Timer,
    listener: StopListener,
    stop: StopHandle,
    /// The start of the drive, from which the lateness of earlier deadlines counts.
    started: Time,
    report: DriveReport,
}

impl Driver {
    /// A driver that reads `clock`, with no descriptors yet.
    pub fn new(clock: Clock) -> io::Result<Self> {
        let watcher = Watcher {
            epoll: Arc::new(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?),
        };
        let epoll = &watcher.epoll;
        let timer = Timer::new(clock)?;
        let (stop, listener) = stop::channel()?;
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, STOP))?;
        Ok(Self {
            clock,
            watcher,
            timer,
            listener,
            stop,
            started: Time::ZERO,
            report: DriveReport::default(),
        })
    }

    /// The clock that the driver reads.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// A handle that ends [`Driver::run`] from another thread or from a signal.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Watches `fd` (non-blocking) for input; the handler owns it, for longer than the drive.
    pub fn watch(&self, fd: impl AsFd, token: Token) -> io::Result<()> {
        self.watcher.watch(fd, token)
    }

    /// A handle with which a handler adds descriptors during the drive.
    #[must_use]
    pub fn watcher(&self) -> Watcher {
        self.watcher.clone()
    }

    /// Drives `handler` until it fails or a [`StopHandle`] ends the drive.
    pub fn run(&mut self, handler: &mut impl EventHandler) -> io::Result<DriveReport> {
        self.run_until(handler, Time::MAX)
    }

    /// Drives like [`Driver::run`], and returns the counters of a drive that failed, too.
    pub fn run_to_the_end(
        &mut self,
        handler: &mut impl EventHandler,
    ) -> (DriveReport, io::Result<()>) {
        match self.run(handler) {
            Ok(report) => (report, Ok(())),
            Err(error) => (std::mem::take(&mut self.report), Err(error)),
        }
    }

    /// Drives `handler` until `end`, or until it fails or a [`StopHandle`] ends the drive.
    pub fn run_until(
        &mut self,
        handler: &mut impl EventHandler,
        end: Time,
    ) -> io::Result<DriveReport> {
        // Without this the kernel rounds timers of a normal thread up by 50 us.
        nix::sys::prctl::set_timerslack(1)?;
        self.report = DriveReport::default();
        let mut events = [EpollEvent::empty(); EVENTS];
        self.started = self.clock.now();
        let mut throttle = RealtimeThrottle::new(self.started);
        loop {
            let now = self.clock.now();
            if now >= end {
                break;
            }
            if throttle.rest_if_due(now, self.clock) {
                self.report.rests += 1;
                continue;
            }
            let advanced = self.handle_due(handler, now)?;
            let timeout = self.timeout(handler, now, end, advanced)?;
            let ready = match self.watcher.epoll.wait(&mut events, timeout) {
                Err(nix::errno::Errno::EINTR) => 0,
                result => result?,
            };
            if !self.handle_ready(handler, &events[..ready])? {
                break;
            }
        }
        Ok(std::mem::take(&mut self.report))
    }

    /// Wakes the handler if its deadline has passed; returns false if the deadline then did not
    /// advance.
    fn handle_due(&mut self, handler: &mut impl EventHandler, now: Time) -> io::Result<bool> {
        if handler.has_backlog() {
            handler.handle_timeout(now)?;
            return Ok(true);
        }
        let Some(due) = handler.deadline().filter(|d| d.at <= now) else {
            return Ok(true);
        };
        self.report
            .lateness
            .record(now.since(due.at.max(self.started)));
        handler.handle_timeout(now)?;
        // Inputs from before the deadline are handled first, which may take several turns.
        let advanced =
            handler.has_backlog() || handler.deadline().is_none_or(|next| next.at > due.at);
        if !advanced {
            self.report.stuck += 1;
            if self.report.stuck.is_power_of_two() {
                let (why, at, times) = (due.why, due.at.0, self.report.stuck);
                tracing::warn!(why, at, times, "a deadline does not advance");
            }
        }
        Ok(advanced)
    }

    /// The timeout of `epoll`; arms the timer for what `epoll` cannot express.
    fn timeout(
        &mut self,
        handler: &impl EventHandler,
        now: Time,
        end: Time,
        advanced: bool,
    ) -> io::Result<EpollTimeout> {
        let next = handler.deadline().map_or(Time::MAX, |d| d.at).min(end);
        if !advanced {
            // Neither a stuck machine nor a timer that has fired may cause a busy poll.
            self.timer.disarm()?;
            return Ok(EpollTimeout::from(1_u16));
        }
        if handler.has_backlog() {
            return Ok(EpollTimeout::ZERO);
        }
        if next == Time::MAX {
            self.timer.disarm()?;
            return Ok(EpollTimeout::NONE);
        }
        if next.since(now) <= SPIN {
            return Ok(EpollTimeout::ZERO);
        }
        self.timer.arm(next - SPIN)?;
        Ok(EpollTimeout::NONE)
    }

    /// Handles the ready descriptors, each up to the budget; returns false if the drive is to end.
    fn handle_ready(
        &mut self,
        handler: &mut impl EventHandler,
        events: &[EpollEvent],
    ) -> io::Result<bool> {
        for event in events {
            match event.data() {
                STOP => {
                    self.listener.drain()?;
                    return Ok(false);
                }
                TIMER => self.timer.expired(),
                number => {
                    let now = self.clock.now();
                    self.handle_due(handler, now)?;
                    let token = Token(u32::try_from(number).unwrap_or(u32::MAX));
                    let inputs = handler.handle_readable(token, now, BUDGET)?;
                    self.report.inputs += inputs as u64;
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
