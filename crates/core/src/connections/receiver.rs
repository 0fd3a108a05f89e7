//! The receiver of a stream: its connections, their windows, the order of packets, and the player.

use alloc::vec::Vec;

use super::config::ControllerConfig;
use super::control_unit::{ControlDecision, ControlInput, ControlUnit};
use super::failures::Failures;
use super::parameters::Target;
use super::playout::{PlayOut, PlayOutConfig, PlayOutEvent, PlayOutInput};
use super::resequencer::{OfferResult, Resequencer, ResequencerCounts};
use super::windows::{MAX_CONNECTIONS, Windows};
#[cfg(feature = "serde")]
use super::wire::MAX_PAYLOAD;
use crate::hold::next_hold;
use crate::machine::{Deadline, EarliestDeadline, Machine};
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

/// The time until a connection that ended is replaced: at first, and at most while none of those
/// that are opened carries a packet.
const RETRY: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// The time until another connection is tried where the sender has refused one.
const TRY_MORE: Duration = Duration::from_secs(10);

/// The configuration of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct ReceiverConfig {
    /// The rate of the media and the size of a segment.
    pub target: Target,
    /// The controller of connections and windows.
    pub controller: ControllerConfig,
    /// The number of packets that wait for earlier ones, at least 1.
    pub buffer: u32,
    /// The player, if the media is played.
    pub play_out: Option<PlayOutConfig>,
    /// The time at which the control of connections and windows ends.
    pub until: Time,
}

/// Opens and closes connections and sets their windows as its [`ControlUnit`] decides, restores the
/// order of packets, and plays them.
///
/// A connection that ends by itself is replaced after 100 ms, and after up to 5 s while nothing
/// arrives on new ones. If it fails, the sender is notified on all others. If the sender refuses one,
/// the windows are those of the others, and one more is tried every 10 s.
#[derive(Clone, Debug)]
pub struct StreamReceiver<P> {
    unit: ControlUnit,
    /// The rate of the media.
    rate: Rate,
    resequencer: Resequencer<SizedPacket<P>>,
    player: Option<PlayOut>,
    /// The wanted connections, in the order in which they were opened.
    open: Vec<u32>,
    /// The number of connections that were opened.
    opened: u32,
    has_started: bool,
    until: Time,
    retry: Retry,
    failures: Failures,
    permitted: Option<Permitted>,
}

/// The most connections that the sender permits, after it has refused one.
#[derive(Clone, Copy, Debug)]
struct Permitted {
    connections: u32,
    /// The time at which one more is tried.
    next_attempt: Time,
}

/// A packet with its size in bytes, which a simulated packet does not have by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct SizedPacket<P> {
    /// The packet.
    pub packet: P,
    /// Its size.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "size"))]
    pub size: Bytes,
}

#[cfg(feature = "serde")]
fn size<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
    let size: Bytes = serde::Deserialize::deserialize(deserializer)?;
    if size.0 > MAX_PAYLOAD as u64 {
        let error = format_args!("no packet has {} B", size.0);
        return Err(serde::de::Error::custom(error));
    }
    Ok(size)
}

/// The pause before connections that ended are replaced.
#[derive(Clone, Copy, Debug)]
struct Retry {
    pause: Duration,
    until: Option<Time>,
    /// The last connection that was opened before the pause.
    last_before: u32,
    /// Whether a packet arrived on one that was opened after it.
    has_received: bool,
}

/// An input of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverInput<P> {
    /// The stream starts: the first connections are opened.
    Start,
    /// The new estimate of the round-trip time.
    Rtt(Duration),
    /// A packet arrived.
    Packet {
        /// The connection.
        connection: u32,
        /// Its sequence number, from 1.
        sequence: u64,
        /// The packet.
        packet: SizedPacket<P>,
    },
    /// The sender waited for its source, although it could have sent more.
    ApplicationLimited {
        /// Whether it still does.
        is_idle: bool,
    },
    /// The sender carries the stream on this connection, and has read what came before its hello.
    Welcome(u32),
    /// The sender ended this connection, after all that it carried; or it could not be opened, and the
    /// sender does not know of it.
    Ended(u32),
    /// This connection failed, and what it carried may be lost.
    Failed(u32),
    /// The sender has refused this connection, since it permits no more than there are.
    Refused(u32),
    /// All packets have arrived: the player plays the rest.
    Complete,
}

/// An output of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReceiverOutput<P> {
    /// Open this connection with a window of `window` segments, and name the
    /// [`failed`](StreamReceiver::failed) ones before its hello. Numbers start at 1 and are used
    /// once.
    Open {
        /// The connection.
        connection: u32,
        /// Its window in segments.
        window: u32,
    },
    /// Set the window of a connection; it may be the present one.
    SetWindow {
        /// The connection.
        connection: u32,
        /// Its window in segments.
        window: u32,
    },
    /// Close this connection after the packets that it still carries.
    Close(u32),
    /// Name this connection to the sender as failed, on all that are open or being opened.
    NameFailed(u32),
    /// The next packet of the stream.
    Deliver(P),
    /// A packet that is too far ahead: offer it again after others were delivered, and read nothing
    /// more from its connection until then.
    Refused {
        /// Its sequence number.
        sequence: u64,
        /// The packet.
        packet: SizedPacket<P>,
    },
    /// A decision of the control unit.
    Controlled(ControlDecision),
    /// An event of the player.
    Player(PlayOutEvent),
}

impl<P> StreamReceiver<P> {
    /// A receiver whose stream has not started.
    #[must_use]
    pub fn new(config: &ReceiverConfig) -> Self {
        let rate = config.target.rate;
        Self {
            unit: ControlUnit::new(config.controller, config.target),
            rate,
            resequencer: Resequencer::new(config.buffer),
            player: config.play_out.map(|play| PlayOut::new(play, rate)),
            open: Vec::new(),
            opened: 0,
            has_started: false,
            until: config.until,
            retry: Retry {
                pause: RETRY[0],
                until: None,
                last_before: 0,
                has_received: false,
            },
            failures: Failures::default(),
            permitted: None,
        }
    }

    /// The wanted connections and windows; `None` before the start.
    #[must_use]
    pub fn wanted(&self) -> Option<Windows> {
        self.has_started.then(|| self.unit.wanted())
    }

    /// The wanted connections that are open or being opened, in the order in which they were
    /// opened.
    #[must_use]
    pub fn connections(&self) -> &[u32] {
        &self.open
    }

    /// The failed connections of which the sender may not know, in the order in which they failed.
    pub fn failed(&self) -> impl Iterator<Item = u32> {
        self.failures.connections()
    }

    /// Whether the control unit samples the throughput: it needs a round-trip time first.
    #[must_use]
    pub fn is_sampling(&self) -> bool {
        self.unit.deadline().is_some()
    }

    /// Whether the end of a sampling interval is due: the newest estimate of the round-trip time is
    /// best given just before.
    #[must_use]
    pub fn is_sample_due(&self, now: Time) -> bool {
        let due = self.unit.deadline().map(|deadline| deadline.at);
        self.is_controlled(now) && due.is_some_and(|at| at <= now)
    }

    /// The number of packets received in order.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.resequencer.next() - 1
    }

    /// The counts of packets.
    #[must_use]
    pub const fn packets(&self) -> ResequencerCounts {
        self.resequencer.counts()
    }

    /// The number of times the player has stalled; 0 without a player.
    #[must_use]
    pub fn stops(&self) -> u32 {
        self.player.as_ref().map_or(0, PlayOut::stops)
    }

    /// The rate at which the stream should arrive: that of the media, or what the player wants
    /// ([`PlayOut::wanted_rate`]).
    #[must_use]
    pub fn wanted_rate(&self, now: Time) -> Rate {
        let player = self.player.as_ref();
        player.map_or(self.rate, |player| player.wanted_rate(now))
    }

    fn is_controlled(&self, now: Time) -> bool {
        now < self.until
    }

    fn apply(
        &mut self,
        now: Time,
        decision: Option<ControlDecision>,
        out: &mut impl FnMut(ReceiverOutput<P>),
    ) {
        if let Some(decision) = decision {
            out(ReceiverOutput::Controlled(decision));
            self.reconcile(now, out);
        }
    }

    /// Opens and closes connections and sets windows as wanted.
    fn reconcile(&mut self, now: Time, out: &mut impl FnMut(ReceiverOutput<P>)) {
        let wanted = self.unit.wanted();
        while self.open.len() > wanted.connections() as usize
            && let Some(connection) = self.open.pop()
        {
            out(ReceiverOutput::Close(connection));
        }
        let may_open = !self.retry.is_pausing(now);
        for (position, window) in wanted.iter().enumerate() {
            if let Some(&connection) = self.open.get(position) {
                out(ReceiverOutput::SetWindow { connection, window });
            } else if may_open {
                self.opened += 1;
                self.open.push(self.opened);
                let connection = self.opened;
                out(ReceiverOutput::Open { connection, window });
            }
        }
    }

    fn on_rtt(&mut self, now: Time, rtt: Duration, out: &mut impl FnMut(ReceiverOutput<P>)) {
        let mut decision = None;
        let input = ControlInput::Rtt(rtt);
        self.unit
            .handle_input(now, input, &mut |output| decision = Some(output));
        self.apply(now, decision, out);
    }

    fn on_packet(
        &mut self,
        now: Time,
        sequence: u64,
        packet: SizedPacket<P>,
        out: &mut impl FnMut(ReceiverOutput<P>),
    ) {
        let (size, mut delivered) = (packet.size, 0);
        let offer = self.resequencer.offer(sequence, packet, &mut |packet| {
            delivered += packet.size.0;
            out(ReceiverOutput::Deliver(packet.packet));
        });
        if let OfferResult::Refused(packet) = offer {
            return out(ReceiverOutput::Refused { sequence, packet });
        }
        let input = ControlInput::Delivered(size);
        self.unit.handle_input(now, input, &mut |_| {});
        if let Some(player) = self.player.as_mut().filter(|_| delivered > 0) {
            let input = PlayOutInput::Arrived(Bytes(delivered));
            player.handle_input(now, input, &mut |event| out(ReceiverOutput::Player(event)));
        }
    }

    fn on_ended(&mut self, now: Time, connection: u32) {
        let before = self.open.len();
        self.open.retain(|open| *open != connection);
        // Those that end together are replaced together.
        if self.open.len() < before && !self.retry.is_pausing(now) {
            self.retry.begin(now, self.opened);
        }
    }

    fn on_refused(&mut self, now: Time, connection: u32, out: &mut impl FnMut(ReceiverOutput<P>)) {
        self.open.retain(|open| *open != connection);
        if self.open.is_empty() && !self.retry.is_pausing(now) {
            self.retry.begin(now, self.opened);
        }
        let connections = u32::try_from(self.open.len()).unwrap_or(u32::MAX).max(1);
        self.unit.limit(connections);
        self.permitted = Some(Permitted {
            connections,
            next_attempt: now + TRY_MORE,
        });
        self.reconcile(now, out);
    }

    /// Permits one more connection if the time has come.
    fn try_more(&mut self, now: Time) {
        let due = |permitted: &&mut Permitted| permitted.next_attempt <= now;
        let Some(permitted) = self.permitted.as_mut().filter(due) else {
            return;
        };
        permitted.connections = permitted.connections.saturating_add(1);
        permitted.next_attempt = now + TRY_MORE;
        self.unit.limit(permitted.connections);
        if self.unit.wanted().connections() < permitted.connections {
            self.unit.limit(MAX_CONNECTIONS);
            self.permitted = None;
        }
    }

    /// The time at which connections that are missing are opened; `None` if there are as many as
    /// wanted.
    fn replacement(&self) -> Option<Time> {
        let wanted = self.unit.wanted().connections();
        let is_missing = self.open.len() < wanted as usize;
        let retry = self.retry.until.filter(|_| is_missing);
        // Below the limit, no more are wanted.
        let is_limited = |permitted: &Permitted| permitted.connections <= wanted;
        let more = self.permitted.filter(is_limited);
        let more = more.map(|permitted| permitted.next_attempt);
        let at = retry.into_iter().chain(more).min()?;
        (at < self.until).then_some(at)
    }
}

impl Retry {
    fn is_pausing(&self, now: Time) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    fn begin(&mut self, now: Time, last_opened: u32) {
        self.pause = match self.until {
            Some(_) => next_hold(self.pause, self.has_received, RETRY),
            None => RETRY[0],
        };
        (self.last_before, self.has_received) = (last_opened, false);
        self.until = Some(now + self.pause);
    }
}

impl<P> Machine for StreamReceiver<P> {
    type Input = ReceiverInput<P>;
    type Output = ReceiverOutput<P>;

    fn handle_input(
        &mut self,
        now: Time,
        input: ReceiverInput<P>,
        out: &mut impl FnMut(ReceiverOutput<P>),
    ) {
        match input {
            ReceiverInput::Start => {
                self.has_started = true;
                self.reconcile(now, out);
            }
            ReceiverInput::Rtt(rtt) => self.on_rtt(now, rtt, out),
            ReceiverInput::Packet {
                connection,
                sequence,
                packet,
            } => {
                self.retry.has_received |= connection > self.retry.last_before;
                self.on_packet(now, sequence, packet, out);
            }
            ReceiverInput::ApplicationLimited { is_idle } => {
                let input = ControlInput::ApplicationLimited { is_idle };
                self.unit.handle_input(now, input, &mut |_| {});
            }
            ReceiverInput::Refused(connection) => self.on_refused(now, connection, out),
            ReceiverInput::Welcome(connection) => self.failures.on_welcome(connection),
            ReceiverInput::Ended(connection) => self.on_ended(now, connection),
            ReceiverInput::Failed(connection) => {
                self.failures.add(connection, self.opened);
                out(ReceiverOutput::NameFailed(connection));
                self.on_ended(now, connection);
            }
            ReceiverInput::Complete => {
                if let Some(player) = &mut self.player {
                    let out = &mut |event| out(ReceiverOutput::Player(event));
                    player.handle_input(now, PlayOutInput::End, out);
                }
            }
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(ReceiverOutput<P>)) {
        if let Some(player) = &mut self.player {
            player.handle_timeout(now, &mut |event| out(ReceiverOutput::Player(event)));
        }
        if !self.is_controlled(now) {
            return;
        }
        self.unit.set_rate(self.wanted_rate(now));
        let mut decision = None;
        self.unit
            .handle_timeout(now, &mut |output| decision = Some(output));
        self.apply(now, decision, out);
        if self.replacement().is_some_and(|at| at <= now) {
            self.try_more(now);
            self.reconcile(now, out);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let mut earliest = EarliestDeadline::NONE;
        if let Some(control) = self.unit.deadline().filter(|due| due.at < self.until) {
            earliest.add_deadline(Some(control));
        }
        earliest.add(self.replacement(), "replacement of connections");
        earliest.add_deadline(self.player.as_ref().and_then(Machine::deadline));
        earliest.deadline()
    }
}
