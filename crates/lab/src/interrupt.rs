//! Signals that interrupt the process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use polypath_core::time::Time;
use polypath_live::clock::Clock;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{SigId, flag};

/// The interval at which waits check for an interrupt.
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

/// Catches `SIGINT`, `SIGTERM` and `SIGHUP` until it is dropped.
///
/// The second signal ends the process immediately.
#[derive(Debug)]
pub struct Interrupt {
    interrupted: Arc<AtomicBool>,
    registrations: Vec<SigId>,
}

impl Interrupt {
    /// Starts to catch the signals.
    ///
    /// # Errors
    /// If the system refuses a signal handler.
    pub fn watch() -> io::Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let mut registrations = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Registered first, so that it reads the flag before this signal sets it.
            let second = flag::register_conditional_default(signal, interrupted.clone())?;
            registrations.push(second);
            registrations.push(flag::register(signal, interrupted.clone())?);
        }
        Ok(Self {
            interrupted,
            registrations,
        })
    }

    /// A fixed state, which no signal changes.
    #[cfg(test)]
    pub(crate) fn preset(interrupted: bool) -> Self {
        Self {
            interrupted: Arc::new(AtomicBool::new(interrupted)),
            registrations: Vec::new(),
        }
    }

    /// Checks for an interrupt.
    ///
    /// # Errors
    /// `Interrupted` after a signal.
    pub fn check(&self) -> io::Result<()> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }

    /// Sleeps until `time`; fails with `Interrupted` at a signal.
    pub(crate) fn sleep_until(&self, clock: Clock, time: Time) -> io::Result<()> {
        loop {
            self.check()?;
            let left = std::time::Duration::from(time.since(clock.now()));
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(INTERVAL));
        }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for registration in self.registrations.drain(..) {
            signal_hook::low_level::unregister(registration);
        }
    }
}
