//! Controlled delay (RFC 8289).
//!
//! A packet's sojourn time is known when it leaves the queue for the line, and the decision also
//! depends on the packets that then wait behind it: the discipline holds packets until they leave.
//!
//! *Marks.* The RFC leaves open how a mark instead of a drop affects the control law. Here it
//! counts as a drop and the packet is sent, as in Linux (`codel_impl.h`).
//!
//! The [`Controller`] decides for any [`Fifo`] of packets with their arrival times; [`CoDel`] is
//! one of both.

mod controller;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use polypath_core::frame::Payload;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;

use super::discipline::{Departure, HoldingQueue, size_of};
use super::limit::{Occupancy, QueueLimit};
use crate::config_error::{ConfigError, lasting, packet_size};
use crate::drop_reason::DropReason;
pub(super) use controller::Controller;

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
pub(super) struct Waiting<P> {
    pub(super) packet: P,
    pub(super) size: u32,
    pub(super) arrived_at: Time,
}

/// The packets that wait under a [`Controller`], in the order of arrival.
pub(super) trait Fifo<P> {
    /// Removes the packet that arrived first.
    fn pop(&mut self) -> Option<Waiting<P>>;

    /// The bytes that wait.
    fn bytes(&self) -> u64;
}

/// A queue under controlled delay.
#[derive(Clone, Debug)]
pub(crate) struct CoDel<P> {
    config: CoDelConfig,
    queue: WaitingPackets<P>,
    controller: Controller,
}

/// The packets that wait for the line, in the order of arrival.
#[derive(Clone, Debug)]
struct WaitingPackets<P> {
    packets: VecDeque<Waiting<P>>,
    bytes: u64,
}

impl<P: Payload> CoDel<P> {
    pub(crate) fn new(config: CoDelConfig) -> Self {
        Self {
            config,
            queue: WaitingPackets {
                packets: VecDeque::new(),
                bytes: 0,
            },
            controller: Controller::default(),
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
        let total = self.occupancy() + transmitting;
        if let Some(reason) = self.config.limit.drop_reason(total, size) {
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
        self.controller
            .dequeue(&self.config, now, &mut self.queue, &mut dropped)
    }

    fn handle_idle(&mut self) {
        self.controller.handle_idle();
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

impl<P> WaitingPackets<P> {
    fn push(&mut self, waiting: Waiting<P>) {
        self.bytes += u64::from(waiting.size);
        self.packets.push_back(waiting);
    }
}

impl<P> Fifo<P> for WaitingPackets<P> {
    fn pop(&mut self) -> Option<Waiting<P>> {
        let waiting = self.packets.pop_front()?;
        self.bytes -= u64::from(waiting.size);
        Some(waiting)
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}
