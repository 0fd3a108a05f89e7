//! A simulation from beside it: progress by the clock, and an end when the program is told to stop.

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

/// How often it looks.
const INTERVAL: Duration = Duration::from_millis(50);

/// A thread that shows how far a simulation has come, as long as this lives, and ends the program
/// when it is told to stop (`SIGINT`, `SIGTERM`, `SIGHUP`).
#[derive(Debug)]
pub(crate) struct Watch {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

/// Whether the program was told to stop (`SIGINT`, `SIGTERM`, `SIGHUP`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts(Arc<AtomicBool>);

impl Interrupts {
    /// Notes the signals from now on.
    pub(crate) fn register() -> std::io::Result<Self> {
        let told = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, told.0.clone())?;
        }
        Ok(told)
    }

    /// Whether the program was told to stop.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ends the program, if it was told to stop; what opening `folder` has made goes, as far as it
    /// is empty.
    pub(crate) fn exit_and_discard(&self, bar: &Indicator, folder: &OutputFolder) {
        if self.is_requested() {
            folder.discard();
        }
        self.exit_if_interrupted(bar);
    }

    /// Ends the program, if it was told to stop.
    pub(crate) fn exit_if_interrupted(&self, bar: &Indicator) {
        self.exit_with_message(bar, "interrupted");
    }

    /// Ends the program with these words, if it was told to stop.
    pub(crate) fn exit_with_message(&self, bar: &Indicator, words: &str) {
        if self.is_requested() {
            bar.finish();
            print_message(words);
            process::exit(INTERRUPTED);
        }
    }
}

#[derive(Debug, Default)]
struct State {
    over: AtomicBool,
    /// Simulated nanoseconds of the scheme whose turn it is.
    simulated: AtomicU64,
    transfers: AtomicU64,
}

impl Watch {
    /// Watches a simulation of `transfers` transfers, whose report is to stand in `folder`.
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

    /// Notes the simulated time of the scheme whose turn it is.
    pub(crate) fn reach(&self, at: Time) {
        self.state.simulated.store(at.0, Ordering::Relaxed);
    }

    /// Notes that a transfer is over.
    pub(crate) fn finish_transfer(&self) {
        self.state.transfers.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It panics nowhere, and showing is not worth a failure.
            let _ = thread.join();
        }
    }
}

fn watch(state: &State, mut bar: Indicator, interrupts: &Interrupts, folder: &OutputFolder) {
    loop {
        interrupts.exit_and_discard(&bar, folder);
        if state.over.load(Ordering::Relaxed) {
            return bar.finish();
        }
        let at = Time(state.simulated.load(Ordering::Relaxed));
        bar.advance_at(state.transfers.load(Ordering::Relaxed), at);
        thread::park_timeout(INTERVAL);
    }
}
