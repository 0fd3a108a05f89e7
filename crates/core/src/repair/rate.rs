//! The rate that a path carries, from reports, and the rate at which a sender uses it.
//!
//! A path whose queue grows delivers at its capacity, or at what other senders leave of it: then
//! each [`Delivery`] measures that. Otherwise it only shows that the capacity is not less, since
//! the sender may have had nothing more to send.
//!
//! [`QueueTarget`] keeps a short queue at the bottleneck, [`TARGET_QUEUE`]: the path is never idle while
//! there is something to send. The rate is the capacity, corrected by the distance of the queue
//! from the target. Packets of other senders in the same queue count like our own: against them the
//! controller gives way (as RFC 6817 does), down to half of the capacity.

use super::queue::{QueuePrediction, QueueSample};
use crate::frame::PathId;
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// The shortest span that measures a rate, the shortest before a rate is known, which is urgent, and
/// the minimum number of packets in it.
const MIN_SPAN: Duration = Duration::from_millis(20);
const MIN_FIRST_SPAN: Duration = Duration::from_millis(8);
const MIN_PACKETS: u32 = 3;
/// A longer one contains a pause.
const MAX_SPAN: Duration = Duration::from_millis(500);
/// A queue grows if the delay rises by more than this in a span, and by more than one part in
/// [`NOISE`] of it.
const GROWTH: Duration = Duration::from_millis(1);
const NOISE: u64 = 32;
/// A queue that is shorter is empty: the path carries more.
const EMPTY: Duration = Duration::from_millis(2);
/// The wanted queue: above the noise of measured delays, and half of what counts as congestion.
pub const TARGET_QUEUE: Duration = Duration::from_millis(8);
/// The gain of the average capacity, as a divisor.
const GAIN: u64 = 4;
/// The smallest capacity: a path that carries less is not worth measuring.
const MIN_CAPACITY: Rate = Rate(100_000);
/// The most that the rate is above the capacity, and below it, in thousandths of it.
const MAX_ABOVE: u64 = 100;
const MAX_BELOW: u64 = 500;
/// The delay without a queue is the minimum of the last seconds: the queue has to empty within
/// these. Each interval contains a time at a lower rate, at a different time for each path.
const DRAIN_INTERVAL: Duration = Duration::from_secs(4);
const DRAIN: Duration = Duration::from_millis(100);
const DRAIN_DISTANCE: Duration = Duration::from_secs(1);
/// The rate in that time, in thousandths of the capacity.
const DRAIN_RATE: u64 = 750;

/// The packets that arrived on a path between two arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The size of the packets: of all after the first arrival, up to the last.
    pub size: Bytes,
    /// The size of packets that may have arrived on another path instead.
    pub uncertain: Bytes,
    /// The number of all.
    pub packets: u32,
    /// The time between the two arrivals.
    pub span: Duration,
    /// The queueing delay of the first arrival.
    pub before: Duration,
    /// The queueing delay of the last.
    pub after: Duration,
    /// The time from the transmission of a packet until a report covers it.
    pub feedback_time: Duration,
}

/// The limit of a path that was used beyond its capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathLimit {
    /// The rate at which packets may leave.
    pub rate: Rate,
    /// The rate that the path carries.
    pub capacity: Rate,
    /// The queue that a packet finds which is sent now.
    pub queue: Duration,
    /// Bytes that wait in the endpoint to leave at the rate.
    pub unsent: Bytes,
    /// Whether the queue should empty, so that the delay without a queue is measured.
    pub drains: bool,
}

/// Determines the rate at which a path is used.
pub trait PathRateController {
    /// Applies a measurement.
    fn handle_delivery(&mut self, delivery: &Delivery);

    /// The rate at which packets may leave; `None` as long as no limit is known.
    fn rate(&self) -> Option<Rate>;

    /// The rate that the path carries; `None` before it was used beyond that.
    fn capacity(&self) -> Option<Rate>;
}

/// Keeps a queue of [`TARGET_QUEUE`] at the bottleneck.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueTarget {
    capacity: Option<Rate>,
    /// The transmission time of a packet: delays are measured with smaller ones, too.
    packet: Duration,
    queueing: Duration,
    feedback_time: Duration,
}

impl QueueTarget {
    /// A queueing delay without the transmission time of a packet.
    fn excess(&self, queueing: Duration) -> Duration {
        Duration(queueing.0.saturating_sub(self.packet.0))
    }
}

impl PathRateController for QueueTarget {
    fn handle_delivery(&mut self, delivery: &Delivery) {
        self.queueing = delivery.before.min(delivery.after);
        self.feedback_time = delivery.feedback_time;
        let rate = |size| Rate::average(size, delivery.span).map(|rate| rate.0);
        let all = Bytes(delivery.size.0 + delivery.uncertain.0);
        let (Some(least), Some(most)) = (rate(delivery.size), rate(all)) else {
            return;
        };
        let noise = GROWTH.max(delivery.span.scale(1, NOISE));
        let growth = Duration(delivery.after.0.saturating_sub(delivery.before.0));
        let is_busy = self.excess(delivery.before) >= EMPTY;
        let grows = is_busy && growth > noise;
        let capacity = match self.capacity {
            None if grows => most,
            None => return,
            Some(Rate(known)) if least > known => known + (least - known) / GAIN,
            Some(Rate(known)) if grows && most < known => known - (known - most) / GAIN,
            Some(Rate(known)) => known,
        };
        let capacity = Rate(capacity).max(MIN_CAPACITY);
        self.capacity = Some(capacity);
        let packet = all.0 / u64::from(delivery.packets.max(1));
        self.packet = capacity.transmission_time(Bytes(packet));
    }

    fn rate(&self) -> Option<Rate> {
        let capacity = Duration(self.capacity?.0);
        let queueing = self.excess(self.queueing);
        // An excess is seen after the feedback time: until then it adds no more than the target.
        let time = if queueing < EMPTY {
            self.feedback_time
        } else {
            self.feedback_time * 2 + MIN_SPAN
        };
        let share = |distance: u64| distance.saturating_mul(1000) / time.0.max(1);
        let above = share(TARGET_QUEUE.0.saturating_sub(queueing.0));
        let below = share(queueing.0.saturating_sub(TARGET_QUEUE.0));
        let share = 1000 + above.min(MAX_ABOVE) - below.min(MAX_BELOW);
        Some(Rate(capacity.scale(share, 1000).0))
    }

    fn capacity(&self) -> Option<Rate> {
        self.capacity
    }
}

/// Divides what arrives on a path into deliveries.
#[derive(Clone, Debug)]
pub(super) struct PathRate<C = QueueTarget> {
    controller: C,
    /// The time from the beginning of an interval in which the queue empties.
    drain: Duration,
    /// The arrival that ended the last delivery.
    start: Option<Arrival>,
    size: Bytes,
    uncertain: Bytes,
    packets: u32,
    queue: QueuePrediction,
}

/// An arrival on a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Its time, by the receiver's clock.
    pub(super) at: Time,
    /// The transmission, by the sender's clock, and what it found.
    pub(super) newest: QueueSample,
}

impl<C: Default + PathRateController> PathRate<C> {
    pub(super) fn new(path: PathId) -> Self {
        let drain = DRAIN_DISTANCE * u64::from(path.0);
        Self {
            controller: C::default(),
            drain: Duration(drain.0 % DRAIN_INTERVAL.0),
            start: None,
            size: Bytes(0),
            uncertain: Bytes(0),
            packets: 0,
            queue: QueuePrediction::default(),
        }
    }

    /// Adds a packet that a report shows for the first time; `is_certain` states whether it was
    /// carried by this path alone.
    pub(super) fn add(&mut self, size: u32, is_certain: bool) {
        let sum = if is_certain {
            &mut self.size
        } else {
            &mut self.uncertain
        };
        sum.0 += u64::from(size);
        self.packets += 1;
    }

    /// Notes a packet that is sent.
    pub(super) fn on_sent(&mut self, now: Time, size: u32) {
        self.queue.on_sent(now, size);
    }

    /// Notes the last arrival of a report.
    pub(super) fn on_arrival(&mut self, last: Arrival, feedback_time: Duration) {
        self.queue.on_arrival(last.newest);
        let Some(start) = self.start.filter(|start| last.at >= start.at) else {
            return self.begin(last);
        };
        let span = last.at.since(start.at);
        let is_known = self.capacity().is_some();
        // Within the first span, the queue must not have been empty.
        let is_idle = !is_known && start.newest.queue < EMPTY;
        if span > MAX_SPAN || is_idle {
            return self.begin(last);
        }
        let min = if is_known { MIN_SPAN } else { MIN_FIRST_SPAN };
        if span < min || self.packets < MIN_PACKETS {
            return;
        }
        self.controller.handle_delivery(&Delivery {
            size: self.size,
            uncertain: self.uncertain,
            packets: self.packets,
            span,
            before: start.newest.queue,
            after: last.newest.queue,
            feedback_time,
        });
        self.begin(last);
    }

    fn begin(&mut self, start: Arrival) {
        self.start = Some(start);
        self.size = Bytes(0);
        self.uncertain = Bytes(0);
        self.packets = 0;
    }

    /// Begins again, with a receiver of another clock.
    pub(super) fn restart(&mut self) {
        self.start = None;
    }

    pub(super) fn limit(&self, now: Time, unsent: Bytes) -> Option<PathLimit> {
        let capacity = self.capacity()?;
        let time = Duration(now.0 % DRAIN_INTERVAL.0);
        let drains = (self.drain..self.drain + DRAIN).contains(&time);
        let rate = if drains {
            Rate(Duration(capacity.0).scale(DRAIN_RATE, 1000).0)
        } else {
            self.controller.rate()?
        };
        Some(PathLimit {
            rate,
            capacity,
            queue: self.queue.at(now, capacity),
            unsent,
            drains,
        })
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
        /// The rate of other senders in bit/s, and the queue that they keep whatever we do.
        others: u64,
        foreign_queue: Duration,
        /// Of the last arrival.
        jitter: Duration,
        /// The time until a delivery is known, in steps.
        round_trip: usize,
        /// In bits.
        queue: u64,
        now: Time,
        on_the_way: alloc::collections::VecDeque<Delivery>,
    }

    impl Bottleneck {
        const STEP: Duration = MIN_SPAN;

        fn new(capacity: u64) -> Self {
            Self {
                controller: QueueTarget::default(),
                capacity,
                others: 0,
                foreign_queue: Duration::ZERO,
                jitter: Duration::ZERO,
                round_trip: 3,
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
                .rate()
                .map_or(demand, |rate| rate.0.min(demand));
            let per_step = |rate: u64| Self::STEP.scale(rate, 1_000_000_000).0;
            let before = self.queue;
            // What others have in the queue takes its share of the line.
            let others = Self::STEP.scale(self.others, 1_000_000_000).0;
            self.queue += per_step(rate) + others;
            let delivered = self.queue.min(per_step(self.capacity));
            self.queue -= delivered;
            let own = delivered.saturating_sub(others.min(delivered));
            let delay =
                |bits: u64| self.foreign_queue + Duration(bits).scale(1_000_000_000, self.capacity);
            let jitter = MS * u64::from((self.now.0 / Self::STEP.0).is_multiple_of(3));
            let (after, before) = (delay(self.queue), delay(before));
            self.on_the_way.push_back(Delivery {
                size: Bytes(own / 8),
                uncertain: Bytes(0),
                packets: u32::try_from(own / 12_000).unwrap(),
                span: Self::STEP,
                before: before + core::mem::replace(&mut self.jitter, jitter),
                after: after + jitter,
                feedback_time: Self::STEP * self.round_trip as u64,
            });
            self.now += Self::STEP;
            if self.on_the_way.len() > self.round_trip
                && let Some(delivery) = self.on_the_way.pop_front()
                && delivery.packets >= MIN_PACKETS
            {
                self.controller.handle_delivery(&delivery);
            }
            after
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
        for capacity in [4_000_000, 10_000_000, 1_000_000_000] {
            for round_trip in [1, 3, 10, 60] {
                let mut path = Bottleneck::new(capacity);
                path.round_trip = round_trip;
                path.run(2000, capacity + capacity / 4);
                let (rate, queue) = path.run(1000, 2 * capacity);
                let share = rate * 1e6 / capacity as f64;
                assert!(share > 0.95, "{capacity}, {round_trip}: {share}");
                assert!(queue < MS * 40, "{capacity}, {round_trip}: {queue}");
            }
        }
    }

    #[test]
    fn a_capacity_that_changes_is_followed() {
        let mut path = Bottleneck::new(10_000_000);
        path.run(100, 100_000_000);
        path.capacity = 40_000_000;
        path.run(200, 100_000_000);
        let (rate, _) = path.run(50, 100_000_000);
        assert!(rate > 38.0, "{rate} Mbit/s of 40");
        path.capacity = 5_000_000;
        path.run(200, 100_000_000);
        let (rate, queue) = path.run(50, 100_000_000);
        assert!(
            rate > 4.75 && queue < MS * 30,
            "{rate} Mbit/s of 5, {queue}"
        );
    }

    #[test]
    fn nothing_is_limited_before_a_queue_grew() {
        let mut path = Bottleneck::new(10_000_000);
        // A queue of 15 ms that is not ours, as of a path with jitter.
        path.queue = 150_000;
        path.others = 6_000_000;
        path.run(500, 4_000_000);
        assert_eq!(path.controller.capacity(), None);
        assert_eq!(path.controller.rate(), None);
    }

    #[test]
    fn at_least_half_of_what_others_leave_is_used() {
        let mut path = Bottleneck::new(10_000_000);
        path.run(200, 20_000_000);
        path.others = 5_500_000;
        path.foreign_queue = MS * 200;
        let (rate, _) = path.run(500, 20_000_000);
        // They leave 4.5 Mbit/s.
        assert!((2.25..4.5).contains(&rate), "{rate} Mbit/s");
    }

    #[test]
    fn a_pause_is_no_low_rate() {
        let mut path = PathRate::<QueueTarget>::new(PathId(0));
        let at = |ms| Time::ZERO + MS * ms;
        let found = |ms| QueueSample {
            sent: at(ms),
            queue: MS * (8 + ms),
        };
        let arrive = |path: &mut PathRate, ms: u64, bytes: u32| {
            (0..3).for_each(|_| path.add(bytes, true));
            // Sent within half of the time in which it arrives.
            let last = Arrival {
                at: at(ms),
                newest: found(ms / 2),
            };
            path.on_arrival(last, MS * 40);
            path.capacity().map(|rate| rate.0)
        };
        assert_eq!(
            arrive(&mut path, 0, 3000),
            None,
            "a first arrival has no span"
        );
        assert_eq!(arrive(&mut path, 6, 3000), None, "too short");
        assert_eq!(arrive(&mut path, 20, 3000), Some(7_200_000));
        assert_eq!(arrive(&mut path, 1000, 3000), Some(7_200_000), "a pause");
        assert_eq!(
            arrive(&mut path, 500, 3000),
            Some(7_200_000),
            "a step of the clock"
        );
        // A quarter of the way to half of the rate.
        assert_eq!(arrive(&mut path, 520, 3000), Some(6_300_000));
        // Frames without packets measure nothing.
        for ms in [540, 740, 940, 1140] {
            let last = Arrival {
                at: at(ms),
                newest: found(ms / 2),
            };
            path.on_arrival(last, MS * 40);
        }
        assert_eq!(path.capacity(), Some(Rate(6_300_000)));
    }

    #[test]
    fn packets_that_other_paths_may_have_carried_are_no_evidence() {
        let mut path = QueueTarget {
            capacity: Some(Rate(8_000_000)),
            ..QueueTarget::default()
        };
        // 4 Mbit/s for certain, and 12 Mbit/s at most.
        path.handle_delivery(&Delivery {
            size: Bytes(10_000),
            uncertain: Bytes(20_000),
            packets: 30,
            span: MS * 20,
            before: MS * 20,
            after: MS * 30,
            feedback_time: MS * 40,
        });
        assert_eq!(path.capacity(), Some(Rate(8_000_000)));
    }
}
