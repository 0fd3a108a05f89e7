//! The link machine.

mod held;
mod tally;

use alloc::boxed::Box;

use polypath_core::frame::Payload;
use polypath_core::machine::{Deadline, Machine};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;

use crate::config::{ConfigError, LinkConfig};
use crate::counters::Counters;
use crate::error::Errors;
use crate::line::{Line, Sent};
use crate::queue::{
    Arrival, BytePlaces, PacketPlaces, Queue, QueueConfig, QueueLimit, Red, Verdict,
};
use held::Held;
use tally::Tally;

/// Why a link drops a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// It found the queue full.
    QueueFull,
    /// The queue was to grow beyond [`MOST_PACKETS`](crate::MOST_PACKETS).
    Overflow,
    /// RED picked it.
    Early,
    /// `CoDel` found that packets had waited too long.
    Sojourn,
    /// It was lost for itself, with the link's probability of loss.
    Random,
    /// The Gilbert-Elliott chain lost it.
    Burst,
    /// The two-state process was down.
    Down,
    /// It fell into a scheduled outage.
    Outage,
}

impl DropReason {
    /// All reasons.
    pub const ALL: [DropReason; 8] = [
        DropReason::QueueFull,
        DropReason::Overflow,
        DropReason::Early,
        DropReason::Sojourn,
        DropReason::Random,
        DropReason::Burst,
        DropReason::Down,
        DropReason::Outage,
    ];

    /// The name in reports and events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::QueueFull => "queue_full",
            DropReason::Overflow => "overflow",
            DropReason::Early => "early",
            DropReason::Sojourn => "sojourn",
            DropReason::Random => "random",
            DropReason::Burst => "burst",
            DropReason::Down => "down",
            DropReason::Outage => "outage",
        }
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<P> {
    /// It arrives at the far end.
    Deliver {
        /// When its last bit arrives there; never earlier than that of the packet before.
        at: Time,
        /// The packet, with its ECN field set if the queue marked it.
        packet: P,
    },
    /// It goes no further; said when its fate is decided, also where it is lost on the wire later.
    Dropped {
        /// Why.
        reason: DropReason,
        /// The packet.
        packet: P,
    },
}

/// One direction of a link; the model is that of the [crate documentation](crate).
///
/// It begins with a cache line: a packet touches as few as can be, of thousands of links.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Link<P> {
    buffer: Buffer<P>,
    wire: Wire,
    rate: Rate,
}

/// The packets between their arrival and the line.
#[derive(Clone, Debug)]
enum Buffer<P> {
    /// Drop-tail by packets: their fate is known when they arrive.
    Packets(PacketPlaces),
    /// Drop-tail by bytes: likewise.
    Bytes(Box<BytePlaces>),
    /// RED: likewise.
    Red(Box<Red>),
    /// `CoDel`: they are held until they leave.
    Held(Box<Held<P>>),
}

/// What follows the queue: the line, its errors and its delay; and the totals.
#[derive(Clone, Debug)]
struct Wire {
    line: Line,
    delay: Duration,
    tally: Tally,
    errors: Option<Box<Errors>>,
}

impl<P: Payload> Link<P> {
    /// A link that draws from streams of `seed` that are called `link/NAME/...`: `loss`, `gilbert-elliott`, `onoff`
    /// and `red`.
    pub fn new(config: &LinkConfig, seed: Seed, name: &str) -> Result<Self, ConfigError> {
        config.validate()?;
        let buffer = match &config.queue {
            QueueConfig::DropTail(limit) => Buffer::drop_tail(*limit),
            QueueConfig::Red(red) => Buffer::Red(Box::new(Red::new(red, config, seed, name))),
            QueueConfig::CoDel(codel) => Buffer::Held(Box::new(Held::new(*codel))),
        };
        let wire = Wire {
            line: Line::new(&config.rate),
            delay: config.delay,
            tally: Tally::default(),
            errors: Errors::new(config, seed, name).map(Box::new),
        };
        Ok(Self {
            buffer,
            wire,
            rate: config.rate.mean(),
        })
    }

    /// The totals since the start of the run.
    #[must_use]
    #[inline]
    pub fn counters(&self) -> Counters {
        let waiting = match &self.buffer {
            Buffer::Held(held) => held.waiting(),
            Buffer::Packets(_) | Buffer::Bytes(_) | Buffer::Red(_) => (0, 0),
        };
        self.wire.tally.counters(waiting)
    }

    /// The totals up to `now`, which is not before the last input: bytes that are on their way to the line, or in
    /// transmission, are not transmitted yet, and nobody has waited yet after that. What else is decided counts, as in
    /// [`Self::counters`].
    #[must_use]
    #[inline]
    pub fn counters_at(&self, now: Time) -> Counters {
        let counters = self.counters();
        if self.wire.line.free_at() <= now {
            return counters;
        }
        let rest = self.rest_at(now);
        Counters {
            bytes_transmitted: counters.bytes_transmitted.saturating_sub(rest.0),
            waited: counters.waited - rest.1,
            ..counters
        }
    }

    /// Of what counts already: bytes that leave after `now`, and how long packets will wait after it.
    #[inline(never)]
    fn rest_at(&self, now: Time) -> (u64, Duration) {
        let line = &self.wire.line;
        let wait = |turn| line.finish_of(turn).since(now);
        let waits = match &self.buffer {
            Buffer::Packets(queue) => queue.turns_after(now).map(wait).sum(),
            Buffer::Bytes(queue) => queue.turns_after(now).map(wait).sum(),
            Buffer::Red(queue) => queue.turns_after(now).map(wait).sum(),
            // It counts packets when they leave.
            Buffer::Held(_) => Duration::ZERO,
        };
        (line.bytes_after(now), waits)
    }

    /// The rate in bits per second, of a trace its mean.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Packets in queue and transmission after `now`, which is not before the last input.
    #[must_use]
    pub fn queue_len(&self, now: Time) -> usize {
        match &self.buffer {
            Buffer::Packets(queue) => {
                let last = self.wire.line.free_at() > now;
                queue.turns_after(now).count() + usize::from(last)
            }
            Buffer::Bytes(queue) => queue.len(now),
            Buffer::Red(queue) => queue.len(now),
            Buffer::Held(held) => held.len(self.wire.line.free_at() > now),
        }
    }

    /// When the last bit of everything whose fate is known so far leaves.
    #[must_use]
    pub fn busy_until(&self) -> Time {
        self.wire.line.free_at()
    }
}

impl<P: Payload> Machine for Link<P> {
    type Input = P;
    type Output = Output<P>;

    #[inline]
    fn handle_input(&mut self, now: Time, packet: P, out: &mut impl FnMut(Output<P>)) {
        match &mut self.buffer {
            Buffer::Packets(queue) => out(self.wire.take(now, packet, queue)),
            Buffer::Bytes(_) | Buffer::Red(_) | Buffer::Held(_) => {
                self.take_elaborately(now, packet, out);
            }
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        if let Buffer::Held(held) = &mut self.buffer {
            held.advance(now, &mut self.wire, out);
        }
    }

    #[inline]
    fn deadline(&self) -> Option<Deadline> {
        match &self.buffer {
            Buffer::Held(held) => held.deadline(&self.wire.line),
            Buffer::Packets(_) | Buffer::Bytes(_) | Buffer::Red(_) => None,
        }
    }
}

impl<P: Payload> Link<P> {
    /// Not inlined, so that what is most frequent can be: packets then cross a link in registers.
    #[inline(never)]
    fn take_elaborately(&mut self, now: Time, packet: P, out: &mut impl FnMut(Output<P>)) {
        match &mut self.buffer {
            Buffer::Packets(queue) => out(self.wire.take(now, packet, queue)),
            Buffer::Bytes(queue) => out(self.wire.take(now, packet, &mut **queue)),
            Buffer::Red(queue) => out(self.wire.take(now, packet, &mut **queue)),
            Buffer::Held(held) => held.take(now, packet, &mut self.wire, out),
        }
    }
}

impl<P> Buffer<P> {
    fn drop_tail(limit: QueueLimit) -> Self {
        match limit {
            QueueLimit::Packets(limit) => Self::Packets(PacketPlaces::new(limit)),
            QueueLimit::Bytes(_) => Self::Bytes(Box::new(BytePlaces::new(limit))),
            QueueLimit::Unlimited => Self::Packets(PacketPlaces::new(u32::MAX)),
        }
    }
}

impl Wire {
    /// Takes a packet whose fate `queue` knows at once.
    #[inline]
    fn take<P: Payload>(&mut self, now: Time, mut packet: P, queue: &mut impl Queue) -> Output<P> {
        let size = size_of(&packet);
        let arrival = Arrival {
            at: now,
            size,
            free_at: self.line.vacates(self.line.free_at()),
            ecn_capable: packet.ecn().is_capable(),
        };
        match queue.admit(&arrival) {
            Verdict::Take => {}
            Verdict::Mark => {
                packet.mark_ce();
                self.tally.count_mark();
            }
            Verdict::Drop(reason) => return self.refuse(reason, packet),
        }
        let sent = self.line.send(now, size);
        queue.take(self.line.vacates(sent.finish), size);
        self.carry(now, sent, size, packet)
    }

    /// Carries a packet that was there since `ready` and was sent.
    #[inline]
    fn carry<P>(&mut self, ready: Time, sent: Sent, size: u32, packet: P) -> Output<P> {
        self.tally
            .count_sent(size, Duration(sent.begin.0 - ready.0));
        if let Some(errors) = &mut self.errors
            && let Some(reason) = errors.verdict(sent.finish)
        {
            self.tally.count_loss(reason, size);
            return Output::Dropped { reason, packet };
        }
        let at = sent.finish + self.delay;
        Output::Deliver { at, packet }
    }

    /// The queue drops a packet.
    fn refuse<P: Payload>(&mut self, reason: DropReason, packet: P) -> Output<P> {
        self.tally.count_refusal(reason, size_of(&packet));
        Output::Dropped { reason, packet }
    }
}

#[inline]
fn size_of<P: Payload>(packet: &P) -> u32 {
    u32::try_from(packet.len()).unwrap_or(u32::MAX)
}
