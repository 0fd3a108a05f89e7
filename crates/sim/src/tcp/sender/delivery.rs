//! The delivery rate of a connection (draft-cheng-iccrg-delivery-rate-estimation-00), and the pacing
//! that follows from it.

use std::collections::VecDeque;

use polypath_core::time::{Duration, Time};

use crate::tcp::congestion::DeliverySample;
use crate::tcp::ranges::Range;

/// The transmissions of a paced sender, and the time at which the next may leave.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    /// The outstanding segments, from `first` on.
    segments: VecDeque<Transmission>,
    first: u32,
    /// The segments that were delivered.
    delivered: u64,
    /// The time of the last delivery.
    delivered_at: Time,
    /// The send time of the latest sent of the delivered segments (`first_sent_time` of the draft).
    first_sent: Time,
    /// The number of delivered segments until which the application limits the rate.
    app_limited_until: Option<u64>,
    /// The time before which no segment leaves.
    next: Time,
    /// Whether a segment waits for it.
    waits: bool,
    /// The measurement by the current ACK, until the losses that it shows are known.
    sample: Option<DeliverySample>,
}

/// The state at the last transmission of a segment.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    at: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    is_app_limited: bool,
    is_retransmission: bool,
    is_delivered: bool,
}

impl Delivery {
    /// Records a transmission of segment `number`; nothing else is outstanding if the sender was idle.
    pub(super) fn on_sent(&mut self, now: Time, number: u32, is_idle: bool) {
        if is_idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let index = (number - self.first) as usize;
        let sent = Transmission {
            at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            is_app_limited: self.app_limited_until.is_some(),
            is_retransmission: index < self.segments.len(),
            is_delivered: false,
        };
        match self.segments.get_mut(index) {
            Some(segment) if segment.is_delivered => {}
            Some(segment) => *segment = sent,
            None => self.segments.push_back(sent),
        }
    }

    /// Notes that the application has nothing more to send.
    pub(super) fn on_application_limit(&mut self, in_flight: u32) {
        self.app_limited_until = Some(self.delivered + u64::from(in_flight));
    }

    /// Whether the application limits the rate.
    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// Processes an ACK of all segments before `acknowledged`, and of those in `blocks`, which were
    /// not known to have arrived.
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        acknowledged: u32,
        blocks: impl Iterator<Item = Range>,
        prior_in_flight: u32,
    ) {
        let mut latest = None;
        let mut newly = 0;
        for number in blocks.flat_map(|block| block.start..block.end) {
            newly += self.deliver(number, &mut latest);
        }
        while self.first < acknowledged
            && let Some(segment) = self.segments.pop_front()
        {
            self.first += 1;
            newly += note(segment, &mut latest);
        }
        self.first = self.first.max(acknowledged);
        if newly > 0 {
            self.delivered += u64::from(newly);
            self.delivered_at = now;
        }
        let delivered = self.delivered;
        self.app_limited_until.take_if(|until| delivered > *until);
        self.sample = Some(self.sample_of(now, newly, latest, prior_in_flight));
    }

    /// Whether [`Self::take_sample`] has one.
    pub(super) fn has_sample(&self) -> bool {
        self.sample.is_some()
    }

    /// The measurement by the last ACK, with `in_flight` segments after it; `None` if it was taken.
    pub(super) fn take_sample(&mut self, in_flight: u32) -> Option<DeliverySample> {
        let sample = self.sample.take()?;
        let left = sample.prior_in_flight.saturating_sub(sample.newly);
        Some(DeliverySample {
            in_flight,
            lost: left.saturating_sub(in_flight),
            ..sample
        })
    }

    fn deliver(&mut self, number: u32, latest: &mut Option<Transmission>) -> u32 {
        let index = number.checked_sub(self.first).map(|index| index as usize);
        let Some(segment) = index.and_then(|index| self.segments.get_mut(index)) else {
            return 0;
        };
        let newly = note(*segment, latest);
        segment.is_delivered = true;
        newly
    }

    fn sample_of(
        &mut self,
        now: Time,
        newly: u32,
        latest: Option<Transmission>,
        prior_in_flight: u32,
    ) -> DeliverySample {
        let none = DeliverySample {
            newly,
            delivered: self.delivered,
            prior_delivered: self.delivered,
            interval: Duration::ZERO,
            rtt: None,
            is_app_limited: false,
            prior_in_flight,
            in_flight: prior_in_flight,
            lost: 0,
        };
        let Some(sent) = latest else {
            return none;
        };
        self.first_sent = sent.at;
        let send_time = sent.at.since(sent.first_sent);
        let ack_time = now.since(sent.delivered_at);
        DeliverySample {
            prior_delivered: sent.delivered,
            interval: send_time.max(ack_time),
            rtt: (!sent.is_retransmission).then(|| now.since(sent.at)),
            is_app_limited: sent.is_app_limited,
            ..none
        }
    }

    /// Notes that no segment waits.
    pub(super) fn cancel_wait(&mut self) {
        self.waits = false;
    }

    /// Whether the next segment may leave; otherwise it waits.
    pub(super) fn may_leave(&mut self, now: Time) -> bool {
        self.waits = now < self.next;
        !self.waits
    }

    /// Schedules the segment after one that leaves now, at `rate` segments per second.
    pub(super) fn pace(&mut self, now: Time, rate: Option<f64>) {
        let gap = rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(1.0 / rate));
        self.next = now + gap;
    }

    /// The time at which a segment that waits leaves.
    pub(super) fn pending(&self) -> Option<Time> {
        self.waits.then_some(self.next)
    }

    /// Whether a segment has waited until now; it waits no longer.
    pub(super) fn take_expired(&mut self, now: Time) -> bool {
        let has_expired = self.waits && self.next <= now;
        self.waits &= !has_expired;
        has_expired
    }
}

/// Counts a segment unless it was delivered, and keeps the latest sent one.
fn note(segment: Transmission, latest: &mut Option<Transmission>) -> u32 {
    if segment.is_delivered {
        return 0;
    }
    if latest.is_none_or(|latest| latest.delivered <= segment.delivered && latest.at <= segment.at)
    {
        *latest = Some(segment);
    }
    1
}
