//! The link machine.

use alloc::boxed::Box;

use polypath_core::frame::Payload;
use polypath_core::machine::{Deadline, Machine};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

use crate::config::{ConfigError, LinkConfig};
use crate::counters::Counters;
use crate::error::Errors;
use crate::queue::Queue;

/// Why a link drops a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// It found the queue full.
    QueueFull,
    /// It was lost for itself, with the link's probability of loss.
    Random,
    /// The two-state process was down.
    Down,
    /// It fell into a scheduled outage.
    Outage,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<P> {
    /// It arrives at the far end.
    Deliver {
        /// When its last bit arrives there; never earlier than that of the packet before.
        at: Time,
        /// The packet.
        packet: P,
    },
    /// It goes no further; said when it arrives at the link, also where it is lost on the wire later.
    Dropped {
        /// Why.
        reason: DropReason,
        /// The packet.
        packet: P,
    },
}

/// One direction of a link; the model is that of the [crate documentation](crate).
#[derive(Clone, Debug)]
pub struct Link<P> {
    queue: Queue,
    /// When the last bit of the last packet that was accepted leaves.
    free_at: Time,
    rate: Rate,
    delay: Duration,
    /// Size and transmission time of the packet before: most are of the same size, and a division is dear.
    last: (u32, Duration),
    errors: Option<Box<Errors>>,
    counters: Counters,
    packet: core::marker::PhantomData<fn(P) -> P>,
}

impl<P: Payload> Link<P> {
    /// A link that draws from the streams `link/NAME/loss` and `link/NAME/onoff` of `seed`.
    pub fn new(config: &LinkConfig, seed: Seed, name: &str) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            queue: Queue::new(config.queue),
            free_at: Time::ZERO,
            rate: config.rate,
            delay: config.delay,
            last: (0, Duration::ZERO),
            errors: Errors::new(config, seed, name).map(Box::new),
            counters: Counters::default(),
            packet: core::marker::PhantomData,
        })
    }

    /// The totals since the start of the run.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The rate in bits per second.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// When the last bit of everything that was accepted so far leaves.
    #[must_use]
    pub const fn busy_until(&self) -> Time {
        self.free_at
    }

    #[inline]
    fn transmission_time(&mut self, size: u32) -> Duration {
        if self.last.0 != size {
            self.last = (size, self.rate.transmission_time(Bytes(u64::from(size))));
        }
        self.last.1
    }

    /// When the packet arrives at the far end, or why it does not.
    #[inline]
    fn carry(&mut self, now: Time, size: u32) -> Result<Time, DropReason> {
        self.counters.count_arrival(u64::from(size));
        if !self.queue.has_place(now, size) {
            return Err(DropReason::QueueFull);
        }
        self.free_at = now.max(self.free_at) + self.transmission_time(size);
        self.queue.take(self.free_at, size);
        self.counters.bytes_transmitted += u64::from(size);
        if let Some(errors) = &mut self.errors
            && let Some(reason) = errors.verdict(self.free_at)
        {
            return Err(reason);
        }
        self.counters.count_delivery(u64::from(size));
        Ok(self.free_at + self.delay)
    }
}

impl<P: Payload> Machine for Link<P> {
    type Input = P;
    type Output = Output<P>;

    #[inline]
    fn handle_input(&mut self, now: Time, packet: P, out: &mut impl FnMut(Output<P>)) {
        let size = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        match self.carry(now, size) {
            Ok(at) => out(Output::Deliver { at, packet }),
            Err(reason) => {
                self.counters.count_drop(reason);
                out(Output::Dropped { reason, packet });
            }
        }
    }

    /// A link has nothing to do between packets.
    fn handle_timeout(&mut self, _now: Time, _out: &mut impl FnMut(Output<P>)) {}

    fn deadline(&self) -> Option<Deadline> {
        None
    }
}
