//! The spacing of an endpoint's packets ([`crate::spacing`]), which wait for their time before the
//! policy selects their paths.
//!
//! All data packets of a direction are spaced, so their sequence numbers are those that feedback
//! covers, and no packet is longer for it. A packet that is sent again counts as lost: the repair
//! hides the loss from the application, and must not hide it from the sender's rate.

use alloc::boxed::Box;

use super::config::EndpointConfig;
use super::io::Output;
use super::receiver::FrameHeader;
use super::{Adjustment, Endpoint};
use crate::event::{DropReason, Event};
use crate::frame::{Attempt, Payload};
use crate::machine::{EarliestDeadline, Machine};
use crate::packet::PacketMeta;
use crate::spacing::{
    DuePacket, Feedback, Message, ReceiverOutput, SenderOutput, SpacedHeader, SpacedQueue,
    SpacedReceiver, SpacingConfig, SpacingStatistics,
};
use crate::time::{Duration, Time};

/// The interval at which the sender repeats the round-trip time while it sends: the message may be
/// lost, and a receiver may restart.
const ANNOUNCEMENT_INTERVAL: Duration = Duration::from_secs(1);
/// The time after which a round-trip time that is not repeated requests no feedback.
const EXPIRY: Duration = Duration::from_secs(5);
/// The number of newer packets after which a packet on one path counts as lost (RFC 9002, section
/// 6.1.1), and the maximum: paths differ in delay, and a policy with repairs lets bulk wait behind
/// media.
const REORDERING: u32 = 3;
const MAX_REORDERING: u32 = 64;

/// The spacing of both directions, each as far as its sender wants it.
#[derive(Clone, Debug)]
pub(super) struct Spacing<P> {
    sending: Option<Box<SpacedSending<P>>>,
    receiving: Option<Box<SpacedReceiving>>,
    reordering: u32,
    peer_gives_feedback: bool,
}

/// The packets that wait, and what the peer knows of them.
#[derive(Clone, Debug)]
struct SpacedSending<P> {
    config: SpacingConfig,
    queue: SpacedQueue<SpacedPacket<P>>,
    /// The time from which on a packet takes the round-trip time to the peer.
    next_announcement: Time,
}

#[derive(Clone, Debug)]
struct SpacedPacket<P> {
    meta: PacketMeta,
    payload: P,
}

/// The packets of the peer.
#[derive(Clone, Debug)]
struct SpacedReceiving {
    receiver: SpacedReceiver,
    /// The round-trip time, as the peer announced it; 0 before that.
    rtt: Duration,
    /// The time of the last announcement.
    announced: Time,
}

impl<P> Spacing<P> {
    /// The spacing of `config` at the start of both endpoints.
    pub(super) fn new(config: &EndpointConfig) -> Self {
        let sending = |spacing| {
            let queue = SpacedQueue::new(&spacing, Time::ZERO, config.first_sequence);
            SpacedSending::new(spacing, queue)
        };
        let reorders = config.paths > 1 || config.policy.repair().is_some();
        Self {
            sending: config.spacing.map(sending),
            receiving: None,
            reordering: if reorders { MAX_REORDERING } else { REORDERING },
            peer_gives_feedback: true,
        }
    }

    /// Whether nothing is spaced in either direction.
    #[inline]
    pub(super) fn is_off(&self) -> bool {
        self.sending.is_none() && self.receiving.is_none()
    }

    /// Whether packets wait for their time.
    #[inline]
    pub(super) fn delays_packets(&self) -> bool {
        self.sending.is_some()
    }

    /// The number of packets that wait.
    pub(super) fn buffered(&self) -> usize {
        let sending = self.sending.as_ref();
        sending.map_or(0, |sending| sending.queue.len())
    }

    /// The state of the spacing of packets; `None` if they are not spaced.
    pub(super) fn statistics(&self, now: Time) -> Option<SpacingStatistics> {
        let sending = self.sending.as_ref()?;
        Some(sending.queue.statistics(now))
    }

    /// Notes the first copy of a packet of the peer, or its repair.
    #[inline]
    pub(super) fn on_arrival(&mut self, now: Time, header: FrameHeader, attempt: Attempt) {
        if let Some(receiving) = &mut self.receiving
            && attempt != Attempt::Repair
        {
            receiving.on_arrival(now, header);
        }
    }

    /// Notes that the peer has restarted: the next packet that is sent to it has the number
    /// `next_sequence`.
    pub(super) fn on_peer_restarted(&mut self, next_sequence: u64) {
        self.receiving = None;
        if let Some(sending) = &mut self.sending {
            sending.queue.on_receiver_restarted(next_sequence);
            sending.next_announcement = Time::ZERO;
        }
    }

    /// Notes that frames can reach the peer from now on.
    pub(super) fn on_reachable(&mut self, now: Time) {
        if let Some(sending) = &mut self.sending {
            sending.queue.on_reachable(now);
        }
    }

    /// Notes that the driver is behind, and the present is `present`.
    pub(super) fn on_driver_behind(&mut self, present: Time) {
        if let Some(sending) = &mut self.sending {
            sending.queue.on_driver_behind(present);
        }
    }

    /// Adds the deadlines of both directions.
    pub(super) fn add_deadlines(&self, next: &mut EarliestDeadline) {
        if let Some(sending) = &self.sending {
            next.add_deadline(sending.queue.deadline());
        }
        if let Some(receiving) = &self.receiving {
            next.add_deadline(receiving.receiver.deadline());
        }
    }

    /// Handles a ping or the round-trip time of the sender of spaced packets; `first` is the number
    /// of the next packet.
    fn on_request(&mut self, now: Time, first: u64, rtt: Option<Duration>) {
        let reordering = self.reordering;
        let receiving = self.receiving.get_or_insert_with(|| {
            Box::new(SpacedReceiving {
                receiver: SpacedReceiver::starting_at(first, reordering),
                rtt: Duration::ZERO,
                announced: now,
            })
        });
        if let Some(rtt) = rtt {
            (receiving.rtt, receiving.announced) = (rtt, now);
        }
    }

    fn on_feedback(&mut self, now: Time, feedback: Feedback) -> Option<Event> {
        let sending = self.sending.as_mut()?;
        match sending.queue.on_feedback(now, feedback) {
            SenderOutput::FeedbackApplied {
                spacing, readings, ..
            } => Some(Event::SpacingFeedback {
                spacing,
                sent: readings.range.sent,
                received: readings.range.received,
            }),
            _ => None,
        }
    }
}

impl<P> SpacedSending<P> {
    fn new(config: SpacingConfig, queue: SpacedQueue<SpacedPacket<P>>) -> Box<Self> {
        Box::new(Self {
            config,
            queue,
            next_announcement: Time::ZERO,
        })
    }

    /// The round-trip time, if it is due for an announcement.
    fn announcement(&mut self, now: Time) -> Option<Duration> {
        let is_due = self.next_announcement <= now && self.config.control.is_adaptive();
        let rtt = self.queue.rtt().filter(|_| is_due)?;
        self.next_announcement = now + ANNOUNCEMENT_INTERVAL;
        Some(rtt)
    }
}

impl SpacedReceiving {
    fn on_arrival(&mut self, now: Time, header: FrameHeader) {
        let is_current = now.since(self.announced) <= EXPIRY;
        let header = SpacedHeader {
            sequence: header.sequence,
            sent: header.sent,
            rtt: if is_current { self.rtt } else { Duration::ZERO },
        };
        (self.receiver).handle_input(now, header, &mut |_| {});
    }

    fn feedback(&mut self, now: Time) -> Option<Feedback> {
        let mut due = None;
        (self.receiver).handle_timeout(now, &mut |output| {
            if let ReceiverOutput::Feedback(feedback) = output {
                due = Some(feedback);
            }
        });
        due
    }
}

impl<P: Payload> Endpoint<P> {
    /// Lets a packet of an application wait for its time.
    pub(super) fn space(
        &mut self,
        now: Time,
        meta: PacketMeta,
        payload: P,
        out: &mut impl FnMut(Output<P>),
    ) {
        let Some(sending) = &mut self.spacing.sending else {
            return;
        };
        let packet = SpacedPacket { meta, payload };
        if let Some(oldest) = sending.queue.push(now, packet, meta.size) {
            drop_packet(&oldest, out);
        }
        self.send_spaced(now, out);
    }

    /// Sends the packets and messages of packet spacing that are due.
    pub(super) fn send_spaced(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        let Some(sending) = &mut self.spacing.sending else {
            return;
        };
        if sending.queue.take_ping(now) {
            self.sender.send_spacing(now, Message::Ping(now), out);
        }
        while let Some(sending) = &mut self.spacing.sending
            && let Some(due) = sending.queue.pop_due(now)
        {
            let SpacedPacket { meta, payload } = match due {
                DuePacket::Send(packet) => packet,
                DuePacket::TooLate(packet) => {
                    drop_packet(&packet, out);
                    continue;
                }
            };
            // Before the packet, or a receiver that begins to count would not count it.
            if let Some(rtt) = sending.announcement(now) {
                self.sender.send_spacing(now, Message::RoundTrip(rtt), out);
            }
            let before = self.sender.next_sequence();
            self.sender.on_spaced_packet(now, meta, payload, out);
            if self.sender.next_sequence() == before {
                sending.queue.withdraw();
            }
        }
    }

    /// Sends the feedback that is due.
    pub(super) fn send_spacing_feedback(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        if let Some(receiving) = &mut self.spacing.receiving
            && let Some(feedback) = receiving.feedback(now)
        {
            self.sender
                .send_spacing(now, Message::Feedback(feedback), out);
        }
    }

    /// Handles a message of packet spacing.
    pub(super) fn on_spacing(
        &mut self,
        now: Time,
        message: Message,
        out: &mut impl FnMut(Output<P>),
    ) {
        let first = self.receiver.seen().end();
        match message {
            Message::Ping(sent) => {
                self.spacing.on_request(now, first, None);
                self.sender.send_spacing(now, Message::Pong(sent), out);
            }
            Message::RoundTrip(rtt) => self.spacing.on_request(now, first, Some(rtt)),
            Message::Pong(sent) => {
                if let Some(sending) = &mut self.spacing.sending {
                    sending.queue.on_pong(now, sent);
                }
                self.send_spaced(now, out);
            }
            Message::Feedback(feedback) => {
                let applied = self.spacing.on_feedback(now, feedback);
                applied.map(Output::Event).into_iter().for_each(&mut *out);
                self.send_spaced(now, out);
            }
            // Spaced packets of an endpoint are data frames.
            Message::Packet(_) => {}
        }
    }

    /// Notes whether the peer gives feedback.
    #[cold]
    pub(super) fn on_peer_spacing(
        &mut self,
        now: Time,
        gives_feedback: bool,
        out: &mut impl FnMut(Output<P>),
    ) {
        let before = core::mem::replace(&mut self.spacing.peer_gives_feedback, gives_feedback);
        if !gives_feedback {
            self.space_without_feedback(now, out);
        } else if !before
            && let Some(sending) = &mut self.spacing.sending
            && sending.config.control.is_adaptive()
        {
            sending.queue.on_feedback_possible(now);
            self.send_spaced(now, out);
        }
    }

    /// Goes on with the spacing as it is, if the peer gives no feedback.
    fn space_without_feedback(&mut self, now: Time, out: &mut impl FnMut(Output<P>)) {
        if self.spacing.peer_gives_feedback {
            return;
        }
        if let Some(sending) = &mut self.spacing.sending
            && sending.config.control.is_adaptive()
        {
            sending.queue.on_no_feedback();
            out(Output::Event(Event::SpacingUnavailable));
            self.send_spaced(now, out);
        }
    }

    /// Applies another spacing; packets that wait are sent at once.
    #[cold]
    pub(super) fn adjust_spacing(
        &mut self,
        now: Time,
        to: &Adjustment,
        out: &mut impl FnMut(Output<P>),
    ) {
        let before = self.spacing.sending.as_ref().map(|sending| sending.config);
        if before == to.spacing {
            return;
        }
        let mut known = None;
        if let Some(mut sending) = self.spacing.sending.take() {
            known = sending.queue.rtt();
            for SpacedPacket { meta, payload } in sending.queue.drain() {
                self.sender.on_spaced_packet(now, meta, payload, out);
            }
            // The next one requests feedback with its first packet, if it needs any.
            self.sender
                .send_spacing(now, Message::RoundTrip(Duration::ZERO), out);
        }
        let known = known.or_else(|| self.sender.active_rtt());
        let first = self.sender.next_sequence();
        self.spacing.sending = to.spacing.map(|spacing| {
            let queue = SpacedQueue::following(&spacing, now, first, known);
            SpacedSending::new(spacing, queue)
        });
        self.space_without_feedback(now, out);
    }

    /// Whether packets are spaced: each has a turn of its own.
    #[must_use]
    pub const fn is_spaced(&self) -> bool {
        self.spacing.sending.is_some()
    }

    /// The state of the spacing of packets at `now`; `None` if they are not spaced.
    #[must_use]
    pub fn spacing_statistics(&self, now: Time) -> Option<SpacingStatistics> {
        self.spacing.statistics(now)
    }
}

/// The events of a packet that came, and has waited for too long.
fn drop_packet<P>(packet: &SpacedPacket<P>, out: &mut impl FnMut(Output<P>)) {
    let PacketMeta { kind, size, .. } = packet.meta;
    out(Output::Event(Event::PacketIn { kind, len: size }));
    out(Output::Event(Event::Dropped {
        reason: DropReason::WaitedTooLong,
        len: size,
    }));
}
