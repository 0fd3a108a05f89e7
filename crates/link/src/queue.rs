//! Queue disciplines: which packets have a place, which are marked and which are dropped.
//!
//! Most decide when a packet arrives ([`Queue`]): FIFO order then makes everything that follows known at once.
//! [`CoDelConfig`] decides when a packet leaves, so that it has to be held until then ([`codel::Held`]).

mod backlog;
pub(crate) mod codel;
mod drop_tail;
mod red;

use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;

use crate::link::DropReason;
pub(crate) use backlog::Backlog;
pub(crate) use drop_tail::{BytePlaces, PacketPlaces};
pub(crate) use red::Red;

/// The packets that a queue holds at most, whatever its limit is: a queue that grows without end is to stop the
/// run with its name, and not the machine.
///
/// A packet that waits costs a simulation about 100 bytes, and a lab its own size.
pub const MOST_PACKETS: u32 = 1 << 20;

/// How much a queue holds, the packet in transmission included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// A number of packets of any size.
    Packets(u32),
    /// A number of bytes.
    Bytes(Bytes),
    /// Everything, up to [`MOST_PACKETS`].
    Unlimited,
}

/// A discipline with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueConfig {
    /// What finds no place is dropped.
    DropTail(QueueLimit),
    /// Random early detection (Floyd and Jacobson 1993).
    Red(RedConfig),
    /// Controlled delay (RFC 8289).
    CoDel(CoDelConfig),
}

/// Random early detection, by the names and with the defaults of ns-2 2.35.
///
/// Where the limit is in packets the queue is counted in packets of any size (`bytes_` and `queue_in_bytes_` false),
/// where it is in bytes in those (both true, ns-2's default).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Limit of the queue; more than zero.
    pub limit: QueueLimit,
    /// Mean queue above which packets are dropped, in packets (of the mean size, where bytes are counted); if absent
    /// 5 or half of what is transmitted in 5 ms, whichever is more (`thresh_` 0).
    pub min_th: Option<f64>,
    /// Mean queue at which the probability is `max_p`, in packets; if absent 3 `min_th` (`maxthresh_` 0).
    pub max_th: Option<f64>,
    /// Probability of a drop as the mean queue comes to `max_th` (1 / `linterm_`).
    pub max_p: f64,
    /// Weight of the present queue in the mean; if absent that of a time constant of ten round-trip times (`q_weight_`
    /// -1).
    pub weight: Option<f64>,
    /// Whether the probability rises from `max_p` to 1 between `max_th` and twice that; else it is 1 from `max_th` on.
    pub gentle: bool,
    /// Whether 1/p packets pass after a drop before the next is possible; else drops may follow each other at once
    /// (`wait_`; 1993: no).
    pub wait: bool,
    /// Whether ECN-capable packets are marked in place of being dropped, below `max_th` (`setbit_`).
    pub ecn: bool,
    /// Mean size of a packet.
    pub mean_packet: Bytes,
}

/// Controlled delay, by the names and with the defaults of RFC 8289.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDelConfig {
    /// Limit of the queue; more than zero.
    pub limit: QueueLimit,
    /// Sojourn time that is good to have in the queue at most, but for bursts.
    pub target: Duration,
    /// How long a sojourn time above target is a burst: about a long round-trip time.
    pub interval: Duration,
    /// Whether ECN-capable packets are marked in place of being dropped.
    pub ecn: bool,
    /// Size of a greatest packet; while no more than this waits, nothing is dropped (`MAXPACKET`).
    pub max_packet: Bytes,
}

impl From<QueueLimit> for QueueConfig {
    fn from(limit: QueueLimit) -> Self {
        Self::DropTail(limit)
    }
}

impl QueueConfig {
    /// How much the queue holds.
    #[must_use]
    pub const fn limit(&self) -> QueueLimit {
        match self {
            Self::DropTail(limit) => *limit,
            Self::Red(red) => red.limit,
            Self::CoDel(codel) => codel.limit,
        }
    }
}

impl RedConfig {
    /// The defaults of ns-2 2.35 with this limit.
    #[must_use]
    pub const fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            min_th: None,
            max_th: None,
            max_p: 0.1,
            weight: None,
            gentle: true,
            wait: true,
            ecn: false,
            mean_packet: Bytes(500),
        }
    }
}

impl CoDelConfig {
    /// The defaults of RFC 8289 (4.2, 4.3) for packets of 1500 bytes, with this limit.
    #[must_use]
    pub const fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
            max_packet: Bytes(1500),
        }
    }
}

/// What is to become of a packet that arrives at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Take,
    /// Take it, with its ECN field set to CE.
    Mark,
    Drop(DropReason),
}

/// A packet that arrives at a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Time,
    pub(crate) size: u32,
    /// When the last bit of all that was taken before leaves.
    pub(crate) free_at: Time,
    pub(crate) ecn_capable: bool,
}

/// A discipline that decides when a packet arrives; a new one is a file and a variant.
pub(crate) trait Queue {
    /// What is to become of a packet; `at` never decreases from call to call.
    fn admit(&mut self, arrival: &Arrival) -> Verdict;

    /// Takes the place for the packet that was admitted last; its last bit leaves at `finish`, not earlier than
    /// any before.
    fn take(&mut self, finish: Time, size: u32);

    /// When the turn comes of each packet that waits after `now`: the place of the one before it is free then.
    fn turns_after(&self, now: Time) -> impl Iterator<Item = Time>;
}

impl QueueLimit {
    /// Why a packet of `size` bytes finds no place behind so many packets and bytes, if it finds none.
    pub(crate) fn refuses(self, packets: usize, bytes: u64, size: u32) -> Option<DropReason> {
        let full = match self {
            Self::Packets(limit) => packets >= limit as usize,
            Self::Bytes(limit) => bytes + u64::from(size) > limit.0,
            Self::Unlimited => false,
        };
        if full {
            return Some(DropReason::QueueFull);
        }
        (packets >= MOST_PACKETS as usize).then_some(DropReason::Overflow)
    }
}
