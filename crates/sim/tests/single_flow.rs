//! One Reno flow over one bottleneck, against ns-2 2.35.
//!
//! 10 Mbit/s, 20 ms one way, segments of 1000 B, ACKs of 40 B, an endless file, receiver window 10 000,
//! 100 s, queue limits of 20, 50 and 100 packets. The reference figures are those of the same runs with
//! `Agent/TCP/Reno`, all other parameters at their defaults.

use polypath_core::machine::Machine;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;
use polypath_link::{Link, LinkConfig, Output, QueueLimit};
use polypath_sim::calendar::Calendar;
use polypath_sim::tcp::{Receiver, Rto, Segment, SegmentKind, Sender, TcpConfig, TcpOutput};

struct Reference {
    queue: u32,
    goodput_mbits: f64,
    retransmitted: u64,
    timeouts: u64,
    drops: u64,
}

const NS2: [Reference; 3] = [
    Reference {
        queue: 20,
        goodput_mbits: 9.1226,
        retransmitted: 154,
        timeouts: 2,
        drops: 92,
    },
    Reference {
        queue: 50,
        goodput_mbits: 9.9159,
        retransmitted: 231,
        timeouts: 1,
        drops: 131,
    },
    Reference {
        queue: 100,
        goodput_mbits: 9.9087,
        retransmitted: 315,
        timeouts: 1,
        drops: 165,
    },
];

const END: Time = Time(100_000_000_000);

#[derive(Clone, Copy)]
enum Event {
    AtReceiver(Segment),
    AtSender(Segment),
    Timer,
}

/// A sender and a receiver, a link from one to the other and one back.
struct Flow {
    sender: Sender,
    receiver: Receiver,
    there: Link<Segment>,
    back: Link<Segment>,
    calendar: Calendar<Event>,
}

impl Flow {
    fn new(queue: u32) -> Self {
        let tcp = TcpConfig {
            receiver_window: 10_000,
            ..TcpConfig::default()
        };
        let limit = QueueLimit::Packets(queue);
        let link = LinkConfig::new(Rate::from_mbits(10), Duration::from_millis(20), limit);
        Self {
            sender: Sender::new(1, u32::MAX, tcp, Rto::new(tcp.rto)),
            receiver: Receiver::new(&tcp),
            there: Link::new(&link, Seed(1), "there").unwrap(),
            back: Link::new(&link, Seed(1), "back").unwrap(),
            calendar: Calendar::default(),
        }
    }

    fn send(&mut self, now: Time, segments: &mut Vec<Segment>) {
        for segment in segments.drain(..) {
            let (link, event): (_, fn(Segment) -> Event) = match segment.kind {
                SegmentKind::Data => (&mut self.there, Event::AtReceiver),
                _ => (&mut self.back, Event::AtSender),
            };
            let calendar = &mut self.calendar;
            link.handle_input(now, segment, &mut |output| {
                if let Output::Deliver { at, packet } = output {
                    calendar.schedule(at, event(packet));
                }
            });
        }
    }

    fn run(mut self) -> Self {
        let mut sent = Vec::new();
        self.sender
            .start(Time::ZERO, &mut |o| sent.extend(o.segment()));
        self.send(Time::ZERO, &mut sent);
        let mut armed = None;
        loop {
            if let Some(deadline) = self.sender.deadline()
                && armed.is_none_or(|at| deadline.at < at)
            {
                armed = Some(deadline.at);
                self.calendar.schedule(deadline.at, Event::Timer);
            }
            let Some(entry) = self.calendar.pop_until(END) else {
                return self;
            };
            match entry.item {
                Event::AtReceiver(data) => {
                    let out = &mut |ack| sent.push(ack);
                    self.receiver.handle_input(entry.at, data, out);
                }
                Event::AtSender(ack) => {
                    let out = &mut |o: TcpOutput| sent.extend(o.segment());
                    self.sender.handle_input(entry.at, ack, out);
                }
                Event::Timer => {
                    armed = None;
                    let out = &mut |o: TcpOutput| sent.extend(o.segment());
                    self.sender.handle_timeout(entry.at, out);
                }
            }
            self.send(entry.at, &mut sent);
        }
    }
}

fn within(what: &str, queue: u32, value: f64, reference: f64, share: f64) {
    let ratio = value / reference;
    assert!(
        (ratio - 1.0).abs() <= share,
        "L = {queue}: {what} {value}, ns-2 {reference}"
    );
}

#[test]
fn agrees_with_ns2() {
    for reference in NS2 {
        let queue = reference.queue;
        let flow = Flow::new(queue).run();
        let stats = flow.sender.stats();
        let goodput = f64::from(flow.sender.acknowledged()) * 8000.0 / END.as_secs_f64() / 1e6;
        let drops = flow.there.counters().drops.queue_full;
        println!("L {queue}: {goodput:.4} Mbit/s, {drops} drops, {stats:?}");
        within("goodput", queue, goodput, reference.goodput_mbits, 0.03);
        within("drops", queue, drops as f64, reference.drops as f64, 0.10);
        let again = stats.retransmitted as f64;
        within(
            "retransmissions",
            queue,
            again,
            reference.retransmitted as f64,
            0.10,
        );
        assert!(
            stats.timeouts.abs_diff(reference.timeouts) <= 1,
            "L = {queue}: {stats:?}"
        );
    }
}
