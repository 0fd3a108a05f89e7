//! The packets of an application that wait for their time.
//!
//! **A source that is faster than the spacing permits** fills the queue. A packet that has waited for
//! longer than [`SpacingConfig::max_wait`] when its turn comes is dropped, and its turn passes to the
//! next: media that is late is useless, and a queue of constant length would delay everything behind
//! it. With more than [`MAX_WAITING`] packets, the oldest is dropped. A dropped packet has no number,
//! so it does not count as lost in the network.
//!
//! **A source that is slower** does not use what the spacing permits. Feedback without losses then
//! lowers the spacing no further ([`FeedbackReport`](super::FeedbackReport)).

use alloc::collections::VecDeque;

use super::config::SpacingConfig;
use super::message::Feedback;
use super::sender::{SenderOutput, SpacedSender};
use crate::machine::{Deadline, Machine};
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// The maximum number of packets that wait: 0.4 s of 100 Mbit/s in packets of 1250 B.
pub const MAX_WAITING: usize = 4096;
/// The gain of the average packet size, as a divisor.
const SIZE_GAIN: u32 = 16;
/// The longest packet in bytes.
const MAX_SIZE: u32 = 65_575;

/// A queue of packets that leave at the spacing of a [`SpacedSender`].
#[derive(Clone, Debug)]
pub struct SpacedQueue<T> {
    sender: SpacedSender,
    waiting: VecDeque<WaitingPacket<T>>,
    max_wait: Duration,
    /// The average size of packets that have left, times [`SIZE_GAIN`]; 0 before the first.
    scaled_size: u32,
    /// That before the last packet, which may be withdrawn.
    former_scaled_size: u32,
    dropped: u64,
}

#[derive(Clone, Copy, Debug)]
struct WaitingPacket<T> {
    packet: T,
    /// Its size in bytes.
    size: u32,
    since: Time,
}

/// A packet whose turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuePacket<T> {
    /// It leaves now.
    Send(T),
    /// It has waited for too long and is dropped.
    TooLate(T),
}

/// The state of a [`SpacedQueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpacingStatistics {
    /// The spacing in force.
    pub spacing: Duration,
    /// The average size of the application's packets, without the headers of the overlay; 0 before the
    /// first.
    pub packet: Bytes,
    /// The rate of the application's packets that the spacing permits, without the headers of the
    /// overlay; `None` if it permits any rate, or before the first packet.
    pub rate: Option<Rate>,
    /// The round-trip time in use; `None` until it is measured.
    pub rtt: Option<Duration>,
    /// The number of packets that wait.
    pub waiting: usize,
    /// The time for which the oldest of them has waited.
    pub wait: Duration,
    /// Packets that were dropped since they waited for too long.
    pub dropped: u64,
}

impl<T> SpacedQueue<T> {
    /// An empty queue at the start of both ends, whose first packet has the number `first`.
    #[must_use]
    pub fn new(config: &SpacingConfig, now: Time, first: u64) -> Self {
        Self::with_sender(
            config,
            SpacedSender::new(&config.sender(None), now),
            first,
            true,
        )
    }

    /// An empty queue whose packets follow others to the same receiver, over a path with this
    /// round-trip time: if it is known, no packet waits for its measurement.
    #[must_use]
    pub fn following(
        config: &SpacingConfig,
        now: Time,
        first: u64,
        base_rtt: Option<Duration>,
    ) -> Self {
        let sender = SpacedSender::new(&config.sender(base_rtt), now);
        Self::with_sender(config, sender, first, false)
    }

    fn with_sender(
        config: &SpacingConfig,
        mut sender: SpacedSender,
        first: u64,
        is_receiver_new: bool,
    ) -> Self {
        sender.restart_at(first, is_receiver_new);
        Self {
            sender,
            waiting: VecDeque::new(),
            max_wait: config.max_wait,
            scaled_size: 0,
            former_scaled_size: 0,
            dropped: 0,
        }
    }

    /// Adds a packet of `size` bytes; returns the oldest if there is no room for both.
    pub fn push(&mut self, now: Time, packet: T, size: u32) -> Option<T> {
        let was_empty = self.waiting.is_empty();
        self.waiting.push_back(WaitingPacket {
            packet,
            size,
            since: now,
        });
        if was_empty {
            self.sender.set_ready_after_pause(now);
        }
        if self.waiting.len() <= MAX_WAITING {
            return None;
        }
        self.dropped += 1;
        self.waiting.pop_front().map(|oldest| oldest.packet)
    }

    /// The next packet whose turn has come, if there is one.
    pub fn pop_due(&mut self, now: Time) -> Option<DuePacket<T>> {
        let oldest = self.waiting.front()?;
        if now.since(oldest.since) > self.max_wait {
            self.dropped += 1;
            let dropped = self.waiting.pop_front()?;
            if self.waiting.is_empty() {
                self.sender.on_idle();
            }
            return Some(DuePacket::TooLate(dropped.packet));
        }
        self.sender.take_due(now)?;
        let next = self.waiting.pop_front()?;
        if !self.waiting.is_empty() {
            self.sender.set_ready();
        }
        self.count(next.size);
        Some(DuePacket::Send(next.packet))
    }

    /// Takes back the last packet that left, which was not sent.
    pub fn withdraw(&mut self) {
        self.scaled_size = self.former_scaled_size;
        self.sender.withdraw();
    }

    /// Empties the queue without regard to the spacing.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.sender.on_idle();
        self.waiting.drain(..).map(|waiting| waiting.packet)
    }

    /// Handles a feedback of the receiver; returns its effect.
    pub fn on_feedback(&mut self, now: Time, feedback: Feedback) -> SenderOutput {
        self.sender.on_feedback(now, &feedback)
    }

    /// Handles the answer to the ping that was sent at `sent`.
    pub fn on_pong(&mut self, now: Time, sent: Time) {
        self.sender.on_pong(now, sent);
    }

    /// Returns whether a ping is due.
    pub fn take_ping(&mut self, now: Time) -> bool {
        self.sender.take_ping(now)
    }

    /// Notes that frames reach the receiver from now on.
    pub fn on_reachable(&mut self, now: Time) {
        self.sender.on_reachable(now);
    }

    /// Notes that the receiver has restarted, and `next_sequence` is the number of the next packet.
    pub fn on_receiver_restarted(&mut self, next_sequence: u64) {
        self.sender.restart_at(next_sequence, false);
    }

    /// Notes that the receiver gives no feedback: the spacing stays.
    pub fn on_no_feedback(&mut self) {
        self.sender.on_no_feedback();
    }

    /// Notes that the receiver gives feedback from now on.
    pub fn on_feedback_possible(&mut self, now: Time) {
        self.sender.on_feedback_possible(now);
    }

    /// Notes that the driver is behind, and the present is `present`.
    pub fn on_driver_behind(&mut self, present: Time) {
        self.sender.on_driver_behind(present);
    }

    /// The number of packets that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no packet waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The round-trip time in use; `None` until it is measured.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.sender.rtt()
    }

    /// The state at `now`.
    #[must_use]
    pub fn statistics(&self, now: Time) -> SpacingStatistics {
        let spacing = self.sender.spacing();
        let packet = Bytes((self.scaled_size / SIZE_GAIN).into());
        let oldest = self.waiting.front();
        SpacingStatistics {
            spacing,
            packet,
            rate: Rate::average(packet, spacing).filter(|rate| rate.0 > 0),
            rtt: self.sender.rtt(),
            waiting: self.waiting.len(),
            wait: oldest.map_or(Duration::ZERO, |oldest| now.since(oldest.since)),
            dropped: self.dropped,
        }
    }

    /// The time of the next packet or ping.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        self.sender.deadline()
    }

    fn count(&mut self, size: u32) {
        let size = size.min(MAX_SIZE);
        self.former_scaled_size = self.scaled_size;
        self.scaled_size = if self.scaled_size == 0 {
            size * SIZE_GAIN
        } else {
            self.scaled_size - self.scaled_size / SIZE_GAIN + size
        };
    }
}
