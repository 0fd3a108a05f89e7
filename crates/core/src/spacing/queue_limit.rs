//! The limit of the queueing delay, and the flows that keep the queue above it.

use crate::estimate::{Minimum, Srtt};
use crate::time::{Duration, Time};

/// The span of the base round-trip time: a path that has become longer is noticed after twice this
/// time, and a queue that others never let drain is not.
const BASE_SPAN: Duration = Duration::from_secs(300);
/// The time for which the delay must be above the limit: radio links delay single packets without a
/// queue. It is that of all flows, whatever their round-trip times.
const PERSISTENCE: Duration = Duration::from_millis(60);
/// The number of reductions in series that drain the queue unless others hold it: senders that start
/// later do, as long as their rates double.
const REDUCTIONS: u32 = 10;
/// The minimum time for which losses alone count once others hold the queue.
const LOSS_ONLY: Duration = Duration::from_secs(10);

/// The queueing delay of a path, and what follows from it.
#[derive(Clone, Debug)]
pub(super) struct QueueLimit {
    /// The limit; 0 if there is none.
    limit: Duration,
    base: Minimum,
    smoothed: Option<Srtt>,
    /// The queueing delays of the last measurement, and of that before it.
    delays: [Duration; 2],
    /// The time since which the delay is above the limit.
    above_since: Option<Time>,
    /// Reductions in series that have not drained the queue.
    series: Option<ReductionSeries>,
    /// The time since which losses alone count.
    loss_only_since: Option<Time>,
    /// Whether reductions keep the queue short, without losses.
    is_kept_short: bool,
}

#[derive(Clone, Copy, Debug)]
struct ReductionSeries {
    /// The rate before the first.
    rate: f64,
    count: u32,
    /// The time of the last, and the delay then.
    last: Time,
    delay: Duration,
}

/// The reaction that the queueing delay demands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum QueueVerdict {
    /// It is within the limit, or there is none for now.
    Acceptable,
    /// The effect of the last reduction is not seen yet.
    Draining,
    /// The rate is to be reduced.
    TooLong,
    /// The queue does not drain, so others hold it: the rate returns to this value.
    HeldByOthers {
        /// The rate before the reductions.
        rate: f64,
    },
}

impl QueueLimit {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            base: Minimum::over(BASE_SPAN),
            smoothed: None,
            delays: [Duration::ZERO; 2],
            above_since: None,
            series: None,
            loss_only_since: None,
            is_kept_short: false,
        }
    }

    /// Adds a measurement of the round-trip time.
    pub(super) fn add(&mut self, now: Time, rtt: Duration) {
        let nanoseconds = i64::try_from(rtt.as_nanos()).unwrap_or(i64::MAX);
        self.base.add(now, nanoseconds);
        let base = self.base.value().unwrap_or(nanoseconds);
        let delay = rtt - Duration(u64::try_from(base).unwrap_or(0));
        self.delays = [delay, self.delays[0]];
        match &mut self.smoothed {
            Some(smoothed) => smoothed.update(rtt),
            None => self.smoothed = Some(Srtt::new(rtt)),
        }
        if delay > self.limit {
            self.above_since.get_or_insert(now);
        } else {
            self.above_since = None;
        }
        if delay < self.limit.scale(1, 2) {
            self.on_drained(now);
        }
    }

    /// The queueing delay: the smaller of the last two measurements.
    pub(super) fn delay(&self) -> Duration {
        self.delays[0].min(self.delays[1])
    }

    /// The part of the limit that the queue does not use, by the last measurement; 1 while losses alone
    /// count.
    pub(super) fn free_share(&self) -> f64 {
        if self.limit == Duration::ZERO || self.loss_only_since.is_some() {
            return 1.0;
        }
        let used = self.delays[0].as_secs_f64() / self.limit.as_secs_f64();
        (1.0 - used).max(0.0)
    }

    /// The smoothed round-trip time; 0 without a measurement.
    pub(super) fn smoothed_rtt(&self) -> Duration {
        self.smoothed.map_or(Duration::ZERO, Srtt::value)
    }

    /// Whether reductions keep the queue short: no other flows hold it.
    pub(super) fn is_kept_short(&self) -> bool {
        self.is_kept_short
    }

    /// Notes a reduction, because of losses or of the queue.
    pub(super) fn on_reduction(&mut self, is_for_loss: bool) {
        self.is_kept_short &= !is_for_loss;
    }

    fn on_drained(&mut self, now: Time) {
        if self.series.take().is_some() {
            self.is_kept_short = true;
        }
        self.loss_only_since
            .take_if(|since| now >= *since + LOSS_ONLY);
    }

    /// Evaluates the delay for a sender whose rate doubles: it does not wait for the queue to grow.
    pub(super) fn verdict_at_start(&self) -> QueueVerdict {
        if self.limit > Duration::ZERO && self.delay() > self.limit {
            QueueVerdict::TooLong
        } else {
            QueueVerdict::Acceptable
        }
    }

    /// Evaluates the delay for a sender at `rate`, which was reduced at `reduced`; `settling` is the
    /// time in which a reduction shows.
    pub(super) fn verdict(
        &mut self,
        now: Time,
        reduced: Option<Time>,
        settling: Duration,
        rate: f64,
    ) -> QueueVerdict {
        let is_off = self.limit == Duration::ZERO || self.loss_only_since.is_some();
        let Some(since) = self.above_since.filter(|_| !is_off) else {
            return QueueVerdict::Acceptable;
        };
        if reduced.is_some_and(|reduced| now < reduced + settling) {
            return QueueVerdict::Draining;
        }
        if now < since + PERSISTENCE {
            return QueueVerdict::Acceptable;
        }
        self.series
            .take_if(|series| now > series.last + settling * 2);
        let delay = self.delay();
        let series = self.series.get_or_insert(ReductionSeries {
            rate,
            count: 0,
            last: now,
            delay: Duration::ZERO,
        });
        if delay < series.delay.scale(3, 4) {
            // It drains, though not within that time.
            (series.last, series.delay) = (now, delay);
            return QueueVerdict::Draining;
        }
        if series.count < REDUCTIONS {
            series.count += 1;
            (series.last, series.delay) = (now, delay);
            return QueueVerdict::TooLong;
        }
        let rate = series.rate;
        self.series = None;
        self.is_kept_short = false;
        self.loss_only_since = Some(now);
        QueueVerdict::HeldByOthers { rate }
    }

    /// The time in which a queue at the limit drains after a reduction by 30 %, and somewhat more.
    pub(super) fn draining_time(&self) -> Duration {
        self.limit * 4
    }
}
