//! Small datagrams through a tunnel in both directions, and the gaps between those that arrive.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use polypath_core::time::Time;
use polypath_lab::namespace::Namespace;
use polypath_live::clock::Clock;

const PORT: u16 = 5001;
/// The interval of datagrams.
const INTERVAL: Duration = Duration::from_millis(10);
/// The interval at which a receiver looks whether it is to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// The arrivals of both directions since the start of the probe.
pub(crate) struct Probe {
    clock: Clock,
    stop: Arc<AtomicBool>,
    directions: [Arc<Arrivals>; 2],
    threads: Vec<JoinHandle<()>>,
}

/// The arrivals in one direction, in nanoseconds since the start.
#[derive(Debug, Default)]
struct Arrivals {
    last: AtomicU64,
    longest_gap: AtomicU64,
}

impl Probe {
    /// Starts between the two ends of a tunnel, 10.77.0.1 and 10.77.0.2.
    pub(crate) fn start(ends: [&Namespace; 2]) -> io::Result<Self> {
        let mut probe = Self {
            clock: Clock::starting_now(),
            stop: Arc::default(),
            directions: Default::default(),
            threads: Vec::new(),
        };
        for (to, digit) in [(1, 2), (0, 1)] {
            let sender = ends[1 - to].run(|| UdpSocket::bind("0.0.0.0:0"))?;
            // Not the address in the tunnel, whose device a restart removes.
            let receiver = ends[to].run(|| UdpSocket::bind(("0.0.0.0", PORT)))?;
            receiver.set_read_timeout(Some(PATIENCE))?;
            let target = format!("10.77.0.{digit}:{PORT}");
            let (stop, clock) = (probe.stop.clone(), probe.clock);
            let arrivals = probe.directions[to].clone();
            probe.threads.push(thread::spawn({
                let stop = stop.clone();
                move || {
                    while !stop.load(Ordering::Relaxed) {
                        // There is no route while the device does not exist.
                        let _ = sender.send_to(&[7; 64], &target);
                        sleep(INTERVAL);
                    }
                }
            }));
            probe.threads.push(thread::spawn(move || {
                let mut buffer = [0; 128];
                while !stop.load(Ordering::Relaxed) {
                    if receiver.recv(&mut buffer).is_ok() {
                        arrivals.record(clock.now().0);
                    }
                }
            }));
        }
        Ok(probe)
    }

    /// The time since the start of the probe.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Waits at most `patience` until a datagram that is received after `from` has crossed in each
    /// direction; returns the time that took since `from`.
    pub(crate) fn await_both(&self, from: Time, patience: Duration) -> Option<Duration> {
        loop {
            let waited = Duration::from_nanos(self.clock.now().since(from).0);
            let is_new = |arrivals: &Arc<Arrivals>| arrivals.last.load(Ordering::Relaxed) > from.0;
            if self.directions.iter().all(is_new) {
                return Some(waited);
            }
            if waited > patience {
                return None;
            }
            sleep(Duration::from_millis(1));
        }
    }

    /// Forgets the gaps so far.
    pub(crate) fn reset(&self) {
        let now = self.clock.now().0;
        for arrivals in &self.directions {
            arrivals.longest_gap.store(0, Ordering::Relaxed);
            arrivals.last.store(now, Ordering::Relaxed);
        }
    }

    /// The longest time without an arrival in a direction, until now.
    pub(crate) fn longest_gap(&self) -> Duration {
        let now = self.clock.now().0;
        let gap = |arrivals: &Arc<Arrivals>| {
            let current = now.saturating_sub(arrivals.last.load(Ordering::Relaxed));
            current.max(arrivals.longest_gap.load(Ordering::Relaxed))
        };
        let longest = self.directions.iter().map(gap).max();
        Duration::from_nanos(longest.unwrap_or(0))
    }
}

impl Arrivals {
    fn record(&self, at: u64) {
        let before = self.last.swap(at, Ordering::Relaxed);
        let gap = at.saturating_sub(before);
        self.longest_gap.fetch_max(gap, Ordering::Relaxed);
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
