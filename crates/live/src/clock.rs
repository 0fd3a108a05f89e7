//! The one clock of the tree.
//!
//! A run has an origin, a point on `CLOCK_MONOTONIC` that all its processes share, and [`Time`]
//! counts nanoseconds from there. The wall clock is read for two things only: kernel receive
//! timestamps, which use it, and the growing timestamp of a handshake. It may be set at any time,
//! so that it is read again for each use.

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use polypath_core::time::{Duration, Time};

const NS_PER_S: u64 = 1_000_000_000;

/// Reads the time since the origin of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock whose time zero is now.
    #[must_use]
    pub fn starting_now() -> Self {
        Self::starting_at(monotonic_ns())
    }

    /// A clock whose time zero is `origin_ns` nanoseconds on `CLOCK_MONOTONIC`.
    ///
    /// Before an origin in the future, the time is zero; a node refuses that.
    #[must_use]
    pub const fn starting_at(origin_ns: u64) -> Self {
        Self { origin_ns }
    }

    /// Time zero in nanoseconds on `CLOCK_MONOTONIC`, for other processes of the same run.
    #[must_use]
    pub const fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// The time since the origin; zero before it.
    #[must_use]
    pub fn now(&self) -> Time {
        Time(monotonic_ns().saturating_sub(self.origin_ns))
    }

    /// Converts a kernel receive timestamp (`SO_TIMESTAMPNS`, nanoseconds since the Unix epoch).
    ///
    /// Subtracts the packet's age from now: a step of the wall clock affects only packets that wait
    /// in a socket at that time. The result is never in the future.
    #[must_use]
    pub fn at_wall(&self, stamp_ns: u64) -> Time {
        let age = wall_ns().saturating_sub(stamp_ns);
        self.now() - Duration(age)
    }

    /// The wall clock at time zero, by its current setting, in nanoseconds since the Unix epoch.
    #[must_use]
    pub fn wall_at_zero(&self) -> u64 {
        // Read first: a delay in between gives an earlier time, which the next call corrects.
        let wall = wall_ns();
        wall.saturating_sub(self.now().0)
    }

    /// `at` on `CLOCK_MONOTONIC`, for timers.
    #[must_use]
    pub fn timespec(&self, at: Time) -> TimeSpec {
        let ns = self.origin_ns.saturating_add(at.0);
        let part = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        TimeSpec::new(part(ns / NS_PER_S), part(ns % NS_PER_S))
    }
}

/// The wall clock in nanoseconds since the Unix epoch.
#[must_use]
pub fn wall_ns() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

/// The processor time that the calling thread has used.
#[must_use]
pub fn processor_time() -> Duration {
    Duration(read(ClockId::CLOCK_THREAD_CPUTIME_ID))
}

/// The start of the second after `now`.
pub(crate) fn next_second(now: Time) -> Time {
    Time((now.0 / NS_PER_S + 1).saturating_mul(NS_PER_S))
}

fn monotonic_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// The clock in nanoseconds; zero if the kernel lacks it, which does not happen on Linux.
fn read(clock: ClockId) -> u64 {
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    clock_gettime(clock).map_or(0, |t| part(t.tv_sec()) * NS_PER_S + part(t.tv_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_advances_from_the_origin() {
        let clock = Clock::starting_now();
        let first = clock.now();
        assert!(first < Time(NS_PER_S));
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(clock.now().since(first) >= Duration::from_millis(2));
    }

    #[test]
    fn time_is_zero_before_the_origin() {
        let clock = Clock::starting_at(monotonic_ns() + 60 * NS_PER_S);
        assert_eq!(clock.now(), Time::ZERO);
    }

    #[test]
    fn two_processes_with_one_origin_agree() {
        let one = Clock::starting_now();
        let other = Clock::starting_at(one.origin_ns());
        let (a, b) = (one.now(), other.now());
        assert!(b.since(a) < Duration::from_millis(50));
    }

    #[test]
    fn a_receive_timestamp_becomes_run_time() {
        let clock = Clock::starting_at(monotonic_ns() - 10 * NS_PER_S);
        let stamp = wall_ns() - 3 * NS_PER_S;
        let age = clock.now().since(clock.at_wall(stamp));
        assert!(age > Duration::from_millis(2_999) && age < Duration::from_millis(3_500));
        let future = wall_ns() + 100 * NS_PER_S;
        assert!(clock.at_wall(future) <= clock.now());
    }

    #[test]
    fn the_wall_clock_at_time_zero_is_earlier_by_the_age_of_the_run() {
        let clock = Clock::starting_at(monotonic_ns() - 10 * NS_PER_S);
        let ago = Duration(wall_ns() - clock.wall_at_zero());
        assert!(ago >= Duration::from_secs(10) && ago < Duration::from_millis(10_500));
    }

    #[test]
    fn timers_get_absolute_time() {
        let clock = Clock::starting_at(3 * NS_PER_S + 1);
        let spec = clock.timespec(Time(NS_PER_S));
        assert_eq!((spec.tv_sec(), spec.tv_nsec()), (4, 1));
    }
}
