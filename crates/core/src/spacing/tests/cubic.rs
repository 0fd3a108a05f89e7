//! The controller that takes CUBIC's share.

use alloc::collections::VecDeque;

use super::*;
use crate::rng::{Seed, Stream};

/// A round of feedback: the packets of one round-trip time, `lost` of 100 lost.
struct Rounds {
    control: CubicRate,
    now: Time,
    end: u64,
}

impl Rounds {
    fn new(config: CubicConfig) -> Self {
        Self {
            control: CubicRate::new(config),
            now: Time::ZERO,
            end: 0,
        }
    }

    /// Applies a report after `rtt`, which the newest packet took; the packets in flight have not
    /// been reported.
    fn report(&mut self, rtt: Duration, lost: u64) -> SpacingChange {
        self.limited_report(rtt, lost, false)
    }

    fn limited_report(&mut self, rtt: Duration, lost: u64, limited: bool) -> SpacingChange {
        self.now += rtt;
        self.end += 100;
        let report = FeedbackReport {
            reading: PacketCounts {
                sent: 100,
                received: 100 - lost,
            },
            end: self.end,
            newest_lost: (lost > 0).then_some(self.end - 1),
            next_sequence: self.end + 100,
            rtt,
            sample: Some(rtt),
            is_application_limited: limited,
        };
        self.control.handle_feedback(self.now, &report)
    }

    fn rate(&self) -> f64 {
        1.0 / self.control.spacing(self.now).as_secs_f64()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` truncates, which is what is wanted of a small positive number"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

const BASE: Duration = Duration::from_millis(40);

#[test]
fn doubles_once_packets_of_the_last_rate_have_arrived_until_a_loss() {
    let mut rounds = Rounds::new(CubicConfig::default());
    let rates: Vec<u64> = (0..6)
        .map(|_| {
            rounds.report(BASE, 0);
            whole(rounds.rate() + 0.5)
        })
        .collect();
    // The first report covers packets of the first rate; each doubling is seen two reports later.
    assert_eq!(rates, [200, 200, 400, 400, 800, 800]);
    assert_eq!(rounds.report(BASE, 1), SpacingChange::Raised);
    assert!((rounds.rate() - 560.0).abs() < 1.0, "{}", rounds.rate());
    assert_eq!(
        rounds.report(BASE, 1),
        SpacingChange::Held,
        "of the same round-trip time"
    );
    rounds.report(BASE, 0);
    assert_eq!(rounds.report(BASE, 60), SpacingChange::Raised);
    assert!(
        rounds.rate() < 300.0,
        "half is left if more is lost: {}",
        rounds.rate()
    );
}

/// The slope of Reno with the factor .7 is .529 packets in a round-trip time, per such a time (RFC
/// 9438, 4.3), here of the reference, whatever the path's own.
#[test]
fn the_growth_does_not_depend_on_the_round_trip_time_of_the_path() {
    for rtt in [20, 80] {
        let mut rounds = Rounds::new(CubicConfig::default());
        rounds.report(MS * rtt, 0);
        rounds.report(MS * rtt, 1);
        let before = (rounds.now, rounds.rate());
        while rounds.now < before.0 + MS * 160 {
            rounds.report(MS * rtt, 0);
        }
        let gained = rounds.rate() - before.1;
        let counted = rounds.now.since(before.0).as_secs_f64();
        let expected = 0.529 * counted / (0.04 * 0.04);
        assert!(
            (gained - expected).abs() < 2.0,
            "{rtt} ms: {gained}, expected {expected}"
        );
    }
}

#[test]
fn a_rate_that_the_application_does_not_use_stays() {
    let mut rounds = Rounds::new(CubicConfig::default());
    rounds.report(BASE, 0);
    rounds.report(BASE, 1);
    rounds.report(BASE, 0);
    let before = rounds.rate();
    for _ in 0..1000 {
        rounds.limited_report(BASE, 0, true);
    }
    assert!((rounds.rate() - before).abs() < 1e-3, "{}", rounds.rate());
    for _ in 0..2 {
        rounds.report(BASE, 0);
    }
    let after = rounds.rate();
    assert!(
        after > before && after < before + 40.0,
        "no growth is made up for: {before}, {after}"
    );
}

#[test]
fn a_queue_above_the_limit_is_congestion_and_one_delayed_packet_is_not() {
    let mut rounds = Rounds::new(CubicConfig::default());
    rounds.report(BASE, 0);
    rounds.report(BASE, 1);
    for _ in 0..20 {
        rounds.report(BASE, 0);
    }
    let early = rounds.rate();
    rounds.report(BASE + MS * 60, 0);
    let before = rounds.rate();
    assert!(before >= early, "a single packet may be late");
    rounds.report(BASE + MS * 60, 0);
    let reduced = rounds.rate();
    assert!((reduced / before - 0.7).abs() < 1e-3, "{before}, {reduced}");
    rounds.report(BASE + MS * 60, 0);
    assert!(
        (rounds.rate() - reduced).abs() < 1e-3,
        "it waits for the queue to drain"
    );
    rounds.report(BASE, 0);
    rounds.report(BASE, 0);
    assert!(rounds.rate() > reduced);
}

#[test]
fn a_queue_that_others_hold_costs_a_few_seconds_and_then_losses_alone_count() {
    let mut rounds = Rounds::new(CubicConfig::default());
    rounds.report(BASE, 0);
    rounds.report(BASE, 1);
    for _ in 0..50 {
        rounds.report(BASE, 0);
    }
    let before = rounds.rate();
    let start = rounds.now;
    let mut least = before;
    while rounds.now < start + Duration::from_secs(6) {
        rounds.report(BASE + MS * 60, 0);
        least = least.min(rounds.rate());
    }
    assert!(least < before * 0.1, "it has tried: {least} of {before}");
    assert!(rounds.rate() >= before, "and given up: {}", rounds.rate());
    let change = rounds.report(BASE + MS * 60, 1);
    assert_eq!(change, SpacingChange::Raised, "losses count");
    // An empty queue makes the delay count again, after some seconds.
    while rounds.now < start + Duration::from_secs(20) {
        rounds.report(BASE, 0);
    }
    let before = rounds.rate();
    for _ in 0..3 {
        rounds.report(BASE + MS * 60, 0);
    }
    assert!(rounds.rate() < before * 0.8, "{before}, {}", rounds.rate());
}

#[test]
fn without_feedback_the_rate_halves_until_it_returns() {
    let config = SenderConfig {
        line_rate: None,
        rtt: RttSource::Smoothed,
        ..config(ControlConfig::Cubic(CubicConfig::default()))
    };
    let sender = SpacedSender::new(&config, Time::ZERO);
    let is_broken = |now: Time| (5..10).contains(&(now.0 / 1_000_000_000));
    let forward = |state: loopback::State, header: &SpacedHeader| {
        let is_lost = state.spacing < MS * 2 && header.sequence % 10 == 9;
        if is_lost { vec![] } else { vec![ONE_WAY] }
    };
    let back = |state: loopback::State| {
        if is_broken(state.now) {
            vec![]
        } else {
            vec![ONE_WAY]
        }
    };
    let mut network = Loopback::new(sender, SpacedReceiver::new(0), forward, back);
    let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
    network.run(at(4));
    let before = network.sender.spacing();
    network.run(at(10));
    let after = network.sender.spacing();
    assert!(after >= before * 8, "{before} to {after}");
    assert!(after <= RTT, "feedback goes on: {after}");
}

/// Senders through one queue, as a fluid; each gets feedback once in its own round-trip time.
struct Bottleneck {
    /// The capacity in packets per second, and the buffer in packets.
    capacity: f64,
    buffer: f64,
    queue: f64,
    senders: Vec<Fluid>,
}

struct Fluid {
    control: CubicRate,
    base: Duration,
    /// Packets sent and lost since the last feedback.
    sent: f64,
    lost: f64,
    next: Time,
    /// Reports on the way, with their arrivals and round-trip times.
    reports: VecDeque<(Time, FeedbackReport)>,
    chance: Stream,
    end: u64,
    total: f64,
}

const STEP: Duration = Duration::from_millis(2);

impl Bottleneck {
    fn run(&mut self, from: Time, until: Time) {
        let mut now = from;
        while now < until {
            self.step(now);
            now += STEP;
        }
    }

    fn step(&mut self, now: Time) {
        let dt = STEP.as_secs_f64();
        let rate = |sender: &Fluid| 1.0 / sender.control.spacing(now).as_secs_f64();
        let arriving: f64 = self.senders.iter().map(rate).sum();
        self.queue = (self.queue + (arriving - self.capacity) * dt).max(0.0);
        let dropped = (self.queue - self.buffer).max(0.0);
        self.queue -= dropped;
        for sender in &mut self.senders {
            let sent = rate(sender) * dt;
            sender.sent += sent;
            sender.lost += sent * dropped / (arriving * dt);
            sender.total += sent;
            if now >= sender.next {
                let delay = Duration::from_secs_f64(self.queue / self.capacity);
                sender.give_feedback(now, sender.base + delay);
            }
            sender.take_feedback(now);
        }
    }

    /// Jain's index of what each sent from one time to another.
    fn fairness(&mut self, from: Time, until: Time) -> f64 {
        for sender in &mut self.senders {
            sender.total = 0.0;
        }
        self.run(from, until);
        let totals = || self.senders.iter().map(|sender| sender.total);
        let sum: f64 = totals().sum();
        let squares: f64 = totals().map(|total| total * total).sum();
        sum * sum / (self.senders.len() as f64 * squares)
    }
}

impl Fluid {
    fn new(base: Duration, initial: Duration, max_queue: Duration) -> Self {
        let config = CubicConfig {
            initial,
            max_queue,
            ..CubicConfig::default()
        };
        Self {
            control: CubicRate::new(config),
            base,
            sent: 0.0,
            lost: 0.0,
            next: Time::ZERO,
            reports: VecDeque::new(),
            chance: Seed(base.0 ^ initial.0).stream("fluid"),
            end: 0,
            total: 0.0,
        }
    }

    fn take_feedback(&mut self, now: Time) {
        while self.reports.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, report)) = self.reports.pop_front() {
                self.control.handle_feedback(now, &report);
            }
        }
    }

    /// Feedback is due after about a round-trip time: without chance a fluid locks senders into phases,
    /// which packets leave.
    fn give_feedback(&mut self, now: Time, rtt: Duration) {
        let interval = rtt.as_secs_f64() * (0.8 + 0.4 * self.chance.uniform());
        self.next = now + Duration::from_secs_f64(interval);
        let sent = whole(self.sent);
        let lost = whole(self.lost);
        self.sent -= sent as f64;
        self.lost -= lost as f64;
        self.end += sent;
        let report = FeedbackReport {
            reading: PacketCounts {
                sent,
                received: sent - lost.min(sent),
            },
            end: self.end,
            newest_lost: (lost > 0).then(|| self.end.saturating_sub(1)),
            next_sequence: self.end,
            rtt,
            sample: Some(rtt),
            is_application_limited: false,
        };
        self.reports.push_back((now + self.base, report));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// From any start, on paths whose round-trip times differ by four, in shallow and deep buffers,
    /// and in shallow ones without a limit of the queue.
    #[test]
    fn rates_converge_from_any_start(
        starts in prop::collection::vec(100_u64..20_000, 2..17), capacity in 1000.0..4000.0_f64,
        (buffer, max_queue) in prop_oneof![
            (20.0..40.0_f64, Just(0_u64)), (20.0..40.0_f64, Just(30)), (100.0..1000.0_f64, Just(30)),
        ],
    ) {
        let senders = starts.iter().enumerate().map(|(i, &start)| {
            Fluid::new(MS * (20 + 20 * (i as u64 % 4)), US * start, MS * max_queue)
        });
        let mut bottleneck = Bottleneck { capacity, buffer, queue: 0.0, senders: senders.collect() };
        let seconds = |s| Time::ZERO + Duration::from_secs(s);
        // A fluid locks senders into phases, which packets leave: own.spacing.fair requires .98.
        bottleneck.run(Time::ZERO, seconds(60));
        let index = bottleneck.fairness(seconds(60), seconds(120));
        prop_assert!(index >= 0.7, "{index} of {starts:?}");
    }
}
