//! The wait until a carrier uses all its paths.

use std::io;

use polypath_core::time::Duration;
use polypath_live::clock::Clock;

use crate::interrupt::Interrupt;

/// The interval at which a carrier that starts is checked, and the time that it has.
const POLL: Duration = Duration::from_millis(50);
const TIMEOUT: Duration = Duration::from_secs(20);

/// Waits until `unsettled` returns no reason why a carrier is not ready.
///
/// Fails with its error, with the last reason after 20 s, and with `Interrupted` at a signal.
pub(crate) fn await_settled(
    clock: Clock,
    interrupt: &Interrupt,
    mut unsettled: impl FnMut() -> io::Result<Option<String>>,
) -> io::Result<()> {
    let deadline = clock.now() + TIMEOUT;
    while let Some(reason) = unsettled()? {
        let now = clock.now();
        if now > deadline {
            return Err(io::Error::other(reason));
        }
        interrupt.sleep_until(clock, now + POLL)?;
    }
    Ok(())
}
