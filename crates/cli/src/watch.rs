//! The progress display of a simulation, and the exit of the program on an interrupt.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use polypath_core::time::Time;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{INTERRUPTED, print_message};
use crate::progress::Indicator;
use crate::scenario::OutputFolder;

/// The interval at which the thread updates progress and checks for an interrupt.
const INTERVAL: Duration = Duration::from_millis(50);

/// A thread that shows the progress of a simulation and ends the program on `SIGINT`, `SIGTERM` or
/// `SIGHUP`, until this is dropped.
#[derive(Debug)]
pub(crate) struct ProgressThread {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

/// A flag that `SIGINT`, `SIGTERM` and `SIGHUP` set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts(Arc<AtomicBool>);

impl Interrupts {
    /// Installs the signal handlers.
    pub(crate) fn register() -> std::io::Result<Self> {
        let interrupts = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, interrupts.0.clone())?;
        }
        Ok(interrupts)
    }

    /// Whether a signal has requested the program to stop.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// On an interrupt, discards `folder` ([`OutputFolder::discard`]) and ends the program.
    pub(crate) fn exit_and_discard(&self, bar: &Indicator, folder: &OutputFolder) {
        if self.is_requested() {
            folder.discard();
        }
        self.exit_if_interrupted(bar);
    }

    /// Ends the program on an interrupt.
    pub(crate) fn exit_if_interrupted(&self, bar: &Indicator) {
        self.exit_with_message(bar, "interrupted");
    }

    /// Ends the program with `message` on an interrupt.
    pub(crate) fn exit_with_message(&self, bar: &Indicator, message: &str) {
        if self.is_requested() {
            bar.finish();
            print_message(message);
            process::exit(INTERRUPTED);
        }
    }
}

#[derive(Debug, Default)]
struct State {
    finished: AtomicBool,
    /// The simulated time of the current scheme in nanoseconds.
    simulated: AtomicU64,
    transfers: AtomicU64,
}

impl ProgressThread {
    /// Starts the thread for a simulation of `transfers` transfers with its report in `folder`.
    pub(crate) fn start(transfers: u64, folder: OutputFolder) -> std::io::Result<Self> {
        let state = Arc::new(State::default());
        let interrupts = Interrupts::register()?;
        let watched = state.clone();
        let bar = Indicator::of_steps(transfers);
        let thread =
            thread::Builder::new().spawn(move || watch(&watched, bar, &interrupts, &folder))?;
        Ok(Self {
            state,
            thread: Some(thread),
        })
    }

    /// Records the simulated time of the current scheme.
    pub(crate) fn advance_to(&self, at: Time) {
        self.state.simulated.store(at.0, Ordering::Relaxed);
    }

    /// Counts a finished transfer.
    pub(crate) fn finish_transfer(&self) {
        self.state.transfers.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for ProgressThread {
    fn drop(&mut self) {
        self.state.finished.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A failed progress display is not worth a failure.
            let _ = thread.join();
        }
    }
}

fn watch(state: &State, mut bar: Indicator, interrupts: &Interrupts, folder: &OutputFolder) {
    loop {
        interrupts.exit_and_discard(&bar, folder);
        if state.finished.load(Ordering::Relaxed) {
            return bar.finish();
        }
        let at = Time(state.simulated.load(Ordering::Relaxed));
        bar.advance_at(state.transfers.load(Ordering::Relaxed), at);
        thread::park_timeout(INTERVAL);
    }
}
