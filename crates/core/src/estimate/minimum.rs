//! A minimum that forgets, as of delays whose clocks drift.

use crate::time::{Duration, Time};

/// A minimum is that of the last one to two of these spans: it follows clocks that drift by 500 ppm
/// with an error of at most 5 ms.
const MIN_SPAN: Duration = Duration::from_secs(5);

/// A minimum over the last one to two [`MIN_SPAN`]s.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Minimum {
    before: Option<i64>,
    current: Option<i64>,
    since: Time,
}

impl Minimum {
    /// Adds a value that is measured at `now`.
    pub(crate) fn add(&mut self, now: Time, value: i64) {
        if now >= self.since + MIN_SPAN {
            self.before = self
                .current
                .take()
                .filter(|_| now < self.since + MIN_SPAN * 2);
            self.since = now;
        }
        self.current = Some(self.current.map_or(value, |current| current.min(value)));
    }

    /// The minimum; `None` without a value.
    pub(crate) fn value(&self) -> Option<i64> {
        self.before.into_iter().chain(self.current).min()
    }
}
