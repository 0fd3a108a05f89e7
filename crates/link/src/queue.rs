//! Queue disciplines: which packets a queue accepts, marks and drops.
//!
//! A discipline is one file with its configuration, a variant of [`QueueConfig`], and a variant of
//! one of two enums:
//!
//! - [`ArrivalDiscipline`], if it decides when a packet arrives ([`ArrivalQueue`]). FIFO order then
//!   also determines the time at which the packet leaves.
//! - [`HoldingDiscipline`], if it decides when a packet leaves ([`HoldingQueue`]): it holds packets
//!   until then.

mod backlog;
mod codel;
mod discipline;
mod drop_tail;
mod fq_codel;
mod limit;
mod red;

use alloc::boxed::Box;
use alloc::vec::Vec;

use polypath_core::frame::Payload;
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_core::units::{Bytes, Rate};

use crate::config::LinkConfig;
use crate::config_error::ConfigError;
use crate::drop_reason::DropReason;
pub(crate) use backlog::Backlog;
use codel::CoDel;
pub use codel::CoDelConfig;
pub(crate) use discipline::{Arrival, ArrivalQueue, Departure, HoldingQueue, Verdict, size_of};
use drop_tail::ByteLimited;
pub(crate) use drop_tail::PacketLimited;
use fq_codel::FqCoDel;
pub use fq_codel::FqCoDelConfig;
pub(crate) use limit::Occupancy;
pub use limit::{MAX_PACKETS, ParseLimitError, QueueLimit};
use red::Red;
pub use red::RedConfig;

/// The queue of each direction of a link: a limit ("50 packets") for drop-tail, or a table with
/// `kind` and `limit`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(tag = "kind", rename_all = "kebab-case")
)]
pub enum QueueConfig {
    /// Random early detection (Floyd and Jacobson 1993), with the defaults of ns-2 2.35.
    Red(RedConfig),
    /// Controlled delay, with the defaults of RFC 8289.
    #[cfg_attr(feature = "serde", serde(rename = "codel"))]
    CoDel(CoDelConfig),
    /// A queue for each flow under controlled delay, with the defaults of RFC 8290.
    #[cfg_attr(feature = "serde", serde(rename = "fq-codel"))]
    FqCoDel(FqCoDelConfig),
    /// Drop-tail: packets that arrive at the full queue are dropped.
    #[cfg_attr(feature = "serde", serde(untagged))]
    DropTail(QueueLimit),
}

impl QueueConfig {
    /// The capacity of the queue.
    #[must_use]
    pub const fn limit(&self) -> QueueLimit {
        match self {
            Self::DropTail(limit) => *limit,
            Self::Red(red) => red.limit,
            Self::CoDel(codel) => codel.limit,
            Self::FqCoDel(fq_codel) => fq_codel.limit,
        }
    }

    /// The key of the limit in a link of a scenario file.
    #[must_use]
    pub const fn limit_key(&self) -> &'static str {
        match self {
            Self::DropTail(_) => "queue",
            _ => "queue.limit",
        }
    }

    /// The mean size of a packet for which the parameters are chosen, if the discipline has one.
    #[must_use]
    pub const fn mean_packet(&self) -> Option<Bytes> {
        match self {
            Self::Red(red) => Some(red.mean_packet),
            _ => None,
        }
    }

    /// The problems of the configuration on a link of this rate; a recorded rate is absent.
    #[must_use]
    pub fn problems(&self, rate: Option<Rate>) -> Vec<ConfigError> {
        let mut problems = match self {
            Self::DropTail(_) => Vec::new(),
            Self::Red(red) => red.problems(rate),
            Self::CoDel(codel) => codel.problems(),
            Self::FqCoDel(fq_codel) => fq_codel.problems(),
        };
        problems.extend(self.limit().problem(self.limit_key()));
        problems
    }
}

impl From<QueueLimit> for QueueConfig {
    fn from(limit: QueueLimit) -> Self {
        Self::DropTail(limit)
    }
}

impl From<RedConfig> for QueueConfig {
    fn from(config: RedConfig) -> Self {
        Self::Red(config)
    }
}

impl From<CoDelConfig> for QueueConfig {
    fn from(config: CoDelConfig) -> Self {
        Self::CoDel(config)
    }
}

impl From<FqCoDelConfig> for QueueConfig {
    fn from(config: FqCoDelConfig) -> Self {
        Self::FqCoDel(config)
    }
}

/// The queue of a link.
#[derive(Clone, Debug)]
pub(crate) enum LinkQueue<P> {
    /// Drop-tail by packets: separate, since it is the most frequent.
    PacketLimited(PacketLimited),
    Arrival(Box<ArrivalDiscipline>),
    Holding(Box<HoldingDiscipline<P>>),
}

impl<P: Payload> LinkQueue<P> {
    /// The queue of a link called `name`.
    pub(crate) fn new(link: &LinkConfig, seed: Seed, name: &str) -> Self {
        let arrival = |discipline| Self::Arrival(Box::new(discipline));
        let holding = |discipline| Self::Holding(Box::new(discipline));
        match link.queue {
            QueueConfig::DropTail(limit) => match limit {
                QueueLimit::Packets(limit) => Self::PacketLimited(PacketLimited::new(limit)),
                QueueLimit::Unlimited => Self::PacketLimited(PacketLimited::new(u32::MAX)),
                QueueLimit::Bytes(_) => {
                    arrival(ArrivalDiscipline::ByteLimited(ByteLimited::new(limit)))
                }
            },
            QueueConfig::Red(red) => {
                arrival(ArrivalDiscipline::Red(Red::new(&red, link, seed, name)))
            }
            QueueConfig::CoDel(codel) => holding(HoldingDiscipline::CoDel(CoDel::new(codel))),
            QueueConfig::FqCoDel(fq_codel) => holding(HoldingDiscipline::FqCoDel(FqCoDel::new(
                fq_codel, seed, name,
            ))),
        }
    }
}

/// The disciplines that decide when a packet arrives.
#[derive(Clone, Debug)]
pub(crate) enum ArrivalDiscipline {
    ByteLimited(ByteLimited),
    Red(Red),
}

impl ArrivalQueue for ArrivalDiscipline {
    #[inline]
    fn admit(&mut self, arrival: &Arrival) -> Verdict {
        match self {
            Self::ByteLimited(queue) => queue.admit(arrival),
            Self::Red(queue) => queue.admit(arrival),
        }
    }

    #[inline]
    fn enqueue(&mut self, finish: Time, size: u32) {
        match self {
            Self::ByteLimited(queue) => queue.enqueue(finish, size),
            Self::Red(queue) => queue.enqueue(finish, size),
        }
    }

    fn len(&self, now: Time, busy: bool) -> usize {
        match self {
            Self::ByteLimited(queue) => queue.len(now, busy),
            Self::Red(queue) => queue.len(now, busy),
        }
    }

    fn turns_after(&self, now: Time) -> impl Iterator<Item = Time> {
        let turns: Box<dyn Iterator<Item = Time> + '_> = match self {
            Self::ByteLimited(queue) => Box::new(queue.turns_after(now)),
            Self::Red(queue) => Box::new(queue.turns_after(now)),
        };
        turns
    }
}

/// The disciplines that decide when a packet leaves.
#[derive(Clone, Debug)]
pub(crate) enum HoldingDiscipline<P> {
    CoDel(CoDel<P>),
    FqCoDel(FqCoDel<P>),
}

impl<P: Payload> HoldingQueue<P> for HoldingDiscipline<P> {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: P,
        transmitting: Occupancy,
        dropped: &mut impl FnMut(DropReason, P),
    ) {
        match self {
            Self::CoDel(queue) => queue.enqueue(now, packet, transmitting, dropped),
            Self::FqCoDel(queue) => queue.enqueue(now, packet, transmitting, dropped),
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        dropped: &mut impl FnMut(DropReason, P),
    ) -> Option<Departure<P>> {
        match self {
            Self::CoDel(queue) => queue.dequeue(now, dropped),
            Self::FqCoDel(queue) => queue.dequeue(now, dropped),
        }
    }

    fn handle_idle(&mut self) {
        match self {
            Self::CoDel(queue) => queue.handle_idle(),
            Self::FqCoDel(queue) => queue.handle_idle(),
        }
    }

    #[inline]
    fn occupancy(&self) -> Occupancy {
        match self {
            Self::CoDel(queue) => queue.occupancy(),
            Self::FqCoDel(queue) => queue.occupancy(),
        }
    }

    #[inline]
    fn waiting_since(&self) -> Option<Time> {
        match self {
            Self::CoDel(queue) => queue.waiting_since(),
            Self::FqCoDel(queue) => queue.waiting_since(),
        }
    }
}
