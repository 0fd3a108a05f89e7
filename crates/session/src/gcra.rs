//! The generic cell rate algorithm, a rate limit with a burst.

use polypath_core::time::{Duration, Time};

/// The generic cell rate algorithm (ITU-T I.371) in its virtual scheduling form.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gcra {
    /// The theoretical arrival time: when everything spent so far has been earned again.
    arrival: Time,
}

impl Gcra {
    /// Spends `cost`, in time at the limited rate; returns false, and spends nothing, if more than
    /// `burst` would be outstanding.
    #[must_use]
    pub fn spend(&mut self, now: Time, cost: Duration, burst: Duration) -> bool {
        let spent = self.arrival.max(now) + cost;
        let conforms = spent.since(now) <= burst;
        if conforms {
            self.arrival = spent;
        }
        conforms
    }
}
