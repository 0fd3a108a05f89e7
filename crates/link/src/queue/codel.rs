//! Controlled delay (RFC 8289).
//!
//! A packet's sojourn time is known when it leaves the queue for the line, and the decision also
//! depends on the packets that then wait behind it: the discipline holds packets until they leave.
//!
//! *Marks.* The RFC leaves open how a mark instead of a drop affects the control law. Here it
//! counts as a drop and the packet is sent, as in Linux (`codel_impl.h`).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use polypath_core::frame::Payload;
use polypath_core::math::sqrt;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;

use super::limit::{Occupancy, QueueLimit};
use super::{Departure, HoldingQueue, size_of};
use crate::config_error::{ConfigError, lasting, packet_size};
use crate::drop_reason::DropReason;

/// Controlled delay, with the names and defaults of RFC 8289.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct CoDelConfig {
    /// The limit of the queue.
    pub limit: QueueLimit,
    /// The acceptable sojourn time: packets are dropped after it was exceeded for `interval`.
    #[cfg_attr(feature = "serde", serde(default = "default_target"))]
    pub target: Duration,
    /// The time for which a burst may exceed `target`: about a long round-trip time.
    #[cfg_attr(feature = "serde", serde(default = "default_interval"))]
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    #[cfg_attr(feature = "serde", serde(default))]
    pub ecn: bool,
    /// The size of the largest packet (`MAXPACKET`); nothing is dropped while no more than this
    /// waits.
    #[cfg_attr(feature = "serde", serde(default = "default_max_packet"))]
    pub max_packet: Bytes,
}

const fn default_target() -> Duration {
    Duration::from_millis(5)
}

const fn default_interval() -> Duration {
    Duration::from_millis(100)
}

const fn default_max_packet() -> Bytes {
    Bytes(1500)
}

impl CoDelConfig {
    /// The defaults of RFC 8289 (sections 4.2 and 4.3) for packets of 1500 bytes, with this limit.
    #[must_use]
    pub const fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            target: default_target(),
            interval: default_interval(),
            ecn: false,
            max_packet: default_max_packet(),
        }
    }

    pub(super) fn problems(&self) -> Vec<ConfigError> {
        let interval = lasting("queue.interval", self.interval);
        let max_packet = packet_size("queue.max_packet", self.max_packet);
        interval.into_iter().chain(max_packet).collect()
    }
}

/// A packet that waits.
#[derive(Clone, Debug)]
struct Waiting<P> {
    packet: P,
    size: u32,
    arrived_at: Time,
}

/// The packets that wait for the line, in the order of arrival.
#[derive(Clone, Debug)]
struct Fifo<P> {
    packets: VecDeque<Waiting<P>>,
    bytes: u64,
}

/// A queue under controlled delay.
#[derive(Clone, Debug)]
pub(crate) struct CoDel<P> {
    queue: Fifo<P>,
    control: Control,
}

/// The state of the control law.
#[derive(Clone, Debug)]
struct Control {
    config: CoDelConfig,
    /// When the sojourn time has been above target for an interval, if it stays above.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u32,
    last_count: u32,
}

/// A packet that has left the queue.
struct Head<P> {
    waiting: Waiting<P>,
    /// Whether the sojourn time has been above target for an interval.
    above: bool,
}

impl<P: Payload> CoDel<P> {
    pub(crate) fn new(config: CoDelConfig) -> Self {
        Self {
            queue: Fifo {
                packets: VecDeque::new(),
                bytes: 0,
            },
            control: Control {
                config,
                first_above: None,
                dropping: false,
                drop_next: Time::ZERO,
                count: 0,
                last_count: 0,
            },
        }
    }
}

impl<P: Payload> HoldingQueue<P> for CoDel<P> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: P,
        transmitting: Occupancy,
        dropped: &mut impl FnMut(DropReason, P),
    ) {
        let size = size_of(&packet);
        let waiting = self.occupancy();
        let total = Occupancy {
            packets: waiting.packets + transmitting.packets,
            bytes: waiting.bytes + transmitting.bytes,
        };
        if let Some(reason) = self.control.config.limit.drop_reason(total, size) {
            return dropped(reason, packet);
        }
        self.queue.push(Waiting {
            packet,
            size,
            arrived_at: now,
        });
    }

    fn dequeue(
        &mut self,
        now: Time,
        dropped: &mut impl FnMut(DropReason, P),
    ) -> Option<Departure<P>> {
        let mut dropped = |packet| dropped(DropReason::Sojourn, packet);
        self.control.dequeue(now, &mut self.queue, &mut dropped)
    }

    fn handle_idle(&mut self) {
        self.control.handle_idle();
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy {
            packets: self.queue.packets.len(),
            bytes: self.queue.bytes,
        }
    }

    #[inline]
    fn waiting_since(&self) -> Option<Time> {
        self.queue.packets.front().map(|first| first.arrived_at)
    }
}

impl<P> Fifo<P> {
    fn push(&mut self, waiting: Waiting<P>) {
        self.bytes += u64::from(waiting.size);
        self.packets.push_back(waiting);
    }

    fn pop(&mut self) -> Option<Waiting<P>> {
        let waiting = self.packets.pop_front()?;
        self.bytes -= u64::from(waiting.size);
        Some(waiting)
    }
}

impl Control {
    /// Removes the packet that goes to the line at `now`, and those that are dropped before it (RFC
    /// 8289, section 5.5).
    fn dequeue<P: Payload>(
        &mut self,
        now: Time,
        queue: &mut Fifo<P>,
        dropped: &mut impl FnMut(P),
    ) -> Option<Departure<P>> {
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

    fn handle_idle(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }

    fn pull<P: Payload>(&mut self, now: Time, queue: &mut Fifo<P>) -> Option<Head<P>> {
        let Some(waiting) = queue.pop() else {
            self.handle_idle();
            return None;
        };
        let short = now.since(waiting.arrived_at) < self.config.target;
        if short || queue.bytes <= self.config.max_packet.0 {
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
        // A drop rate that recently controlled the queue is a good initial rate.
        let risen = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < self.config.interval * 16;
        self.count = if risen > 1 && recent { risen } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.control(now);
    }

    /// The control law: the time of the drop that follows one at `from`.
    fn control(&self, from: Time) -> Time {
        let interval = self.config.interval.as_secs_f64();
        from + Duration::from_secs_f64(interval / sqrt(f64::from(self.count)))
    }
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
