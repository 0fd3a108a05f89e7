//! Real-time emulation of several networks on one thread.

mod event_handler;
mod lateness;

use std::io;
use std::thread::JoinHandle;

use polypath_core::time::Duration;
use polypath_live::clock::Clock;
use polypath_live::drive::{Driver, StopHandle};
use polypath_live::priority;
use polypath_report::media::LabConditions;

use crate::network::{Network, Snapshot};
use event_handler::{EmulatorEventHandler, RequestSender};
pub use lateness::EmulationLateness;

/// The real-time priority of the thread, below the kernel's own threads.
const PRIORITY: u8 = 10;
/// The bound on the 99th percentile of the lateness of a run between real programs, with a
/// real-time priority and without.
const LATENESS_BOUND: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(5)];

/// A running emulation, which carries packets in real time until it is finished or dropped.
///
/// One thread drives all networks, with a real-time priority if the system allows it.
#[derive(Debug)]
pub struct Emulation {
    thread: Option<JoinHandle<io::Result<EmulationResult>>>,
    stop: StopHandle,
    requests: RequestSender,
}

/// The networks and lateness of a finished emulation.
#[derive(Debug)]
pub struct EmulationResult {
    /// The networks, in the order passed to [`Emulation::start`].
    pub networks: Vec<Network>,
    /// The lateness between `start_counting` and `stop_counting`, or over the whole emulation.
    pub lateness: EmulationLateness,
    /// Whether the thread had a real-time priority.
    pub realtime: bool,
}

impl EmulationResult {
    /// The conditions of a run of one group of carriers.
    #[must_use]
    pub fn conditions(&self) -> LabConditions {
        LabConditions {
            lateness: self.lateness.quantile(0.99),
            bound: LATENESS_BOUND[usize::from(!self.realtime)],
            longest: self.lateness.max(),
            groups: 1,
        }
    }
}

impl Emulation {
    /// Starts `networks` on `clock`; fails if the system refuses the thread or its descriptors.
    pub fn start(networks: Vec<Network>, clock: Clock) -> io::Result<Self> {
        let mut driver = Driver::new(clock)?;
        let stop = driver.stop_handle();
        let (mut handler, requests) = EmulatorEventHandler::new(networks, clock)?;
        handler.watch(&driver)?;
        let work = move || {
            let realtime = priority::realtime(PRIORITY).is_ok();
            driver.run(&mut handler)?;
            Ok(handler.finish(realtime))
        };
        let builder = std::thread::Builder::new().name("network".to_owned());
        let thread = Some(builder.spawn(work)?);
        Ok(Self {
            thread,
            stop,
            requests,
        })
    }

    /// Checks that the emulation is running; fails with the cause if it has stopped, which only a
    /// device error causes.
    pub fn check(&mut self) -> io::Result<()> {
        match self.thread.take_if(|thread| thread.is_finished()) {
            None if self.thread.is_some() => Ok(()),
            thread => Err(join(thread)
                .err()
                .unwrap_or(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// The totals of all networks at one point in time.
    ///
    /// Fails with the cause if the emulation has stopped.
    pub fn snapshot(&mut self) -> io::Result<Vec<Snapshot>> {
        let snapshots = self.requests.snapshot();
        self.with_cause(snapshots)
    }

    /// Restarts the measurement of lateness; fails with the cause if the emulation has stopped.
    pub fn start_counting(&mut self) -> io::Result<()> {
        let sent = self.requests.start_counting();
        self.with_cause(sent)
    }

    /// Ends the measurement of lateness; fails with the cause if the emulation has stopped.
    pub fn stop_counting(&mut self) -> io::Result<()> {
        let sent = self.requests.stop_counting();
        self.with_cause(sent)
    }

    /// Replaces a failed request's error by the error that stopped the thread.
    fn with_cause<T>(&mut self, reply: io::Result<T>) -> io::Result<T> {
        reply.map_err(|error| match self.thread.take() {
            Some(thread) => join(Some(thread)).err().unwrap_or(error),
            None => error,
        })
    }

    /// Stops the emulation and returns its networks; fails with the cause if it had already
    /// stopped.
    pub fn finish(mut self) -> io::Result<EmulationResult> {
        self.stop.stop();
        join(self.thread.take())
    }
}

fn join(thread: Option<JoinHandle<io::Result<EmulationResult>>>) -> io::Result<EmulationResult> {
    match thread.map(JoinHandle::join) {
        Some(Ok(result)) => result,
        Some(Err(panic)) => std::panic::resume_unwind(panic),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            // An emulation is dropped unfinished only on the way out with another error.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
