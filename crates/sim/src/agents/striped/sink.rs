//! The receiver of a stream over several TCP connections: control unit, resequencer and player of
//! [`polypath_core::connections`] over simulated receivers.

use polypath_core::connections::{
    ControlDecision, ControlInput, ControlUnit, ControllerConfig, OfferResult, PlayOut,
    PlayOutConfig, PlayOutEvent, PlayOutInput, Resequencer, ResequencerCounts, Target, Windows,
};
use polypath_core::machine::{Deadline, Machine};
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

/// Requests connections, sets their windows, and resequences their data.
#[derive(Clone, Debug)]
pub struct StripedSink {
    tcp: TcpConfig,
    span: Span,
    unit: ControlUnit,
    /// Every connection requested so far, by its number from 1: a closed one still
    /// answers late segments.
    pub(super) subflows: Vec<SubflowReceiver>,
    /// The positions in `subflows` of the wanted connections, followed by those that close after
    /// the data within their advertised windows.
    open: Vec<usize>,
    draining: Vec<usize>,
    pub(super) resequencer: Resequencer<()>,
    play: Option<PlayOut>,
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
        let rate = config.target.rate;
        Self {
            tcp: config.tcp,
            span: Span {
                start: Some(start),
                stop,
            },
            unit: ControlUnit::new(config.controller, config.target),
            subflows: Vec::new(),
            open: Vec::new(),
            draining: Vec::new(),
            resequencer: Resequencer::new(config.buffer),
            play: config.play_out.map(|play| PlayOut::new(play, rate)),
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
        self.resequencer.counts().delivered * u64::from(self.tcp.segment)
    }

    /// Its current state.
    #[must_use]
    pub fn state(&self) -> StreamState {
        let wanted = self.span.start.is_none().then(|| self.unit.wanted());
        StreamState {
            wanted,
            stops: self.play.as_ref().map_or(0, PlayOut::stops),
            packets: self.resequencer.counts(),
        }
    }

    /// The estimate of the round-trip time: the minimum over the wanted connections.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        let open = self.open.iter().map(|&place| self.subflows[place].rtt());
        open.flatten().min()
    }

    fn place(&self, connection: u32) -> Option<usize> {
        let place = (connection as usize).checked_sub(1)?;
        (place < self.subflows.len()).then_some(place)
    }

    /// Passes the round-trip time to the connection controller, which starts with the first one.
    fn update_rtt(&mut self, now: Time, out: &mut impl FnMut(StripedSinkOutput)) {
        if let Some(rtt) = self.rtt() {
            let mut decision = None;
            let input = ControlInput::Rtt(rtt);
            self.unit
                .handle_input(now, input, &mut |output| decision = Some(output));
            self.apply(now, decision, out);
        }
    }

    fn apply(
        &mut self,
        now: Time,
        controlled: Option<ControlDecision>,
        out: &mut impl FnMut(StripedSinkOutput),
    ) {
        if let Some(controlled) = controlled {
            out(StripedSinkOutput::Event(StreamEvent::Controlled(
                controlled,
            )));
            self.reconcile(now, controlled.wanted, out);
        }
    }

    /// Opens and closes connections and sets windows as wanted.
    fn reconcile(&mut self, now: Time, wanted: Windows, out: &mut impl FnMut(StripedSinkOutput)) {
        while self.open.len() > wanted.connections() as usize
            && let Some(place) = self.open.pop()
        {
            self.subflows[place].close();
            self.draining.push(place);
        }
        for (position, window) in wanted.iter().enumerate() {
            match self.open.get(position) {
                Some(&place) => {
                    self.subflows[place].set_window(window);
                    self.reopen(now, place, out);
                }
                None => self.request_connection(now, window, out),
            }
        }
    }

    fn reopen(&mut self, now: Time, place: usize, out: &mut impl FnMut(StripedSinkOutput)) {
        let answer = &mut |segment| out(StripedSinkOutput::Segment(segment));
        self.subflows[place].reopen(now, answer);
    }

    /// Requests one more connection.
    fn request_connection(
        &mut self,
        now: Time,
        window: u32,
        out: &mut impl FnMut(StripedSinkOutput),
    ) {
        let number = u32::try_from(self.subflows.len() + 1).expect("fewer than 2^32 connections");
        let subflow = SubflowReceiver::new(number, window, &self.tcp, now);
        out(StripedSinkOutput::Segment(subflow.request()));
        self.open.push(self.subflows.len());
        self.subflows.push(subflow);
    }

    /// Moves in-order data from the connections to the resequencer while that accepts more.
    fn read(&mut self, now: Time, out: &mut impl FnMut(StripedSinkOutput)) {
        let before = self.delivered();
        let mut taken = 0;
        let mut progress = true;
        while std::mem::take(&mut progress) {
            for &place in self.open.iter().chain(&self.draining) {
                let subflow = &mut self.subflows[place];
                while let Some(sequence) = subflow.front() {
                    let offer = self.resequencer.offer(sequence, (), &mut |()| {});
                    if matches!(offer, OfferResult::Refused(())) {
                        break;
                    }
                    subflow.pop();
                    taken += u64::from(self.tcp.segment);
                    progress = true;
                }
            }
        }
        if taken > 0 {
            let input = ControlInput::Delivered(Bytes(taken));
            self.unit.handle_input(now, input, &mut |_| {});
            for position in 0..self.open.len() {
                self.reopen(now, self.open[position], out);
            }
        }
        let arrived = Bytes(self.delivered() - before);
        if let Some(play) = self.play.as_mut().filter(|_| arrived > Bytes(0)) {
            let input = PlayOutInput::Arrived(arrived);
            play.handle_input(now, input, &mut |event| out(player(event)));
        }
    }

    /// Wakes the player, and notifies it once all data written by the source has been delivered.
    fn play(&mut self, now: Time, out: &mut impl FnMut(StripedSinkOutput)) {
        let is_all = !self.is_controlled(now) && self.resequencer.next() > self.written;
        if let Some(play) = &mut self.play {
            let out = &mut |event| out(player(event));
            if is_all {
                play.handle_input(now, PlayOutInput::End, out);
            } else {
                play.handle_timeout(now, out);
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
            self.reconcile(now, self.unit.wanted(), out);
        }
        if self
            .unit
            .deadline()
            .is_some_and(|deadline| deadline.at <= now)
        {
            self.update_rtt(now, out);
            let mut decision = None;
            self.unit
                .handle_timeout(now, &mut |output| decision = Some(output));
            self.apply(now, decision, out);
        }
    }
}

fn player(event: PlayOutEvent) -> StripedSinkOutput {
    StripedSinkOutput::Event(StreamEvent::Player(event))
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
        let begins = is_first || self.unit.deadline().is_none();
        if begins && self.is_controlled(now) {
            self.update_rtt(now, out);
        }
        if self.subflows[place].front().is_some() {
            self.read(now, out);
        }
        self.forget_ended();
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(StripedSinkOutput)) {
        self.play(now, out);
        let is_controlled = self.is_controlled(now);
        for &place in self.open.iter().chain(&self.draining) {
            let answer = &mut |segment| out(StripedSinkOutput::Segment(segment));
            if !is_controlled {
                self.subflows[place].rest();
            }
            self.subflows[place].handle_timeout(now, answer);
        }
        self.forget_ended();
        if self.is_controlled(now) {
            self.control(now, out);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        let start = self.span.start.map(|at| Deadline { at, why: "start" });
        let control = Deadline::earlier(start, self.unit.deadline());
        let control = control.filter(|deadline| deadline.at < self.span.stop);
        let play = self.play.as_ref().and_then(Machine::deadline);
        let subflows = self.open.iter().chain(&self.draining);
        let subflows = subflows.map(|&place| self.subflows[place].deadline());
        subflows.fold(Deadline::earlier(control, play), Deadline::earlier)
    }
}
