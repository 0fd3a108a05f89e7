//! Several networks in real time, on a thread of their own.

mod event_handler;
mod lateness;

use std::io;
use std::thread::JoinHandle;

use polypath_core::time::Time;
use polypath_core::units::Rate;
use polypath_link::Counters;
use polypath_live::clock::Clock;
use polypath_live::drive::{Driver, StopHandle};
use polypath_live::priority;
use polypath_sim::world::{BackgroundBytes, LinkName};

use crate::network::Network;
use event_handler::{EmulatorEventHandler, RequestSender};
pub use lateness::EmulationLateness;

/// The real-time priority of the thread, below that of the kernel's own.
const PRIORITY: u8 = 10;

/// Networks that carry packets in real time until they are finished with.
///
/// One thread drives them all, with a real-time priority where that is allowed.
#[derive(Debug)]
pub struct Emulation {
    thread: Option<JoinHandle<io::Result<EmulationResult>>>,
    stop: StopHandle,
    requests: RequestSender,
}

/// What an emulation leaves behind.
#[derive(Debug)]
pub struct EmulationResult {
    /// The networks, in the order in which they were given.
    pub networks: Vec<Network>,
    /// How late it was, over the span that was asked for or else from start to end.
    pub lateness: EmulationLateness,
    /// Whether the thread had a real-time priority.
    pub realtime: bool,
}

/// The totals of a network at a point in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The point in time.
    pub at: Time,
    /// What background traffic has delivered.
    pub background: BackgroundBytes,
    /// Each link of the paths, one direction at a time, with its rate and totals.
    pub links: Vec<(LinkName, Rate, Counters)>,
}

impl Emulation {
    /// Lets `networks` run by `clock` from now on; fails where the system gives no thread or descriptors.
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

    /// Fails, with the reason, where the networks no longer run; they end by themselves only where a
    /// device fails.
    pub fn check(&mut self) -> io::Result<()> {
        match self.thread.take_if(|thread| thread.is_finished()) {
            None if self.thread.is_some() => Ok(()),
            thread => Err(join(thread)
                .err()
                .unwrap_or(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// The totals of all networks, taken at one point in time.
    ///
    /// Fails, with the reason, where the networks no longer run.
    pub fn snapshot(&mut self) -> io::Result<Vec<Snapshot>> {
        let snapshots = self.requests.snapshot();
        self.explain(snapshots)
    }

    /// Counts lateness anew from here on; fails, with the reason, where the networks no longer run.
    pub fn start_counting(&mut self) -> io::Result<()> {
        let told = self.requests.start_counting();
        self.explain(told)
    }

    /// Counts no lateness from here on; fails, with the reason, where the networks no longer run.
    pub fn stop_counting(&mut self) -> io::Result<()> {
        let told = self.requests.stop_counting();
        self.explain(told)
    }

    /// Whoever cannot be asked has ended, with a reason of its own.
    fn explain<T>(&mut self, answer: io::Result<T>) -> io::Result<T> {
        answer.map_err(|error| match self.thread.take() {
            Some(thread) => join(Some(thread)).err().unwrap_or(error),
            None => error,
        })
    }

    /// Stops the networks and hands them back; fails, with the reason, where they had ended before.
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
            // Whoever drops it unfinished is on the way out with an error of its own.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
