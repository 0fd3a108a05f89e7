//! Properties of every connection under arbitrary losses.

use polypath_core::machine::Machine;
use polypath_core::packet::Ecn;
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_sim::tcp::{
    Overhead, RangeSet, Receiver, Rto, Segment, Sender, TcpConfig, TcpEvent, TcpOutput, Variant,
};
use proptest::prelude::*;

const VARIANTS: [Variant; 6] = [
    Variant::Tahoe,
    Variant::Reno,
    Variant::NewReno,
    Variant::Sack,
    Variant::Cubic,
    Variant::Bbr,
];

/// The fate of a segment or an ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Arrives,
    Lost,
    Marked,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![6 => Just(Fate::Arrives), 3 => Just(Fate::Lost), 1 => Just(Fate::Marked)]
}

/// A connection with a one-way delay of 20 ms, and what its sender may send and has sent.
struct Connection {
    sender: Sender,
    receiver: Receiver,
    now: Time,
    data: Vec<Segment>,
    acks: Vec<Segment>,
    /// One past the last segment that may be sent, and one past the highest that was.
    edge: u32,
    highest: u32,
    /// The right edge of the window in the last ACK.
    last_edge: u32,
    sacked: RangeSet,
}

impl Connection {
    fn new(config: TcpConfig, total: u32, overhead: bool) -> Self {
        let mut sender = Sender::new(1, total, config, Rto::new(config.rto));
        if overhead {
            let stream = Seed(1).stream("overhead");
            sender = sender.with_overhead(Overhead::new(Duration::from_millis(3), stream));
        }
        sender.observe(true);
        Self {
            sender,
            receiver: Receiver::new(&config),
            now: Time::ZERO,
            data: Vec::new(),
            acks: Vec::new(),
            edge: config.receiver_window,
            highest: 0,
            last_edge: 0,
            sacked: RangeSet::default(),
        }
    }

    fn start(&mut self) {
        let mut outputs = Vec::new();
        self.sender.start(self.now, &mut |o| outputs.push(o));
        self.check(outputs);
    }

    /// Delivers everything in flight, or wakes the machine that is due.
    fn step(&mut self, fates: &mut impl Iterator<Item = Fate>) {
        let due = [self.sender.deadline(), self.receiver.deadline()];
        if self.data.is_empty() && self.acks.is_empty() {
            let due = due.into_iter().flatten().map(|d| d.at).min();
            self.now = due.expect("an unfinished connection has a timer");
        } else {
            self.now += Duration::from_millis(20);
        }
        let now = self.now;
        let (data, acks) = (
            std::mem::take(&mut self.data),
            std::mem::take(&mut self.acks),
        );
        for ack in acks {
            if fates.next() != Some(Fate::Lost) {
                self.deliver_ack(ack);
            }
        }
        let mut acks = Vec::new();
        for mut data in data {
            match fates.next() {
                Some(Fate::Lost) => continue,
                Some(Fate::Marked) if data.ecn == Ecn::Ect0 => data.ecn = Ecn::Ce,
                _ => {}
            }
            let out = &mut |ack| acks.push(ack);
            self.receiver.handle_input(now, data, out);
        }
        if due[0].is_some_and(|d| d.at <= now) {
            let mut outputs = Vec::new();
            self.sender.handle_timeout(now, &mut |o| outputs.push(o));
            let deadline = self.sender.deadline();
            assert!(deadline.is_none_or(|d| d.at > now), "{deadline:?}");
            self.check(outputs);
        }
        if due[1].is_some_and(|d| d.at <= now) {
            let out = &mut |ack| acks.push(ack);
            self.receiver.handle_timeout(now, out);
        }
        for ack in acks {
            let edge = ack.number + ack.window;
            assert!(
                edge >= self.last_edge,
                "{edge} takes back {}",
                self.last_edge
            );
            self.last_edge = edge;
            self.acks.push(ack);
        }
    }

    fn deliver_ack(&mut self, ack: Segment) {
        self.edge = self.edge.max(ack.number + ack.window);
        for block in ack.sack.iter(ack.number) {
            self.sacked.insert(block);
        }
        let mut outputs = Vec::new();
        self.sender
            .handle_input(self.now, ack, &mut |o| outputs.push(o));
        self.check(outputs);
    }

    /// Checks the outputs of the sender, and sends its segments.
    fn check(&mut self, outputs: Vec<TcpOutput>) {
        for output in outputs {
            match output {
                TcpOutput::Segment(segment) => {
                    let number = segment.number;
                    assert!(number < self.edge, "{number} is beyond the receiver window");
                    assert!(
                        self.sacked.find(number).is_none(),
                        "{number} was selectively acknowledged, and is sent again"
                    );
                    let again = number < self.highest;
                    assert!(!again || segment.ecn == Ecn::NotEct);
                    self.highest = self.highest.max(number + 1);
                    self.data.push(segment);
                }
                TcpOutput::Event {
                    event: TcpEvent::Window { cwnd, ssthresh },
                    ..
                } => {
                    assert!(cwnd >= 1.0 && ssthresh >= 2.0, "{cwnd}, {ssthresh}");
                }
                TcpOutput::Event { .. } => {}
            }
        }
        assert!(self.sender.congestion_window() >= 1.0);
    }
}

fn config() -> impl Strategy<Value = TcpConfig> {
    let variant = (0..VARIANTS.len()).prop_map(|n| VARIANTS[n]);
    let flags = any::<[bool; 4]>();
    (variant, 2_u32..40, 1_u32..11, flags).prop_map(|(variant, window, initial, flags)| {
        let [limited_transmit, syn, ecn, delayed] = flags;
        TcpConfig {
            variant,
            receiver_window: window,
            initial_window: initial,
            limited_transmit,
            syn,
            ecn,
            delayed_ack: delayed.then_some(Duration::from_millis(100)),
            ..TcpConfig::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A third of everything is lost, in any pattern, while the receiver changes its window.
    #[test]
    fn everything_arrives_and_no_rule_is_broken(
        config in config(),
        total in 1_u32..120,
        overhead: bool,
        fates in proptest::collection::vec(fate(), 97),
        windows in proptest::collection::vec(1_u32..60, 7),
    ) {
        prop_assume!(fates.iter().filter(|f| **f == Fate::Lost).count() < 60);
        let mut connection = Connection::new(config, total, overhead);
        let mut fates = fates.into_iter().cycle();
        let mut windows = windows.into_iter().cycle();
        connection.start();
        let mut steps = 0;
        while !connection.sender.is_finished() {
            connection.step(&mut fates);
            connection.receiver.set_window(windows.next().unwrap());
            steps += 1;
            prop_assert!(steps < 100_000, "{:?}", connection.sender.stats());
        }
        prop_assert_eq!(connection.receiver.in_order(), total);
        prop_assert_eq!(connection.sender.deadline().filter(|d| d.why != "send overhead"), None);
    }
}
