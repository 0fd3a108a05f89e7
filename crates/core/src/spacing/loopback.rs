//! A sender and a receiver connected by a scripted network.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::message::{Feedback, SpacedHeader};
use super::receiver::{ReceiverOutput, SpacedReceiver};
use super::sender::{SenderInput, SenderOutput, SpacedSender};
use crate::machine::{Deadline, Wake, step};
use crate::time::{Duration, Time};

/// The delay of each arriving copy of a message; empty if it is lost.
pub(super) type Delays = Vec<Duration>;

type ForwardDelays<'a> = dyn FnMut(State, &SpacedHeader) -> Delays + 'a;
type ReverseDelays<'a> = dyn FnMut(State) -> Delays + 'a;

/// The state on which delays may depend.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) now: Time,
    pub(super) spacing: Duration,
}

#[derive(Clone, Copy)]
enum Transit {
    Packet(SpacedHeader),
    Feedback(Feedback),
    Ping(Time),
    Pong(Time),
}

/// Both ends, and the messages in flight between them.
pub(super) struct Loopback<'a> {
    pub(super) sender: SpacedSender,
    pub(super) receiver: SpacedReceiver,
    pub(super) outputs: Vec<(Time, SenderOutput)>,
    /// The delays of a packet to the receiver.
    forward: Box<ForwardDelays<'a>>,
    /// The delays of a feedback, ping or pong.
    reverse: Box<ReverseDelays<'a>>,
    /// Keyed by arrival time, then by the order of sending.
    in_flight: BTreeMap<(Time, u64), Transit>,
    sent: u64,
}

impl<'a> Loopback<'a> {
    pub(super) fn new(
        sender: SpacedSender,
        receiver: SpacedReceiver,
        forward: impl FnMut(State, &SpacedHeader) -> Delays + 'a,
        reverse: impl FnMut(State) -> Delays + 'a,
    ) -> Self {
        let (forward, reverse) = (Box::new(forward), Box::new(reverse));
        Self {
            sender,
            receiver,
            outputs: Vec::new(),
            forward,
            reverse,
            in_flight: BTreeMap::new(),
            sent: 0,
        }
    }

    /// Runs until `end`; arrivals come before timers of the same instant.
    pub(super) fn run(&mut self, end: Time) {
        self.wake_sender(Time::ZERO, Wake::Input(SenderInput::Writable));
        loop {
            let arrival = self.in_flight.keys().next().map(|&(at, _)| at);
            let timers = [due(&self.sender), due(&self.receiver)];
            let Some(now) = arrival
                .into_iter()
                .chain(timers.into_iter().flatten())
                .min()
            else {
                return;
            };
            if now > end {
                return;
            }
            if arrival == Some(now) {
                if let Some((_, message)) = self.in_flight.pop_first() {
                    self.arrive(now, message);
                }
            } else if timers[1] == Some(now) {
                self.wake_receiver(now, Wake::Timeout);
            } else {
                self.wake_sender(now, Wake::Timeout);
            }
        }
    }

    fn arrive(&mut self, now: Time, message: Transit) {
        match message {
            Transit::Packet(header) => self.wake_receiver(now, Wake::Input(header)),
            Transit::Feedback(f) => self.wake_sender(now, Wake::Input(SenderInput::Feedback(f))),
            Transit::Ping(sent) => self.send_back(now, Transit::Pong(sent)),
            Transit::Pong(sent) => self.wake_sender(now, Wake::Input(SenderInput::Pong(sent))),
        }
    }

    fn wake_sender(&mut self, now: Time, wake: Wake<SenderInput>) {
        let timeout = wake == Wake::Timeout;
        let mut outputs = Vec::new();
        let deadline = step(&mut self.sender, now, wake, &mut |output| {
            outputs.push(output);
        });
        check(timeout, now, deadline);
        for output in outputs {
            self.outputs.push((now, output));
            match output {
                SenderOutput::Ping(sent) => self.send_back(now, Transit::Ping(sent)),
                SenderOutput::Transmit(header) => {
                    let state = self.state(now);
                    let delays = (self.forward)(state, &header);
                    self.put(now, delays, Transit::Packet(header));
                    self.wake_sender(now, Wake::Input(SenderInput::Writable));
                }
                SenderOutput::FeedbackApplied { .. } | SenderOutput::FeedbackIgnored(_) => {}
            }
        }
    }

    fn wake_receiver(&mut self, now: Time, wake: Wake<SpacedHeader>) {
        let timeout = wake == Wake::Timeout;
        let mut outputs = Vec::new();
        let deadline = step(&mut self.receiver, now, wake, &mut |output| {
            outputs.push(output);
        });
        check(timeout, now, deadline);
        for output in outputs {
            if let ReceiverOutput::Feedback(feedback) = output {
                self.send_back(now, Transit::Feedback(feedback));
            }
        }
    }

    fn send_back(&mut self, now: Time, message: Transit) {
        let state = self.state(now);
        let delays = (self.reverse)(state);
        self.put(now, delays, message);
    }

    fn put(&mut self, now: Time, delays: Delays, message: Transit) {
        for delay in delays {
            self.sent += 1;
            self.in_flight.insert((now + delay, self.sent), message);
        }
    }

    fn state(&self, now: Time) -> State {
        State {
            now,
            spacing: self.sender.spacing(),
        }
    }
}

fn due(machine: &impl crate::machine::Machine) -> Option<Time> {
    machine.deadline().map(|d| d.at)
}

/// Checks that the deadline after a timeout is in the future.
fn check(timeout: bool, now: Time, deadline: Option<Deadline>) {
    let later = deadline.is_none_or(|d| d.at > now);
    assert!(!timeout || later, "{deadline:?} at {now}");
}
