//! The link machine.

mod accounting;
mod holding;

use alloc::boxed::Box;
use alloc::format;

use polypath_core::frame::Payload;
use polypath_core::machine::{Deadline, Machine};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;

use crate::config::LinkConfig;
use crate::config_error::ConfigError;
use crate::counters::Counters;
use crate::drop_reason::DropReason;
use crate::error::{Errors, LinkNames, LossModels};
use crate::line::{Line, TransmissionTimes};
use crate::queue::{
    Arrival, ArrivalDiscipline, ArrivalQueue, LinkQueue, Occupancy, PacketLimited, Verdict, size_of,
};
use accounting::Accounting;
use holding::HoldingBuffer;

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<P> {
    /// It is delivered at the far end.
    Deliver {
        /// The time at which its last bit arrives there; never before that of the previous packet.
        at: Time,
        /// The packet, with its ECN field set if the queue marked it.
        packet: P,
    },
    /// It is dropped; reported when its fate is decided, also if it is lost on the wire later.
    Dropped {
        /// The reason.
        reason: DropReason,
        /// The packet.
        packet: P,
    },
}

/// One direction of a link, according to the model of the [crate documentation](crate).
///
/// It is aligned to a cache line, so that a packet touches few of them in a network of thousands of
/// links.
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
    /// Drop-tail by packets.
    PacketLimited(PacketLimited),
    /// Another discipline that decides when a packet arrives.
    Arrival(Box<ArrivalDiscipline>),
    /// A discipline that decides when a packet leaves.
    Holding(Box<HoldingBuffer<P>>),
}

/// The line, its errors and its delay, and the totals of the link.
#[derive(Clone, Debug)]
struct Wire {
    line: Line,
    delay: Duration,
    accounting: Accounting,
    errors: Option<Box<Errors>>,
}

impl<P: Payload> Link<P> {
    /// A link; its queue and each of its error models draw from streams `link/NAME/...` of `seed`
    /// of their own.
    ///
    /// # Errors
    /// The first problem of the configuration.
    pub fn new(config: &LinkConfig, seed: Seed, name: &str) -> Result<Self, ConfigError> {
        Self::of_duplex(config, seed, name, name)
    }

    /// One direction of a duplex link with the name `duplex`: like [`Self::new`], but both
    /// directions have the same fades.
    ///
    /// # Errors
    /// The first problem of the configuration.
    pub fn of_duplex(
        config: &LinkConfig,
        seed: Seed,
        name: &str,
        duplex: &str,
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        let buffer = match LinkQueue::new(config, seed, name) {
            LinkQueue::PacketLimited(queue) => Buffer::PacketLimited(queue),
            LinkQueue::Arrival(queue) => Buffer::Arrival(queue),
            LinkQueue::Holding(queue) => Buffer::Holding(Box::new(HoldingBuffer::new(*queue))),
        };
        let models = LossModels {
            loss: config.loss,
            gilbert_elliott: config.gilbert_elliott,
            on_off: config.on_off,
            fades: config.fades,
            outages: &config.outages,
        };
        let names = LinkNames { own: name, duplex };
        let wire = Wire {
            line: Line::new(&config.rate, || seed.stream(&format!("link/{name}/rate"))),
            delay: config.delay,
            accounting: Accounting::default(),
            errors: Errors::new(&models, seed, &names).map(Box::new),
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
        let held = match &self.buffer {
            Buffer::Holding(buffer) => buffer.waiting(),
            Buffer::PacketLimited(_) | Buffer::Arrival(_) => Occupancy::default(),
        };
        self.wire.accounting.counters(held)
    }

    /// The totals up to `now`, which is not before the last input: without the bytes that leave,
    /// and the waiting times that pass, after `now`. Other decided events count as in
    /// [`Self::counters`].
    #[must_use]
    #[inline]
    pub fn counters_at(&self, now: Time) -> Counters {
        let counters = self.counters();
        if self.wire.line.free_at() <= now {
            return counters;
        }
        let pending = self.pending_at(now);
        Counters {
            bytes_transmitted: counters.bytes_transmitted.saturating_sub(pending.bytes),
            waited: counters.waited - pending.wait,
            ..counters
        }
    }

    /// The share of the counters that belongs to the time after `now`.
    #[inline(never)]
    fn pending_at(&self, now: Time) -> Pending {
        let line = &self.wire.line;
        let wait = |turn| line.finish_of(turn).since(now);
        let wait = match &self.buffer {
            Buffer::PacketLimited(queue) => queue.turns_after(now).map(wait).sum(),
            Buffer::Arrival(queue) => queue.turns_after(now).map(wait).sum(),
            // Packets that wait in it are not counted yet.
            Buffer::Holding(_) => Duration::ZERO,
        };
        Pending {
            bytes: line.bytes_after(now),
            wait,
        }
    }

    /// The rate in bits per second; of one that is not constant, its mean.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// The packets in queue and transmission after `now`, which is not before the last input.
    #[must_use]
    pub fn queue_len(&self, now: Time) -> usize {
        let busy = self.wire.line.free_at() > now;
        match &self.buffer {
            Buffer::PacketLimited(queue) => queue.len(now, busy),
            Buffer::Arrival(queue) => queue.len(now, busy),
            Buffer::Holding(buffer) => buffer.len(busy),
        }
    }

    /// The time at which the last bit of all packets whose fate is decided leaves.
    #[must_use]
    pub fn busy_until(&self) -> Time {
        self.wire.line.free_at()
    }
}

/// Bytes that leave, and waiting time that passes, after a point in time.
struct Pending {
    bytes: u64,
    wait: Duration,
}

impl<P: Payload> Machine for Link<P> {
    type Input = P;
    type Output = Output<P>;

    #[inline]
    fn handle_input(&mut self, now: Time, packet: P, out: &mut impl FnMut(Output<P>)) {
        match &mut self.buffer {
            Buffer::PacketLimited(queue) => out(self.wire.handle_packet(now, packet, queue)),
            Buffer::Arrival(_) | Buffer::Holding(_) => self.handle_uncommon(now, packet, out),
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        if let Buffer::Holding(buffer) = &mut self.buffer {
            buffer.send_due(now, &mut self.wire, out);
        }
    }

    #[inline]
    fn deadline(&self) -> Option<Deadline> {
        match &self.buffer {
            Buffer::Holding(buffer) => buffer.deadline(&self.wire.line),
            Buffer::PacketLimited(_) | Buffer::Arrival(_) => None,
        }
    }
}

impl<P: Payload> Link<P> {
    /// Handles a packet under a less frequent discipline; it is not inlined, so that the most
    /// frequent one can be.
    #[inline(never)]
    fn handle_uncommon(&mut self, now: Time, packet: P, out: &mut impl FnMut(Output<P>)) {
        match &mut self.buffer {
            Buffer::PacketLimited(queue) => out(self.wire.handle_packet(now, packet, queue)),
            Buffer::Arrival(queue) => out(self.wire.handle_packet(now, packet, &mut **queue)),
            Buffer::Holding(buffer) => buffer.handle_packet(now, packet, &mut self.wire, out),
        }
    }
}

impl Wire {
    /// Handles a packet whose fate `queue` decides on arrival.
    #[inline]
    fn handle_packet<P: Payload>(
        &mut self,
        now: Time,
        mut packet: P,
        queue: &mut impl ArrivalQueue,
    ) -> Output<P> {
        let size = size_of(&packet);
        let arrival = Arrival {
            at: now,
            size,
            free_at: self.line.vacates(self.line.free_at()),
            ecn_capable: packet.ecn().is_capable(),
        };
        match queue.admit(&arrival) {
            Verdict::Accept => {}
            Verdict::Mark => {
                packet.mark_ce();
                self.accounting.count_mark();
            }
            Verdict::Drop(reason) => return self.drop_at_queue(reason, packet),
        }
        let sent = self.line.send(now, size);
        queue.enqueue(self.line.vacates(sent.finish), size);
        self.carry(now, sent, size, packet)
    }

    /// Carries a packet that waited since `ready` and was sent.
    #[inline]
    fn carry<P>(
        &mut self,
        ready: Time,
        sent: TransmissionTimes,
        size: u32,
        packet: P,
    ) -> Output<P> {
        self.accounting
            .count_sent(size, Duration(sent.begin.0 - ready.0));
        if let Some(errors) = &mut self.errors
            && let Some(reason) = errors.verdict(sent.finish)
        {
            self.accounting.count_loss(reason, size);
            return Output::Dropped { reason, packet };
        }
        let at = sent.finish + self.delay;
        Output::Deliver { at, packet }
    }

    fn drop_at_queue<P: Payload>(&mut self, reason: DropReason, packet: P) -> Output<P> {
        self.accounting.count_queue_drop(reason, size_of(&packet));
        Output::Dropped { reason, packet }
    }
}
