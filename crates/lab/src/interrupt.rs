//! Being told to stop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use polypath_core::time::Time;
use polypath_live::clock::Clock;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{SigId, flag};

/// How often a wait looks whether it is to end.
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

/// Notes that the process was told to stop (`SIGINT`, `SIGTERM`, `SIGHUP`), for as long as it lives.
///
/// Whoever tells it twice means at once: the second signal ends the process.
#[derive(Debug)]
pub struct Interrupt {
    told: Arc<AtomicBool>,
    registrations: Vec<SigId>,
}

impl Interrupt {
    /// Notes it from now on.
    ///
    /// # Errors
    /// Where the system refuses to say so.
    pub fn watch() -> io::Result<Self> {
        let told = Arc::new(AtomicBool::new(false));
        let mut registrations = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // First, so that it sees what was told before this signal.
            let at_once = flag::register_conditional_default(signal, told.clone())?;
            registrations.push(at_once);
            registrations.push(flag::register(signal, told.clone())?);
        }
        Ok(Self {
            told,
            registrations,
        })
    }

    /// One that listens to no signal, and was told to stop or not.
    #[cfg(test)]
    pub(crate) fn preset(told: bool) -> Self {
        Self {
            told: Arc::new(AtomicBool::new(told)),
            registrations: Vec::new(),
        }
    }

    /// Goes on unless the process was told to stop.
    ///
    /// # Errors
    /// `Interrupted` where it was.
    pub fn check(&self) -> io::Result<()> {
        if self.told.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }

    /// Sleeps until `time`, or fails with `Interrupted` earlier.
    pub(crate) fn sleep_until(&self, clock: Clock, time: Time) -> io::Result<()> {
        loop {
            self.check()?;
            let left = std::time::Duration::from_nanos(time.since(clock.now()).as_nanos());
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
