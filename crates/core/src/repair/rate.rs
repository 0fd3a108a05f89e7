//! The rate that a path carries, from reports, and the rate at which a sender uses it.
//!
//! A path whose queue does not empty delivers at its capacity. While a path is used beyond it, each
//! [`Delivery`] measures the capacity; one without a queue only shows that the capacity is not less.
//!
//! [`QueueTarget`] keeps a short queue at the bottleneck, [`TARGET`]: the path is never idle while
//! there is something to send, and its capacity is known all the time, without probing. The rate is
//! the capacity, corrected by the distance of the queue from the target. Packets of other senders in
//! the same queue count like our own: against them the controller gives way (as RFC 6817 does).

use alloc::boxed::Box;
use core::fmt::Debug;

use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// The shortest span that measures a rate.
const MIN_SPAN: Duration = Duration::from_millis(20);
/// A longer one contains a pause.
const MAX_SPAN: Duration = Duration::from_millis(250);
/// A queue that is longer all the time does not empty.
const STANDING: Duration = Duration::from_millis(3);
/// The wanted queue: above the noise of measured delays, and half of what counts as congestion.
const TARGET: Duration = Duration::from_millis(8);
/// The gain of the average capacity, as a divisor.
const GAIN: u64 = 4;
/// A queue that is shorter is empty: the path carries more, and is filled at a rate of this, in
/// thousandths of the known capacity.
const EMPTY: Duration = Duration::from_millis(2);
const FILL_RATE: u64 = 1100;
/// The most that the rate is above the capacity, and below it, in thousandths of it.
const MAX_ABOVE: u64 = 200;
const MAX_BELOW: u64 = 500;
/// The delay of a path is above the minimum of the last seconds only if the queue empties within
/// these: each interval begins with a time at a lower rate.
const DRAIN_INTERVAL: Duration = Duration::from_secs(4);
const DRAIN: Duration = Duration::from_millis(100);
/// The rate in that time, in thousandths of the capacity.
const DRAIN_RATE: u64 = 900;

/// The packets that arrived on a path between two arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The size of the packets: of all after the first arrival, up to the last.
    pub size: Bytes,
    /// The time between the two arrivals.
    pub span: Duration,
    /// The smallest queueing delay in that time.
    pub queueing: Duration,
    /// The time from the transmission of a packet until a report covers it.
    pub feedback_time: Duration,
}

/// Determines the rate at which a path is used.
pub trait PathRateController: CloneBoxed + Debug + Send {
    /// Applies a measurement that arrived at `now`.
    fn handle_delivery(&mut self, now: Time, delivery: &Delivery);

    /// The rate at which packets may leave at `now`; `None` as long as no limit is known.
    fn rate(&self, now: Time) -> Option<Rate>;

    /// The rate that the path carries; `None` before it was used beyond that.
    fn capacity(&self) -> Option<Rate>;
}

/// Copies a boxed controller, because a simulated network is copied with its senders.
pub trait CloneBoxed {
    /// A copy in the same state.
    fn clone_boxed(&self) -> Box<dyn PathRateController>;
}

impl<C: PathRateController + Clone + 'static> CloneBoxed for C {
    fn clone_boxed(&self) -> Box<dyn PathRateController> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn PathRateController> {
    fn clone(&self) -> Self {
        (**self).clone_boxed()
    }
}

/// Keeps a queue of [`TARGET`] at the bottleneck.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueTarget {
    capacity: Option<Rate>,
    queueing: Duration,
    feedback_time: Duration,
}

impl PathRateController for QueueTarget {
    fn handle_delivery(&mut self, _: Time, delivery: &Delivery) {
        self.queueing = delivery.queueing;
        self.feedback_time = delivery.feedback_time;
        let Some(Rate(delivered)) = Rate::average(delivery.size, delivery.span) else {
            return;
        };
        let is_limited = delivery.queueing >= STANDING;
        self.capacity = match self.capacity {
            None => is_limited.then_some(Rate(delivered)),
            Some(Rate(known)) if is_limited => Some(Rate(known - known / GAIN + delivered / GAIN)),
            Some(Rate(known)) => Some(Rate(known.max(delivered))),
        };
    }

    fn rate(&self, now: Time) -> Option<Rate> {
        let capacity = Duration(self.capacity?.0);
        if now.0 % DRAIN_INTERVAL.0 < DRAIN.0 {
            return Some(Rate(capacity.scale(DRAIN_RATE, 1000).0));
        }
        if self.queueing < EMPTY {
            return Some(Rate(capacity.scale(FILL_RATE, 1000).0));
        }
        // The correction takes two round trips, so that its effect is seen before it is repeated.
        let time = (self.feedback_time * 2 + MIN_SPAN).0;
        let above = TARGET.0.saturating_sub(self.queueing.0) * 1000 / time;
        let below = self
            .queueing
            .0
            .saturating_sub(TARGET.0)
            .saturating_mul(1000)
            / time;
        let share = 1000 + above.min(MAX_ABOVE) - below.min(MAX_BELOW);
        Some(Rate(capacity.scale(share, 1000).0))
    }

    fn capacity(&self) -> Option<Rate> {
        self.capacity
    }
}

/// Divides what arrives on a path into deliveries.
#[derive(Clone, Debug)]
pub(super) struct PathRate {
    controller: Box<dyn PathRateController>,
    /// The arrival that ended the last delivery, by the receiver's clock.
    start: Option<Time>,
    size: u64,
    queueing: Duration,
}

impl Default for PathRate {
    fn default() -> Self {
        Self {
            controller: Box::new(QueueTarget::default()),
            start: None,
            size: 0,
            queueing: Duration::MAX,
        }
    }
}

impl PathRate {
    /// Adds a packet that a report shows for the first time.
    pub(super) fn add(&mut self, size: u32) {
        self.size += u64::from(size);
    }

    /// Notes the last arrival of a report, at `at` by the receiver's clock.
    pub(super) fn on_arrival(
        &mut self,
        now: Time,
        at: Time,
        queueing: Duration,
        feedback_time: Duration,
    ) {
        self.queueing = self.queueing.min(queueing);
        let span = self.start.map(|start| at.since(start));
        let Some(span) = span.filter(|span| *span <= MAX_SPAN) else {
            return self.begin(at);
        };
        if span < MIN_SPAN {
            return;
        }
        let delivery = Delivery {
            size: Bytes(self.size),
            span,
            queueing: self.queueing,
            feedback_time,
        };
        self.controller.handle_delivery(now, &delivery);
        self.begin(at);
    }

    fn begin(&mut self, at: Time) {
        self.start = Some(at);
        self.size = 0;
        self.queueing = Duration::MAX;
    }

    /// Begins again, with a receiver of another clock.
    pub(super) fn restart(&mut self) {
        self.start = None;
    }

    pub(super) fn rate(&self, now: Time) -> Option<Rate> {
        self.controller.rate(now)
    }

    pub(super) fn capacity(&self) -> Option<Rate> {
        self.controller.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A path with a queue, used at the rate of its controller, which learns of it a round trip
    /// later.
    struct Bottleneck {
        controller: QueueTarget,
        /// In bit/s.
        capacity: u64,
        /// In bits.
        queue: u64,
        now: Time,
        on_the_way: alloc::collections::VecDeque<Delivery>,
    }

    impl Bottleneck {
        const STEP: Duration = MIN_SPAN;
        const STEPS_OF_ROUND_TRIP: usize = 3;

        fn new(capacity: u64) -> Self {
            Self {
                controller: QueueTarget::default(),
                capacity,
                queue: 0,
                now: Time::ZERO,
                on_the_way: alloc::collections::VecDeque::new(),
            }
        }

        /// Sends at the rate of the controller, or at `demand` if that is less, for a step; returns
        /// the queueing delay.
        fn step(&mut self, demand: u64) -> Duration {
            let rate = self
                .controller
                .rate(self.now)
                .map_or(demand, |rate| rate.0.min(demand));
            let per_step = |rate: u64| Self::STEP.scale(rate, 1_000_000_000).0;
            let before = self.queue;
            self.queue += per_step(rate);
            let delivered = self.queue.min(per_step(self.capacity));
            self.queue -= delivered;
            let delay = |bits: u64| Duration(bits).scale(1_000_000_000, self.capacity);
            self.on_the_way.push_back(Delivery {
                size: Bytes(delivered / 8),
                span: Self::STEP,
                queueing: delay(self.queue.min(before)),
                feedback_time: Self::STEP * Self::STEPS_OF_ROUND_TRIP as u64,
            });
            self.now += Self::STEP;
            if self.on_the_way.len() > Self::STEPS_OF_ROUND_TRIP
                && let Some(delivery) = self.on_the_way.pop_front()
            {
                self.controller.handle_delivery(self.now, &delivery);
            }
            delay(self.queue)
        }

        /// The mean rate delivered in Mbit/s, and the longest queue.
        fn run(&mut self, steps: u32, demand: u64) -> (f64, Duration) {
            let mut bits = 0;
            let mut longest = Duration::ZERO;
            for _ in 0..steps {
                longest = longest.max(self.step(demand));
                bits += self.on_the_way.back().map_or(0, |last| last.size.0 * 8);
            }
            let seconds = (Self::STEP * u64::from(steps)).as_secs_f64();
            (bits as f64 / seconds / 1e6, longest)
        }
    }

    #[test]
    fn a_path_is_filled_with_a_short_queue() {
        for capacity in [1_000_000, 10_000_000, 300_000_000] {
            let mut path = Bottleneck::new(capacity);
            path.run(100, 2 * capacity);
            let (rate, queue) = path.run(500, 2 * capacity);
            let share = rate * 1e6 / capacity as f64;
            assert!(share > 0.98, "{capacity}: {share}");
            assert!(queue < MS * 20, "{capacity}: {queue}");
        }
    }

    #[test]
    fn a_capacity_that_changes_is_followed() {
        let mut path = Bottleneck::new(10_000_000);
        path.run(100, 100_000_000);
        path.capacity = 40_000_000;
        // 10 % more in each round trip and span: 15 of them.
        path.run(100, 100_000_000);
        let (rate, _) = path.run(50, 100_000_000);
        assert!(rate > 39.0, "{rate} Mbit/s of 40");
        path.capacity = 5_000_000;
        path.run(100, 100_000_000);
        let (rate, queue) = path.run(50, 100_000_000);
        assert!(rate > 4.9 && queue < MS * 30, "{rate} Mbit/s of 5, {queue}");
    }

    #[test]
    fn nothing_is_limited_before_a_queue_was_seen() {
        let mut path = Bottleneck::new(10_000_000);
        path.run(100, 5_000_000);
        assert_eq!(path.controller.capacity(), None);
        assert_eq!(path.controller.rate(path.now), None);
    }

    #[test]
    fn a_pause_is_no_low_rate() {
        let mut path = PathRate::default();
        let at = |ms| Time::ZERO + MS * ms;
        let mut arrive = |ms, bytes| {
            path.add(bytes);
            path.on_arrival(at(ms), at(ms), MS * 5, MS * 40);
            path.capacity().map(|rate| rate.0)
        };
        assert_eq!(arrive(0, 9000), None, "a first arrival has no span");
        assert_eq!(arrive(10, 10_000), None, "too short");
        assert_eq!(arrive(20, 10_000), Some(8_000_000));
        assert_eq!(arrive(1000, 10_000), Some(8_000_000), "a pause");
        assert_eq!(arrive(1020, 20_000), Some(8_000_000));
    }
}
