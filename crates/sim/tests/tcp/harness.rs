//! One flow between two nodes: sender, a link there, receiver, a link back.

use polypath_core::frame::Payload;
use polypath_core::machine::Machine;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;
use polypath_link::{Link, LinkConfig, Output, QueueLimit};
use polypath_sim::calendar::Calendar;
use polypath_sim::tcp::{
    Overhead, Receiver, Rto, Segment, SegmentKind, Sender, SenderStats, TcpConfig, TcpOutput,
    Variant,
};

/// Size of a data segment in bits, by which ns-2's goodput counts.
const SEGMENT_BITS: f64 = 8000.0;

/// An unlimited flow of 1000 B segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Experiment {
    pub(crate) variant: Variant,
    /// Every second segment is acknowledged, or one after 100 ms.
    pub(crate) delayed_ack: bool,
    pub(crate) mbits: u64,
    /// Propagation in each direction.
    pub(crate) delay: Duration,
    pub(crate) queue: u32,
    pub(crate) harm: Harm,
    /// The maximum of the random time before the sender sends a segment.
    pub(crate) overhead: Duration,
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
}

/// Impairments of data besides the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Harm {
    None,
    /// Every n-th segment is lost.
    LossEvery(u64),
    /// Every n-th segment carries a congestion mark (CE).
    MarkEvery(u64),
}

/// The result of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) goodput_mbits: f64,
    pub(crate) drops: u64,
    pub(crate) stats: SenderStats,
}

#[derive(Clone, Copy)]
enum Event {
    AtReceiver(Segment),
    AtSender(Segment),
    Sender,
    Receiver,
}

/// The valid calendar entry of a machine; an entry that an earlier one has replaced is ignored.
#[derive(Default)]
struct Alarm(Option<Time>);

impl Alarm {
    fn arm(&mut self, machine: &impl Machine, event: Event, calendar: &mut Calendar<Event>) {
        if let Some(deadline) = machine.deadline()
            && self.0.is_none_or(|at| deadline.at < at)
        {
            self.0 = Some(deadline.at);
            calendar.schedule(deadline.at, event);
        }
    }

    fn counts(&mut self, at: Time) -> bool {
        self.0.take_if(|armed| *armed == at).is_some()
    }
}

struct Flow {
    sender: Sender,
    receiver: Receiver,
    there: Link<Segment>,
    back: Link<Segment>,
    calendar: Calendar<Event>,
    harm: Harm,
    /// Data segments so far.
    data: u64,
    drops: u64,
}

impl Default for Experiment {
    /// Reno over 10 Mbit/s and 20 ms with a queue of 50 packets, for 100 s.
    fn default() -> Self {
        Self {
            variant: Variant::Reno,
            delayed_ack: false,
            mbits: 10,
            delay: Duration::from_millis(20),
            queue: 50,
            harm: Harm::None,
            overhead: Duration::ZERO,
            seconds: 100,
            seed: 1,
        }
    }
}

impl Experiment {
    pub(crate) fn run(self) -> Outcome {
        let tcp = TcpConfig {
            variant: self.variant,
            delayed_ack: self.delayed_ack.then_some(Duration::from_millis(100)),
            receiver_window: 10_000,
            ecn: matches!(self.harm, Harm::MarkEvery(_)),
            ..TcpConfig::default()
        };
        let limit = QueueLimit::Packets(self.queue);
        let rate = Rate::from_mbits(self.mbits);
        let link = LinkConfig::new(rate, self.delay, limit);
        let seed = Seed(self.seed);
        let back = Link::new(&link, seed, "back").unwrap();
        let mut sender = Sender::new(1, Sender::ENDLESS, tcp, Rto::new(tcp.rto));
        if self.overhead > Duration::ZERO {
            let stream = seed.stream("sender/overhead");
            sender = sender.with_overhead(Overhead::new(self.overhead, stream));
        }
        let flow = Flow {
            sender,
            receiver: Receiver::new(&tcp),
            there: Link::new(&link, seed, "there").unwrap(),
            back,
            calendar: Calendar::default(),
            harm: self.harm,
            data: 0,
            drops: 0,
        };
        let end = Time::ZERO + Duration::from_secs(self.seconds);
        let flow = flow.run(end);
        let acknowledged = f64::from(flow.sender.acknowledged());
        Outcome {
            goodput_mbits: acknowledged * SEGMENT_BITS / end.as_secs_f64() / 1e6,
            drops: flow.drops,
            stats: flow.sender.stats(),
        }
    }
}

impl Flow {
    fn run(mut self, end: Time) -> Self {
        let mut sent: Vec<Segment> = Vec::new();
        self.sender
            .start(Time::ZERO, &mut |o| sent.extend(o.segment()));
        self.send(Time::ZERO, &mut sent);
        let (mut sender_alarm, mut receiver_alarm) = (Alarm::default(), Alarm::default());
        loop {
            sender_alarm.arm(&self.sender, Event::Sender, &mut self.calendar);
            receiver_alarm.arm(&self.receiver, Event::Receiver, &mut self.calendar);
            let Some(entry) = self.calendar.pop_until(end) else {
                return self;
            };
            let from_sender = &mut |o: TcpOutput| sent.extend(o.segment());
            match entry.item {
                Event::AtSender(ack) => self.sender.handle_input(entry.at, ack, from_sender),
                Event::Sender => {
                    if sender_alarm.counts(entry.at) {
                        self.sender.handle_timeout(entry.at, from_sender);
                    }
                }
                Event::AtReceiver(data) => {
                    let from_receiver = &mut |ack| sent.push(ack);
                    self.receiver.handle_input(entry.at, data, from_receiver);
                }
                Event::Receiver => {
                    if receiver_alarm.counts(entry.at) {
                        let from_receiver = &mut |ack| sent.push(ack);
                        self.receiver.handle_timeout(entry.at, from_receiver);
                    }
                }
            }
            self.send(entry.at, &mut sent);
        }
    }

    fn send(&mut self, now: Time, segments: &mut Vec<Segment>) {
        for mut segment in segments.drain(..) {
            if segment.kind == SegmentKind::Data && self.is_lost(&mut segment) {
                self.drops += 1;
                continue;
            }
            let (link, event): (_, fn(Segment) -> Event) = match segment.kind {
                SegmentKind::Data => (&mut self.there, Event::AtReceiver),
                _ => (&mut self.back, Event::AtSender),
            };
            let (calendar, drops) = (&mut self.calendar, &mut self.drops);
            link.handle_input(now, segment, &mut |output| match output {
                Output::Deliver { at, packet } => calendar.schedule(at, event(packet)),
                Output::Dropped { .. } => *drops += 1,
            });
        }
    }

    /// Applies the regular impairment to a data segment; returns whether it is lost.
    fn is_lost(&mut self, segment: &mut Segment) -> bool {
        self.data += 1;
        match self.harm {
            Harm::None => false,
            Harm::LossEvery(n) => self.data.is_multiple_of(n),
            Harm::MarkEvery(n) => {
                if self.data.is_multiple_of(n) {
                    segment.mark_ce();
                }
                false
            }
        }
    }
}
