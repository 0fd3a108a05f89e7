//! The receiver of a stream over several TCP connections: a [`StreamReceiver`] over simulated
//! receivers.

use polypath_core::connections::{
    ControllerConfig, PlayOutConfig, ReceiverConfig, ReceiverInput, ReceiverOutput,
    ResequencerCounts, SizedPacket, StreamReceiver, Target, Windows,
};
use polypath_core::machine::{Deadline, Machine, Wake};
use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;
use polypath_scenario::network::Striped;

use super::subflow_receiver::SubflowReceiver;
use crate::agents::event::StreamEvent;
use crate::agents::setup::FlowSetup;
use crate::tcp::{Segment, SegmentKind, TcpConfig};

/// The settings of a receiver.
#[derive(Clone, Copy, Debug)]
pub struct StripedSinkConfig {
    /// The hosts.
    pub tcp: TcpConfig,
    /// The rate of the media and the size of a segment.
    pub target: Target,
    /// The controller of connections and windows.
    pub controller: ControllerConfig,
    /// The capacity of the resequencer in packets.
    pub buffer: u32,
    /// The player, if the media is played.
    pub play_out: Option<PlayOutConfig>,
}

/// Requests connections and reads their data as its [`StreamReceiver`] decides.
#[derive(Clone, Debug)]
pub struct StripedSink {
    tcp: TcpConfig,
    span: Span,
    receiver: StreamReceiver<()>,
    /// Every connection requested so far, by its number from 1: a closed one still
    /// answers late segments.
    pub(super) subflows: Vec<SubflowReceiver>,
    /// The positions in `subflows` of the connections that close after the data within their
    /// advertised windows.
    draining: Vec<usize>,
    /// The highest packet number written by the source.
    pub(super) written: u64,
}

/// The times at which the connection controller runs.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// `None` once started.
    start: Option<Time>,
    stop: Time,
}

/// An output of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StripedSinkOutput {
    /// Send this segment: an ACK, or a request for a connection.
    Segment(Segment),
    /// An event of the stream.
    Event(StreamEvent),
}

/// The state of a stream at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// The wanted connections and windows; `None` before the start.
    pub wanted: Option<Windows>,
    /// The number of times the player has stalled.
    pub stops: u32,
    /// The counters of the resequencer.
    pub packets: ResequencerCounts,
}

impl StripedSink {
    /// A receiver that starts at `start`, and changes connections and windows until `stop`.
    #[must_use]
    pub fn new(config: &StripedSinkConfig, start: Time, stop: Time) -> Self {
        let receiver = ReceiverConfig {
            target: config.target,
            controller: config.controller,
            buffer: config.buffer,
            play_out: config.play_out,
            until: stop,
        };
        Self {
            tcp: config.tcp,
            span: Span {
                start: Some(start),
                stop,
            },
            receiver: StreamReceiver::new(&receiver),
            subflows: Vec::new(),
            draining: Vec::new(),
            written: 0,
        }
    }

    /// The receiver of a flow of a graph.
    pub(super) fn of_flow(config: &Striped, tcp: TcpConfig, setup: &FlowSetup<'_>) -> Self {
        let sink = StripedSinkConfig {
            tcp,
            target: Target {
                rate: config.rate,
                segment: setup.hosts.segment,
            },
            controller: config.controller,
            buffer: config.buffer,
            play_out: config.play_out,
        };
        Self::new(&sink, setup.span.start, setup.span.stop)
    }

    /// Records the packet in the next segment of a connection, which the header of a real segment
    /// would state.
    pub fn note_written(&mut self, connection: u32, sequence: u64) {
        self.written = self.written.max(sequence);
        if let Some(place) = self.place(connection) {
            self.subflows[place].note_written(sequence);
        }
    }

    /// The bytes delivered to the player, in order.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.receiver.packets().delivered * u64::from(self.tcp.segment)
    }

    /// Its current state.
    #[must_use]
    pub fn state(&self) -> StreamState {
        StreamState {
            wanted: self.receiver.wanted(),
            stops: self.receiver.stops(),
            packets: self.receiver.packets(),
        }
    }

    /// The estimate of the round-trip time: the minimum over the wanted connections.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        let open = self.open().map(|place| self.subflows[place].rtt());
        open.flatten().min()
    }

    /// The positions in `subflows` of the wanted connections.
    fn open(&self) -> impl Iterator<Item = usize> {
        let open = self.receiver.connections().iter();
        open.filter_map(|connection| self.place(*connection))
    }

    /// The number of connections that are wanted, or still carry data.
    fn in_use(&self) -> usize {
        self.receiver.connections().len() + self.draining.len()
    }

    /// The position in `subflows` of one of them: of the wanted ones first.
    fn used(&self, index: usize) -> Option<usize> {
        let open = self.receiver.connections();
        match open.get(index) {
            Some(connection) => self.place(*connection),
            None => self.draining.get(index - open.len()).copied(),
        }
    }

    fn place(&self, connection: u32) -> Option<usize> {
        let place = (connection as usize).checked_sub(1)?;
        (place < self.subflows.len()).then_some(place)
    }

    /// Passes the round-trip time to the connection controller, which starts with the first one.
    fn update_rtt(&mut self, now: Time, out: &mut impl FnMut(StripedSinkOutput)) {
        if let Some(rtt) = self.rtt() {
            self.wake(now, Wake::Input(ReceiverInput::Rtt(rtt)), out);
        }
    }

    /// Wakes the receiver of the stream and performs its outputs.
    fn wake(
        &mut self,
        now: Time,
        wake: Wake<ReceiverInput<()>>,
        out: &mut impl FnMut(StripedSinkOutput),
    ) {
        let (subflows, draining) = (&mut self.subflows, &mut self.draining);
        let tcp = &self.tcp;
        let apply = &mut |output| match output {
            ReceiverOutput::Open { connection, window } => {
                let subflow = SubflowReceiver::new(connection, window, tcp, now);
                out(StripedSinkOutput::Segment(subflow.request()));
                subflows.push(subflow);
            }
            ReceiverOutput::SetWindow { connection, window } => {
                let subflow = &mut subflows[connection as usize - 1];
                subflow.set_window(window);
                subflow.reopen(now, &mut |update| out(StripedSinkOutput::Segment(update)));
            }
            ReceiverOutput::Close(connection) => {
                let place = connection as usize - 1;
                subflows[place].close();
                draining.push(place);
            }
            ReceiverOutput::Controlled(decision) => {
                out(StripedSinkOutput::Event(StreamEvent::Controlled(decision)));
            }
            ReceiverOutput::Player(event) => {
                out(StripedSinkOutput::Event(StreamEvent::Player(event)));
            }
            // Simulated connections do not fail.
            ReceiverOutput::NameFailed(_)
            | ReceiverOutput::Deliver(())
            | ReceiverOutput::Refused { .. } => {}
        };
        match wake {
            Wake::Input(input) => self.receiver.handle_input(now, input, apply),
            Wake::Timeout => self.receiver.handle_timeout(now, apply),
        }
    }

    /// Offers the first unread packet of a connection; returns whether it was accepted.
    fn offer(&mut self, now: Time, place: usize, out: &mut impl FnMut(StripedSinkOutput)) -> bool {
        let Some(sequence) = self.subflows[place].front() else {
            return false;
        };
        let packet = SizedPacket {
            packet: (),
            size: Bytes(self.tcp.segment.into()),
        };
        let input = ReceiverInput::Packet {
            connection: number(place),
            sequence,
            packet,
        };
        let mut is_accepted = true;
        self.receiver
            .handle_input(now, input, &mut |output| match output {
                ReceiverOutput::Refused { .. } => is_accepted = false,
                ReceiverOutput::Player(event) => {
                    out(StripedSinkOutput::Event(StreamEvent::Player(event)));
                }
                _ => {}
            });
        if is_accepted {
            self.subflows[place].pop();
        }
        is_accepted
    }

    /// Moves in-order data from the connections to the receiver of the stream while that accepts
    /// more.
    fn read(&mut self, now: Time, out: &mut impl FnMut(StripedSinkOutput)) {
        let (mut has_read, mut progress) = (false, true);
        while std::mem::take(&mut progress) {
            for index in 0..self.in_use() {
                while let Some(place) = self.used(index)
                    && self.offer(now, place, out)
                {
                    progress = true;
                }
            }
            has_read |= progress;
        }
        if !has_read {
            return;
        }
        for index in 0..self.receiver.connections().len() {
            if let Some(place) = self.used(index) {
                let update = &mut |segment| out(StripedSinkOutput::Segment(segment));
                self.subflows[place].reopen(now, update);
            }
        }
    }

    /// Removes connections that have ended.
    fn forget_ended(&mut self) {
        let subflows = &self.subflows;
        self.draining
            .retain(|&place| !subflows[place].is_exhausted());
    }

    fn is_controlled(&self, now: Time) -> bool {
        now < self.span.stop
    }

    fn control(&mut self, now: Time, out: &mut impl FnMut(StripedSinkOutput)) {
        if self.span.start.take_if(|start| *start <= now).is_some() {
            self.wake(now, Wake::Input(ReceiverInput::Start), out);
        }
        if self.receiver.is_sample_due(now) {
            self.update_rtt(now, out);
        }
    }
}

/// The number of the connection at this position.
fn number(place: usize) -> u32 {
    u32::try_from(place + 1).expect("fewer than 2^32 connections")
}

impl Machine for StripedSink {
    /// A segment with data.
    type Input = Segment;
    type Output = StripedSinkOutput;

    fn handle_input(&mut self, now: Time, data: Segment, out: &mut impl FnMut(StripedSinkOutput)) {
        let Some(place) = self
            .place(data.connection)
            .filter(|_| data.kind == SegmentKind::Data)
        else {
            return;
        };
        let answer = &mut |ack| out(StripedSinkOutput::Segment(ack));
        let is_first = self.subflows[place].take(now, data, answer);
        // A retransmitted set-up measures nothing (Karn).
        let begins = is_first || !self.receiver.is_sampling();
        if begins && self.is_controlled(now) {
            self.update_rtt(now, out);
        }
        if self.subflows[place].front().is_some() {
            self.read(now, out);
        }
        self.forget_ended();
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(StripedSinkOutput)) {
        let is_controlled = self.is_controlled(now);
        if !is_controlled && self.receiver.received() >= self.written {
            self.wake(now, Wake::Input(ReceiverInput::Complete), out);
        }
        for index in 0..self.in_use() {
            let Some(place) = self.used(index) else {
                continue;
            };
            let answer = &mut |segment| out(StripedSinkOutput::Segment(segment));
            if !is_controlled {
                self.subflows[place].rest();
            }
            self.subflows[place].handle_timeout(now, answer);
        }
        self.forget_ended();
        if is_controlled {
            self.control(now, out);
        }
        self.wake(now, Wake::Timeout, out);
    }

    fn deadline(&self) -> Option<Deadline> {
        let start = self.span.start.map(|at| Deadline { at, why: "start" });
        let start = start.filter(|deadline| deadline.at < self.span.stop);
        let subflows = self.open().chain(self.draining.iter().copied());
        let subflows = subflows.map(|place| self.subflows[place].deadline());
        subflows.fold(
            Deadline::earlier(start, self.receiver.deadline()),
            Deadline::earlier,
        )
    }
}
