//! The control law of controlled delay (RFC 8289, section 5), for any queue.

use polypath_core::frame::Payload;
use polypath_core::math::sqrt;
use polypath_core::time::{Duration, Time};

use super::{CoDelConfig, Fifo, Waiting};
use crate::queue::discipline::Departure;

/// The state of the control law; the parameters are those of the queue, which may have many of
/// these.
#[derive(Clone, Debug, Default)]
pub(in crate::queue) struct Controller {
    /// The time at which the sojourn time will have been above target for an interval, if it
    /// stays above.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

/// A packet that has left the queue.
struct Head<P> {
    waiting: Waiting<P>,
    /// Whether the sojourn time has been above target for an interval.
    above: bool,
}

impl Controller {
    /// Removes the packet that goes to the line at `now`, and those that are dropped before it (RFC
    /// 8289, section 5.5).
    pub(in crate::queue) fn dequeue<P: Payload>(
        &mut self,
        config: &CoDelConfig,
        now: Time,
        queue: &mut impl Fifo<P>,
        dropped: &mut impl FnMut(P),
    ) -> Option<Departure<P>> {
        let mut head = self.pull(config, now, queue)?;
        if !head.above {
            self.dropping = false;
        } else if self.dropping {
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if marks(config, &head) {
                    self.drop_next = self.control(config, self.drop_next);
                    return Some(head.pass(true));
                }
                dropped(head.waiting.packet);
                head = self.pull(config, now, queue)?;
                self.dropping = head.above;
                if self.dropping {
                    self.drop_next = self.control(config, self.drop_next);
                }
            }
        } else {
            let marked = marks(config, &head);
            if !marked {
                dropped(head.waiting.packet);
                head = self.pull(config, now, queue)?;
            }
            self.begin_dropping(config, now);
            return Some(head.pass(marked));
        }
        Some(head.pass(false))
    }

    /// Handles that the queue is empty.
    pub(in crate::queue) fn handle_idle(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }

    fn pull<P>(
        &mut self,
        config: &CoDelConfig,
        now: Time,
        queue: &mut impl Fifo<P>,
    ) -> Option<Head<P>> {
        let Some(waiting) = queue.pop() else {
            self.handle_idle();
            return None;
        };
        let short = now.since(waiting.arrived_at) < config.target;
        if short || queue.bytes() <= config.max_packet.0 {
            self.first_above = None;
            return Some(Head {
                waiting,
                above: false,
            });
        }
        let first_above = *self.first_above.get_or_insert(now + config.interval);
        Some(Head {
            waiting,
            above: now >= first_above,
        })
    }

    fn begin_dropping(&mut self, config: &CoDelConfig, now: Time) {
        self.dropping = true;
        // A drop rate that recently controlled the queue is a good initial rate.
        let risen = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < config.interval * 16;
        self.count = if risen > 1 && recent { risen } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.control(config, now);
    }

    /// The control law: the time of the drop that follows one at `from`.
    fn control(&self, config: &CoDelConfig, from: Time) -> Time {
        let interval = config.interval.as_secs_f64();
        from + Duration::from_secs_f64(interval / sqrt(f64::from(self.count)))
    }
}

fn marks<P: Payload>(config: &CoDelConfig, head: &Head<P>) -> bool {
    config.ecn && head.waiting.packet.ecn().is_capable()
}

impl<P: Payload> Head<P> {
    fn pass(self, marked: bool) -> Departure<P> {
        let Waiting {
            mut packet,
            size,
            arrived_at,
        } = self.waiting;
        if marked {
            packet.mark_ce();
        }
        Departure {
            packet,
            size,
            arrived_at,
            marked,
        }
    }
}
