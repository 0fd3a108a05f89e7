//! The run of one schedule of a stream.

use std::collections::BTreeMap;
use std::fmt;

use polypath_core::connections::ConnectionEnd;
use polypath_core::connections::wire::{Hello, ReceiverMessage, SenderMessage};
use polypath_core::machine::{Deadline, Machine};
use polypath_core::rng::{Seed, Stream};
use polypath_core::time::Time;

use super::connection::Connection;
use super::network::RECEIVER_TIMEOUT;
use super::receiver::ReceiverSide;
use super::schedule::{Picked, StreamFaultKind, StreamSchedule};
use super::server::Server;
use super::{
    ENDING_TIME, LONGEST_GAP, SETTLING_TIME, StreamCoverage, StreamMutant, StreamViolation,
};
use crate::run::{Failure, Outcome, catch_panic};
use crate::trace::Trace;

/// Options of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamOptions {
    /// The deliberate defect.
    pub mutant: StreamMutant,
    /// Whether all events are printed.
    pub verbose: bool,
}

/// Runs the schedule of a seed until both ends have ended.
///
/// # Errors
/// The first violated invariant, or a panic.
pub fn run_stream(seed: u64, options: StreamOptions) -> Result<Outcome<StreamCoverage>, Failure> {
    catch_panic(seed, || {
        let schedule = StreamSchedule::draw(seed);
        let mut run = Run::new(seed, &schedule, options);
        match run.run() {
            Ok(()) => Ok(Outcome {
                digest: run.log.digest(),
                coverage: run.coverage,
            }),
            Err(violation) => Err(Failure::Violated {
                seed,
                at: run.now,
                violation: violation.into(),
            }),
        }
    })
}

/// An event that is due at a time.
#[derive(Clone, Debug, Hash)]
pub(super) enum Event {
    /// A fault of the schedule.
    Fault(usize),
    /// The receiver leaves.
    Leave,
    /// The names and the hello of a connection arrive at the server.
    Hello { failed: Vec<u32>, hello: Hello },
    /// A message arrives at the server.
    ToServer(u32, ReceiverMessage),
    /// A message arrives at the receiver.
    ToReceiver(u32, SenderMessage<u64>),
    /// A socket of the server accepted a packet.
    Written(u32),
    /// The receiver's acknowledgement of a packet arrives.
    Acknowledged(u32),
    /// A connection ends for the receiver.
    EndAtReceiver(u32, Notice<ConnectionEnd>),
    /// A connection ends for the server, in order or not.
    EndAtServer(u32, Notice<bool>),
    /// The source has its next packet.
    Source,
    /// The time for the last messages is over.
    Over,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// The way in which an end learns that a connection has ended.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) enum Notice<E> {
    /// By a segment, which arrives unless the connection carries nothing any more.
    Carried(E),
    /// By itself.
    Local(E),
}

impl<E> Notice<E> {
    fn unless(self, is_silent: bool) -> Option<E> {
        match self {
            Self::Carried(end) => (!is_silent).then_some(end),
            Self::Local(end) => Some(end),
        }
    }
}

pub(super) struct Run<'a> {
    pub(super) schedule: &'a StreamSchedule,
    pub(super) options: StreamOptions,
    pub(super) now: Time,
    events: BTreeMap<(Time, u64), Event>,
    /// The number of events so far, which orders those of one time.
    sequence: u64,
    pub(super) connections: BTreeMap<u32, Connection>,
    pub(super) receiver: ReceiverSide,
    pub(super) server: Server,
    /// The time until which the link carries what was sent before.
    pub(super) link_until: Time,
    /// Draws what the schedule leaves open.
    pub(super) stream: Stream,
    pub(super) coverage: StreamCoverage,
    pub(super) log: Trace,
}

impl<'a> Run<'a> {
    fn new(seed: u64, schedule: &'a StreamSchedule, options: StreamOptions) -> Self {
        Self {
            schedule,
            options,
            now: Time::ZERO,
            events: BTreeMap::new(),
            sequence: 0,
            connections: BTreeMap::new(),
            receiver: ReceiverSide::new(schedule),
            server: Server::default(),
            link_until: Time::ZERO,
            stream: Seed(seed).stream("stream run"),
            coverage: StreamCoverage {
                schedules: 1,
                ..StreamCoverage::default()
            },
            log: Trace::new(options.verbose),
        }
    }

    fn run(&mut self) -> Result<(), StreamViolation> {
        for (index, fault) in self.schedule.faults.iter().enumerate() {
            self.at(fault.at, Event::Fault(index));
        }
        if let Some(at) = self.schedule.leaves {
            self.at(at, Event::Leave);
        }
        self.start_receiver()?;
        while !self.is_over() {
            let (at, wake) = self.next_wake();
            self.check_progress(at)?;
            self.now = at;
            match wake {
                Next::Event => {
                    if let Some((_, event)) = self.events.pop_first() {
                        self.handle(event)?;
                    }
                }
                Next::Receiver(due) => self.wake_receiver(due)?,
                Next::Server(due) => self.wake_server(due)?,
                Next::Nothing => {}
            }
            self.connections
                .retain(|_, connection| !connection.is_over());
        }
        self.coverage.delivered += self.receiver.delivered;
        Ok(())
    }

    /// Whether both ends have ended.
    fn is_over(&self) -> bool {
        self.receiver.ended.is_some() && self.server.stream.is_none() && self.events.is_empty()
    }

    /// The earliest event or deadline; events come first, and then the receiver.
    fn next_wake(&self) -> (Time, Next) {
        let event = self.events.keys().next().map(|(at, _)| *at);
        let mut next = (event.unwrap_or(Time::MAX), Next::Event);
        if self.receiver.ended.is_none()
            && let Some(due) = self.receiver.reception.deadline()
        {
            let stalled = self.schedule.stalled_until(due.at.max(self.now));
            let at = due.at.max(self.now).max(stalled.unwrap_or(Time::ZERO));
            if at < next.0 {
                next = (at, Next::Receiver(due));
            }
        }
        if let Some(due) = self.server.stream.as_ref().and_then(Machine::deadline)
            && due.at.max(self.now) < next.0
        {
            next = (due.at.max(self.now), Next::Server(due));
        }
        if next.0 == Time::MAX {
            // Nothing will ever happen: the checks of progress fail.
            next = (self.now + ENDING_TIME, Next::Nothing);
        }
        next
    }

    /// Checks until `at`, the time of the next event, that the stream makes progress.
    fn check_progress(&self, at: Time) -> Result<(), StreamViolation> {
        if let Some(ended) = self.receiver.ended {
            if self.server.stream.is_some() && at.since(ended) > ENDING_TIME {
                return Err(StreamViolation::NeverEnded);
            }
            return Ok(());
        }
        let settled = self.schedule.calm_from() + SETTLING_TIME;
        let since = self.receiver.last_delivery.max(settled);
        if !self.receiver.is_ending && at > since && at.since(since) > LONGEST_GAP {
            return Err(StreamViolation::Stalled {
                delivered: self.receiver.delivered,
                for_time: at.since(self.receiver.last_delivery),
            });
        }
        Ok(())
    }

    pub(super) fn at(&mut self, at: Time, event: Event) {
        self.sequence += 1;
        self.events.insert((at.max(self.now), self.sequence), event);
    }

    fn handle(&mut self, event: Event) -> Result<(), StreamViolation> {
        if let Some(until) = self.waits_until(&event) {
            self.at(until, event);
            return Ok(());
        }
        self.log.record(self.now, &event);
        match event {
            Event::Fault(index) => self.begin_fault(index),
            Event::Leave => return self.leave(),
            Event::Hello { failed, hello } => return self.on_hello(&failed, hello),
            Event::ToServer(connection, message) => {
                return self.on_message_of_receiver(connection, message);
            }
            Event::ToReceiver(connection, message) => {
                return self.on_message_of_server(connection, message);
            }
            Event::Written(connection) => return self.on_written(connection),
            Event::Acknowledged(connection) => {
                if let Some(known) = self.connections.get_mut(&connection) {
                    known.in_flight = known.in_flight.saturating_sub(1);
                    self.pump(connection);
                }
            }
            Event::EndAtReceiver(connection, notice) => {
                let known = self.connections.get(&connection);
                let is_silent = known.is_some_and(|known| known.is_silent_to_receiver);
                if let Some(end) = notice.unless(is_silent) {
                    return self.end_at_receiver(connection, end);
                }
            }
            Event::EndAtServer(connection, notice) => {
                let known = self.connections.get(&connection);
                let is_silent = known.is_some_and(|known| known.is_silent_to_server);
                if let Some(in_order) = notice.unless(is_silent) {
                    return self.end_at_server(connection, in_order);
                }
            }
            Event::Source => return self.on_source(),
            Event::Over => self.over(),
        }
        Ok(())
    }

    /// The time until which a stalled receiver leaves an event waiting.
    fn waits_until(&self, event: &Event) -> Option<Time> {
        let is_of_receiver = matches!(
            event,
            Event::ToReceiver(..) | Event::EndAtReceiver(..) | Event::Leave | Event::Over
        );
        let stalled = self.schedule.stalled_until(self.now);
        stalled.filter(|_| is_of_receiver)
    }

    fn begin_fault(&mut self, index: usize) {
        let kind = self.schedule.faults[index].kind;
        self.coverage.count_fault(&kind);
        match kind {
            StreamFaultKind::Reset(picked) => {
                for connection in self.picked(picked) {
                    self.reset(connection);
                }
            }
            StreamFaultKind::Silence {
                picked,
                to_server,
                to_receiver,
            } => {
                for connection in self.picked(picked) {
                    self.silence(connection, to_server, to_receiver);
                }
            }
            StreamFaultKind::Cut(picked) => {
                for connection in self.picked(picked) {
                    self.cut(connection);
                }
            }
            StreamFaultKind::Outage(lasts) => {
                if lasts > RECEIVER_TIMEOUT {
                    for connection in self.picked(Picked::All) {
                        self.silence(connection, true, true);
                    }
                }
            }
            StreamFaultKind::Restart(_) => self.stop_server(),
            StreamFaultKind::Stall(_) | StreamFaultKind::SlowOpenings(_) => {}
        }
    }

    fn picked(&self, picked: Picked) -> Vec<u32> {
        let there = |(number, known): (&u32, &Connection)| known.at_receiver.then_some(*number);
        let there = self.connections.iter().filter_map(there);
        match picked {
            Picked::All => there.collect(),
            Picked::One(position) => {
                let there: Vec<u32> = there.collect();
                let count = there.len().max(1) as u64;
                let at = usize::try_from(position % count).unwrap_or(0);
                there.get(at).copied().into_iter().collect()
            }
        }
    }
}

/// The part that is woken next.
enum Next {
    Event,
    Receiver(Deadline),
    Server(Deadline),
    Nothing,
}
