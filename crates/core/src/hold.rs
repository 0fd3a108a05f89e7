//! Holds that double while what they delay does not last.

use crate::time::Duration;

/// The hold after `hold`: `shortest` if what followed that hold has lasted, otherwise twice as long,
/// up to `longest`.
pub(crate) fn next_hold(
    hold: Duration,
    has_lasted: bool,
    [shortest, longest]: [Duration; 2],
) -> Duration {
    if has_lasted {
        shortest
    } else {
        (hold * 2).min(longest)
    }
}
