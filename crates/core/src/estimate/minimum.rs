//! A minimum that forgets, as of delays whose clocks drift.

use crate::time::{Duration, Time};

/// The usual span: a minimum follows clocks that drift by 500 ppm with an error of at most 5 ms.
const USUAL_SPAN: Duration = Duration::from_secs(5);

/// A minimum over the last one to two spans.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Minimum {
    before: Option<i64>,
    current: Option<i64>,
    since: Time,
    span: Duration,
}

impl Default for Minimum {
    fn default() -> Self {
        Self::over(USUAL_SPAN)
    }
}

impl Minimum {
    /// A minimum over the last one to two of these spans.
    pub(crate) const fn over(span: Duration) -> Self {
        Self {
            before: None,
            current: None,
            since: Time::ZERO,
            span,
        }
    }

    /// Adds a value that is measured at `now`.
    pub(crate) fn add(&mut self, now: Time, value: i64) {
        if now >= self.since + self.span {
            self.before = self
                .current
                .take()
                .filter(|_| now < self.since + self.span * 2);
            self.since = now;
        }
        self.current = Some(self.current.map_or(value, |current| current.min(value)));
    }

    /// The minimum; `None` without a value.
    pub(crate) fn value(&self) -> Option<i64> {
        self.before.into_iter().chain(self.current).min()
    }
}
