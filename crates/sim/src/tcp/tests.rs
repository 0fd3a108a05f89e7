use super::*;
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::time::Duration;
use polypath_core::time::Time;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A client and a server, 50 ms apart, and which of the segments between them are lost.
struct Pair {
    client: Client,
    server: Server,
    flying: Vec<(Time, bool, Segment)>,
    sent: Vec<(u64, SegmentKind)>,
}

impl Pair {
    fn new(segments: u32) -> Self {
        let config = TcpConfig {
            syn: false,
            ..TcpConfig::default()
        };
        Self {
            client: Client::new(config),
            server: Server::new(config, segments),
            flying: Vec::new(),
            sent: Vec::new(),
        }
    }

    fn input(&mut self, now: Time, input: ClientInput, lost: &mut impl FnMut() -> bool) {
        let mut outputs = Vec::new();
        step(&mut self.client, now, Wake::Input(input), &mut |s| {
            outputs.push(s);
        });
        self.send(now, false, outputs, lost);
    }

    fn send(
        &mut self,
        now: Time,
        to_client: bool,
        outputs: Vec<Segment>,
        lost: &mut impl FnMut() -> bool,
    ) {
        for segment in outputs {
            self.sent.push((now.0 / MS, segment.kind));
            if !lost() {
                let arrival = now + Duration::from_millis(50);
                self.flying.push((arrival, to_client, segment));
            }
        }
    }

    /// Runs until `limit` or until nothing is left to do; returns when that was.
    fn run(&mut self, limit: Time, lost: &mut impl FnMut() -> bool) -> Time {
        let mut now = Time::ZERO;
        loop {
            let client = self.client.deadline().map(|d| d.at);
            let server = self.server.deadline().map(|d| d.at);
            let arrival = self.flying.first().map(|f| f.0);
            let Some(next) = [arrival, client, server].into_iter().flatten().min() else {
                return now;
            };
            if next > limit {
                return now;
            }
            now = next;
            let mut outputs = Vec::new();
            let to_client = if arrival == Some(now) {
                let (_, to_client, segment) = self.flying.remove(0);
                if to_client {
                    let out = &mut |s| outputs.push(s);
                    step(&mut self.client, now, Wake::Input(segment.into()), out);
                } else {
                    let out = &mut |o: TcpOutput| outputs.extend(o.segment());
                    step(&mut self.server, now, Wake::Input(segment), out);
                }
                !to_client
            } else if client == Some(now) {
                let out = &mut |s| outputs.push(s);
                step(&mut self.client, now, Wake::Timeout, out);
                false
            } else {
                let out = &mut |o: TcpOutput| outputs.extend(o.segment());
                step(&mut self.server, now, Wake::Timeout, out);
                true
            };
            self.send(now, to_client, outputs, lost);
        }
    }

    fn sent(&self, kind: SegmentKind) -> Vec<u64> {
        let of_kind = self.sent.iter().filter(|s| s.1 == kind);
        of_kind.map(|s| s.0).collect()
    }
}

#[test]
fn connects_requests_and_receives() {
    let mut pair = Pair::new(5);
    let lost = &mut || false;
    pair.input(Time::ZERO, ClientInput::Open(1), lost);
    let end = pair.run(Time(60_000 * MS), lost);
    assert_eq!(pair.sent(SegmentKind::Syn), [0]);
    assert_eq!(pair.sent(SegmentKind::SynAck), [50]);
    assert_eq!(pair.sent(SegmentKind::Request), [100]);
    assert_eq!(pair.sent(SegmentKind::Data), [150, 150, 250, 250, 250]);
    assert_eq!(pair.sent(SegmentKind::Ack), [100, 200, 200, 300, 300, 300]);
    assert_eq!((pair.client.in_order(), end), (5, Time(350 * MS)));
}

#[test]
fn a_lost_syn_is_sent_again_after_three_seconds_and_then_after_six() {
    let mut pair = Pair::new(5);
    let mut left = 2;
    let lost = &mut || {
        left -= 1;
        left >= 0
    };
    pair.input(Time::ZERO, ClientInput::Open(1), lost);
    pair.run(Time(60_000 * MS), lost);
    assert_eq!(pair.sent(SegmentKind::Syn), [0, 3_000, 9_000]);
    assert_eq!(pair.client.in_order(), 5);
}

/// Loses the segments of these numbers, in the order in which they are sent.
fn losing<const N: usize>(numbers: [u32; N]) -> impl FnMut() -> bool {
    let mut sent = 0;
    move || {
        sent += 1;
        numbers.contains(&(sent - 1))
    }
}

#[test]
fn the_back_off_of_a_lost_syn_does_not_outlive_the_set_up() {
    let mut pair = Pair::new(5);
    let lost = &mut losing([0, 4]);
    pair.input(Time::ZERO, ClientInput::Open(1), lost);
    pair.run(Time(60_000 * MS), lost);
    assert_eq!(pair.sent(SegmentKind::Syn), [0, 3_000]);
    assert_eq!(pair.sent(SegmentKind::Request), [3_100, 6_100]);
    assert_eq!(pair.client.in_order(), 5);
}

#[test]
fn a_lost_syn_ack_leaves_an_initial_window_of_one_segment() {
    let mut pair = Pair::new(5);
    // The SYN that the client repeats at the same time is lost, too: a second SYN-ACK would be
    // answered by a duplicate ACK, which sends a segment of its own (RFC 3042).
    let lost = &mut losing([1, 2]);
    pair.input(Time::ZERO, ClientInput::Open(1), lost);
    pair.run(Time(60_000 * MS), lost);
    let data = pair.sent(SegmentKind::Data);
    assert_eq!(
        data.iter().filter(|at| **at == data[0]).count(),
        1,
        "{data:?}"
    );
    assert_eq!(pair.client.in_order(), 5);
}

#[test]
fn a_client_that_gives_up_silences_the_server() {
    let mut pair = Pair::new(1_000);
    let lost = &mut || false;
    pair.input(Time::ZERO, ClientInput::Open(1), lost);
    pair.run(Time(400 * MS), lost);
    assert!(pair.server.deadline().is_some());
    pair.input(Time(400 * MS), ClientInput::Close, lost);
    pair.run(Time(60_000 * MS), lost);
    assert_eq!(pair.server.deadline(), None);
    assert!(pair.client.in_order() < 1_000);
}

#[test]
fn the_next_connection_ends_the_one_before() {
    let mut pair = Pair::new(5);
    let lost = &mut || false;
    pair.input(Time::ZERO, ClientInput::Open(1), lost);
    pair.run(Time(200 * MS), lost);
    pair.input(Time(200 * MS), ClientInput::Open(2), lost);
    pair.run(Time(60_000 * MS), lost);
    assert_eq!(pair.client.in_order(), 5);
    assert_eq!(
        (pair.client.deadline(), pair.server.deadline()),
        (None, None)
    );
}

proptest! {
    #[test]
    fn completes_whatever_a_third_of_the_losses_are(
        segments in 1_u32..40,
        losses in proptest::collection::vec(proptest::bool::weighted(0.3), 97),
    ) {
        prop_assume!(losses.iter().filter(|l| **l).count() < 60);
        let mut pair = Pair::new(segments);
        let mut verdicts = losses.into_iter().cycle();
        let lost = &mut || verdicts.next() == Some(true);
        pair.input(Time::ZERO, ClientInput::Open(1), lost);
        pair.run(Time(4 * 3_600_000 * MS), lost);
        prop_assert_eq!(pair.client.in_order(), segments);
        prop_assert_eq!(pair.server.deadline(), None, "the last ACK arrives at last");
    }
}
