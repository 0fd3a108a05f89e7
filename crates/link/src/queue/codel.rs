//! Controlled delay (RFC 8289).
//!
//! A packet's sojourn time is judged when it leaves the queue for the line, and what waits behind it then has a say:
//! the decision is unknown when the packet arrives, so that the link holds it.
//!
//! *Marks.* The RFC leaves open what a mark in place of a drop does to the control law; here it counts as a drop does
//! and the packet is sent (as in Linux, `codel_impl.h`).

use alloc::collections::VecDeque;

use polypath_core::frame::Payload;
use polypath_core::math::sqrt;
use polypath_core::time::{Duration, Time};

use super::CoDelConfig;

/// A packet in a queue.
#[derive(Clone, Debug)]
struct Waiting<P> {
    packet: P,
    size: u32,
    since: Time,
}

/// The packets that wait for the line, in the order of their arrival.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<P> {
    packets: VecDeque<Waiting<P>>,
    bytes: u64,
}

/// A packet that leaves a queue for the line.
#[derive(Clone, Debug)]
pub(crate) struct Passed<P> {
    pub(crate) packet: P,
    pub(crate) size: u32,
    pub(crate) since: Time,
    pub(crate) marked: bool,
}

/// Decides which packets of a queue go to the line.
#[derive(Clone, Debug)]
pub(crate) struct CoDel {
    config: CoDelConfig,
    /// When the sojourn time will have been above target for an interval, if it is above.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u32,
    last_count: u32,
}

/// A packet that has left the queue, and whether the sojourn time has been above target for an interval.
struct Head<P> {
    waiting: Waiting<P>,
    above: bool,
}

impl<P: Payload> Fifo<P> {
    pub(crate) fn push(&mut self, packet: P, size: u32, since: Time) {
        self.bytes += u64::from(size);
        self.packets.push_back(Waiting {
            packet,
            size,
            since,
        });
    }

    fn pop(&mut self) -> Option<Waiting<P>> {
        let waiting = self.packets.pop_front()?;
        self.bytes -= u64::from(waiting.size);
        Some(waiting)
    }

    /// Since when the first packet waits.
    #[inline]
    pub(crate) fn first_since(&self) -> Option<Time> {
        self.packets.front().map(|first| first.since)
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl<P> Default for Fifo<P> {
    fn default() -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl CoDel {
    pub(crate) fn new(config: CoDelConfig) -> Self {
        Self {
            config,
            first_above: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// Takes the packet that goes to the line at `now` off the queue, and those that are dropped before it.
    pub(crate) fn dequeue<P: Payload>(
        &mut self,
        now: Time,
        queue: &mut Fifo<P>,
        dropped: &mut impl FnMut(P),
    ) -> Option<Passed<P>> {
        let mut head = self.pull(now, queue)?;
        if !head.above {
            self.dropping = false;
        } else if self.dropping {
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if self.marks(&head) {
                    self.drop_next = self.control(self.drop_next);
                    return Some(head.pass(true));
                }
                dropped(head.waiting.packet);
                head = self.pull(now, queue)?;
                self.dropping = head.above;
                if self.dropping {
                    self.drop_next = self.control(self.drop_next);
                }
            }
        } else {
            let marked = self.marks(&head);
            if !marked {
                dropped(head.waiting.packet);
                head = self.pull(now, queue)?;
            }
            self.begin_dropping(now);
            return Some(head.pass(marked));
        }
        Some(head.pass(false))
    }

    /// Takes note that the line was free and nothing waited.
    pub(crate) fn run_dry(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }

    fn pull<P: Payload>(&mut self, now: Time, queue: &mut Fifo<P>) -> Option<Head<P>> {
        let Some(waiting) = queue.pop() else {
            self.run_dry();
            return None;
        };
        let short = now.since(waiting.since) < self.config.target;
        if short || queue.bytes() <= self.config.max_packet.0 {
            self.first_above = None;
            return Some(Head {
                waiting,
                above: false,
            });
        }
        let first_above = *self.first_above.get_or_insert(now + self.config.interval);
        Some(Head {
            waiting,
            above: now >= first_above,
        })
    }

    fn marks<P: Payload>(&self, head: &Head<P>) -> bool {
        self.config.ecn && head.waiting.packet.ecn().is_capable()
    }

    fn begin_dropping(&mut self, now: Time) {
        self.dropping = true;
        // A rate of drops that controlled the queue a moment ago is a good one to begin with.
        let risen = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < self.config.interval * 16;
        self.count = if risen > 1 && recent { risen } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.control(now);
    }

    /// The control law: the time of a drop after that at `from`.
    fn control(&self, from: Time) -> Time {
        let interval = self.config.interval.as_secs_f64();
        from + Duration::from_secs_f64(interval / sqrt(f64::from(self.count)))
    }
}

impl<P: Payload> Head<P> {
    fn pass(self, marked: bool) -> Passed<P> {
        let Waiting {
            mut packet,
            size,
            since,
        } = self.waiting;
        if marked {
            packet.mark_ce();
        }
        Passed {
            packet,
            size,
            since,
            marked,
        }
    }
}
