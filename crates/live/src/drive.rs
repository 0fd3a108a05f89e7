//! The drive loop: real descriptors and the real clock on one side, machines on the other.
//!
//! A [`EventHandler`] owns machines and the descriptors that feed them. The loop wakes it when a descriptor is
//! readable and when its deadline has come, and keeps what the machines rely on: time never runs
//! backwards, everything that is due is done before an input of the same or a later time, and no flood of
//! input holds a deadline up for longer than one budget.
//!
//! It sleeps in `epoll` until [`SPIN`] before the deadline, by a `timerfd` with a timer slack of 1 ns, and
//! polls the descriptors without sleeping for the rest, so that it is late by the length of a system call
//! and not by that of a wake-up. It never polls without a deadline that near. Under a real-time priority,
//! where the kernel answers unbroken work with a stall of 50 ms each second, it rests for a tenth of the
//! time at least, even if one deadline follows the other within [`SPIN`].

mod lateness;
mod realtime_throttle;
mod stop;
mod timer;

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use polypath_core::machine::Deadline;
use polypath_core::time::{Duration, Time};

pub use lateness::Lateness;
pub use stop::StopHandle;

use crate::clock::Clock;
use realtime_throttle::RealtimeThrottle;
use stop::StopListener;
use timer::Timer;

/// How long before a deadline the loop stops sleeping.
pub const SPIN: Duration = Duration::from_micros(30);

/// How many inputs a handler takes from one descriptor before deadlines are looked at again.
pub const BUDGET: usize = 16;

const STOP: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
const EVENTS: usize = 64;

/// A descriptor of a handler, by the number that the handler chose for it.
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

/// Machines together with the descriptors that feed them.
///
/// An implementation touches its machines by [`polypath_core::machine::step`] alone. An error ends the
/// drive; what concerns one packet only (a full queue, bad bytes) is counted by the handler instead.
pub trait EventHandler {
    /// When the handler next wants to be woken, if at all.
    fn deadline(&self) -> Option<Deadline>;

    /// Whether inputs were read that are not yet taken: the handler is then woken at once, as for a
    /// deadline, and no lateness counts.
    fn has_backlog(&self) -> bool {
        false
    }

    /// Does what is due at `now`.
    fn handle_timeout(&mut self, now: Time) -> io::Result<()>;

    /// Takes at most `budget` inputs from the readable descriptor `token` and says how many it took.
    ///
    /// All that was due at `now` has been done.
    fn handle_readable(&mut self, token: Token, now: Time, budget: usize) -> io::Result<usize>;
}

/// What a drive was like.
#[derive(Clone, Debug, Default)]
pub struct DriveReport {
    /// How late deadlines were met.
    pub lateness: Lateness,
    /// How often a deadline had not moved after it was handled; a fault of a machine.
    pub stuck: u64,
    /// Inputs taken.
    pub inputs: u64,
    /// How often a loop of real-time priority had to rest, and was late by a tenth of a millisecond or more.
    pub rests: u64,
}

/// Waits for descriptors and deadlines and wakes a [`EventHandler`].
#[derive(Debug)]
pub struct Driver {
    clock: Clock,
    watcher: Watcher,
    timer: Timer,
    listener: StopListener,
    stop: StopHandle,
    /// When the drive began: what was due before could not be met, and is late from then on.
    begun: Time,
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
            begun: Time::ZERO,
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

    /// Watches `fd` (non-blocking) for input; it is the handler's and must outlive the drive.
    pub fn watch(&self, fd: impl AsFd, token: Token) -> io::Result<()> {
        self.watcher.watch(fd, token)
    }

    /// A handle by which a handler adds descriptors during the drive.
    #[must_use]
    pub fn watcher(&self) -> Watcher {
        self.watcher.clone()
    }

    /// Drives `handler` until it fails or a [`StopHandle`] says so.
    pub fn run(&mut self, handler: &mut impl EventHandler) -> io::Result<DriveReport> {
        self.run_until(handler, Time::MAX)
    }

    /// Drives like [`Driver::run`]; what the drive was like is told of one that failed, too.
    pub fn run_to_the_end(
        &mut self,
        handler: &mut impl EventHandler,
    ) -> (DriveReport, io::Result<()>) {
        match self.run(handler) {
            Ok(report) => (report, Ok(())),
            Err(error) => (std::mem::take(&mut self.report), Err(error)),
        }
    }

    /// Drives `handler` until `end`, or earlier where it fails or a [`StopHandle`] says so.
    pub fn run_until(
        &mut self,
        handler: &mut impl EventHandler,
        end: Time,
    ) -> io::Result<DriveReport> {
        // Without this the kernel rounds timers of a normal thread up by 50 us.
        nix::sys::prctl::set_timerslack(1)?;
        self.report = DriveReport::default();
        let mut events = [EpollEvent::empty(); EVENTS];
        self.begun = self.clock.now();
        let mut rest = RealtimeThrottle::new(self.begun);
        loop {
            let now = self.clock.now();
            if now >= end {
                break;
            }
            if rest.take_if_due(now, self.clock) {
                self.report.rests += 1;
                continue;
            }
            let progress = self.do_due(handler, now)?;
            let timeout = self.timeout(handler, now, end, progress)?;
            let ready = match self.watcher.epoll.wait(&mut events, timeout) {
                Err(nix::errno::Errno::EINTR) => 0,
                result => result?,
            };
            if !self.do_ready(handler, &events[..ready])? {
                break;
            }
        }
        Ok(std::mem::take(&mut self.report))
    }

    /// Wakes the handler if its deadline has come; false where it then did not move on.
    fn do_due(&mut self, handler: &mut impl EventHandler, now: Time) -> io::Result<bool> {
        if handler.has_backlog() {
            handler.handle_timeout(now)?;
            return Ok(true);
        }
        let Some(due) = handler.deadline().filter(|d| d.at <= now) else {
            return Ok(true);
        };
        self.report
            .lateness
            .record(now.since(due.at.max(self.begun)));
        handler.handle_timeout(now)?;
        // What came before the deadline comes first, and may take several turns.
        let moved = handler.has_backlog() || handler.deadline().is_none_or(|next| next.at > due.at);
        if !moved {
            self.report.stuck += 1;
            if self.report.stuck.is_power_of_two() {
                let (why, at, times) = (due.why, due.at.0, self.report.stuck);
                tracing::warn!(why, at, times, "a deadline does not advance");
            }
        }
        Ok(moved)
    }

    /// How long `epoll` may sleep; arms the timer for what `epoll` cannot express.
    fn timeout(
        &mut self,
        handler: &impl EventHandler,
        now: Time,
        end: Time,
        progress: bool,
    ) -> io::Result<EpollTimeout> {
        let next = handler.deadline().map_or(Time::MAX, |d| d.at).min(end);
        if !progress {
            // A machine that is stuck must not turn into a busy poll, nor may a timer that has fired.
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

    /// Serves the ready descriptors, each up to the budget; false when the drive is to end.
    fn do_ready(
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
                    self.do_due(handler, now)?;
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
