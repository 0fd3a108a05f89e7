//! A sender and a receiver with a network between them that a test scripts.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::message::{Feedback, SpacedHeader};
use super::receiver::{ReceiverOutput, SpacedReceiver};
use super::sender::{SenderInput, SenderOutput, SpacedSender};
use crate::machine::{Deadline, Wake, step};
use crate::time::{Duration, Time};

/// What the network does with a packet or feedback: the delay of each copy that arrives.
pub(super) type Delays = Vec<Duration>;

type There<'a> = dyn FnMut(State, &SpacedHeader) -> Delays + 'a;
type Back<'a> = dyn FnMut(State) -> Delays + 'a;

/// What the network looks at besides the packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) now: Time,
    pub(super) spacing: Duration,
}

#[derive(Clone, Copy)]
enum Item {
    Packet(SpacedHeader),
    Feedback(Feedback),
    Ping(Time),
    Pong(Time),
}

/// The two ends, and what is under way between them.
pub(super) struct Loopback<'a> {
    pub(super) sender: SpacedSender,
    pub(super) receiver: SpacedReceiver,
    pub(super) said: Vec<(Time, SenderOutput)>,
    /// Delays of a packet on the way there.
    there: Box<There<'a>>,
    /// Delays of a feedback, ping or pong.
    back: Box<Back<'a>>,
    /// By time, then in the order of sending.
    under_way: BTreeMap<(Time, u64), Item>,
    sent: u64,
}

impl<'a> Loopback<'a> {
    pub(super) fn new(
        sender: SpacedSender,
        receiver: SpacedReceiver,
        there: impl FnMut(State, &SpacedHeader) -> Delays + 'a,
        back: impl FnMut(State) -> Delays + 'a,
    ) -> Self {
        let (there, back) = (Box::new(there), Box::new(back));
        Self {
            sender,
            receiver,
            said: Vec::new(),
            there,
            back,
            under_way: BTreeMap::new(),
            sent: 0,
        }
    }

    /// Runs until `end`; arrivals come before timers of the same instant.
    pub(super) fn run(&mut self, end: Time) {
        self.wake_sender(Time::ZERO, Wake::Input(SenderInput::Writable));
        loop {
            let arrival = self.under_way.keys().next().map(|&(at, _)| at);
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
                if let Some((_, item)) = self.under_way.pop_first() {
                    self.arrive(now, item);
                }
            } else if timers[1] == Some(now) {
                self.wake_receiver(now, Wake::Timeout);
            } else {
                self.wake_sender(now, Wake::Timeout);
            }
        }
    }

    fn arrive(&mut self, now: Time, item: Item) {
        match item {
            Item::Packet(header) => self.wake_receiver(now, Wake::Input(header)),
            Item::Feedback(f) => self.wake_sender(now, Wake::Input(SenderInput::Feedback(f))),
            Item::Ping(sent) => self.send_back(now, Item::Pong(sent)),
            Item::Pong(sent) => self.wake_sender(now, Wake::Input(SenderInput::Pong(sent))),
        }
    }

    fn wake_sender(&mut self, now: Time, wake: Wake<SenderInput>) {
        let timeout = wake == Wake::Timeout;
        let mut said = Vec::new();
        let deadline = step(&mut self.sender, now, wake, &mut |output| said.push(output));
        check(timeout, now, deadline);
        for output in said {
            self.said.push((now, output));
            match output {
                SenderOutput::Ping(sent) => self.send_back(now, Item::Ping(sent)),
                SenderOutput::Transmit(header) => {
                    let state = self.state(now);
                    let delays = (self.there)(state, &header);
                    self.put(now, delays, Item::Packet(header));
                    self.wake_sender(now, Wake::Input(SenderInput::Writable));
                }
                SenderOutput::FeedbackApplied { .. } | SenderOutput::FeedbackIgnored(_) => {}
            }
        }
    }

    fn wake_receiver(&mut self, now: Time, wake: Wake<SpacedHeader>) {
        let timeout = wake == Wake::Timeout;
        let mut said = Vec::new();
        let deadline = step(&mut self.receiver, now, wake, &mut |output| {
            said.push(output);
        });
        check(timeout, now, deadline);
        for output in said {
            if let ReceiverOutput::Feedback(feedback) = output {
                self.send_back(now, Item::Feedback(feedback));
            }
        }
    }

    fn send_back(&mut self, now: Time, item: Item) {
        let state = self.state(now);
        let delays = (self.back)(state);
        self.put(now, delays, item);
    }

    fn put(&mut self, now: Time, delays: Delays, item: Item) {
        for delay in delays {
            self.sent += 1;
            self.under_way.insert((now + delay, self.sent), item);
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

/// What drivers rely on.
fn check(timeout: bool, now: Time, deadline: Option<Deadline>) {
    let later = deadline.is_none_or(|d| d.at > now);
    assert!(!timeout || later, "{deadline:?} at {now}");
}
