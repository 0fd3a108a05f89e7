//! The model alone, over a path of 1000 segments per second and 50 ms.

use super::*;

const RTT: Duration = Duration::from_millis(50);
const RATE: f64 = 1000.0;

/// A model that gets one ACK each round trip, of all that was in flight.
struct Path {
    bbr: Bbr,
    now: Time,
    cwnd: f64,
    delivered: u64,
    prior: u64,
    /// The segments in the queue.
    queue: u32,
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` truncates, which is what is wanted of a small positive number"
)]
fn whole(number: f64) -> u32 {
    number as u32
}

impl Path {
    fn new() -> Self {
        Self {
            bbr: Bbr::default(),
            now: Time::ZERO,
            cwnd: 10.0,
            delivered: 0,
            prior: 0,
            queue: 0,
        }
    }

    /// A round trip in which the path delivers what was in flight, at most at its rate.
    fn round(&mut self, rtt: Duration) {
        let most = whole(RATE * rtt.as_secs_f64());
        let paced = self
            .bbr
            .pacing_rate()
            .map_or(u32::MAX, |rate| whole(rate * rtt.as_secs_f64()));
        let in_flight = whole(self.cwnd).min(paced.saturating_add(self.queue));
        let newly = in_flight.min(most);
        self.queue = in_flight - newly;
        self.now += rtt;
        self.delivered += u64::from(newly);
        let sample = DeliverySample {
            newly,
            delivered: self.delivered,
            prior_delivered: self.prior,
            interval: rtt,
            rtt: Some(rtt),
            is_app_limited: false,
            prior_in_flight: in_flight,
            in_flight: self.queue,
            lost: 0,
        };
        self.cwnd = self.bbr.on_ack(self.now, &sample, self.cwnd);
        self.prior = self.delivered;
    }
}

#[test]
fn the_start_doubles_until_the_rate_stays_and_drains_its_queue() {
    let mut path = Path::new();
    path.round(RTT);
    assert!(path.bbr.pacing_rate().unwrap() > 2.0 * 10.0 / RTT.as_secs_f64());
    for _ in 0..20 {
        path.round(RTT);
    }
    assert_eq!(path.bbr.state, State::ProbeBw);
    // Twice the product of rate and round-trip time, and three segments (4.2.3.2).
    assert!((path.cwnd - 103.0).abs() < 1.5, "{}", path.cwnd);
}

#[test]
fn a_cycle_has_one_fast_and_one_slow_phase() {
    let mut path = Path::new();
    for _ in 0..20 {
        path.round(RTT);
    }
    let mut gains = Vec::new();
    for _ in 0..32 {
        path.round(RTT + Duration(1));
        gains.push(path.bbr.pacing_rate().unwrap() / RATE);
    }
    let count = |from: f64, to: f64| {
        gains
            .iter()
            .filter(|gain| (from..to).contains(gain))
            .count()
    };
    assert!((2..=5).contains(&count(1.2, 1.3)), "{gains:?}");
    assert!((2..=5).contains(&count(0.7, 0.8)), "{gains:?}");
    assert!(count(0.95, 1.05) >= 20, "{gains:?}");
}

#[test]
fn the_window_is_four_segments_once_in_ten_seconds_without_a_shorter_round_trip() {
    let mut path = Path::new();
    path.round(RTT);
    let mut least = Vec::new();
    while path.now < Time::ZERO + Duration::from_secs(35) {
        // Each round trip is a little longer: none refreshes the minimum.
        path.round(RTT + Duration::from_millis(5) + Duration(path.delivered));
        if path.cwnd < 5.0 {
            least.push(path.now.as_secs_f64());
        }
    }
    let visits = least
        .windows(2)
        .filter(|pair| pair[1] - pair[0] > 1.0)
        .count()
        + 1;
    assert_eq!(visits, 3, "{least:?}");
    assert!(
        (path.cwnd - 113.0).abs() < 3.0,
        "the window returns: {}",
        path.cwnd
    );
}

#[test]
fn a_recovery_conserves_packets_for_a_round_trip_and_gives_the_window_back() {
    let mut path = Path::new();
    for _ in 0..20 {
        path.round(RTT);
    }
    let before = path.cwnd;
    path.cwnd = path.bbr.enter_recovery(40, path.cwnd);
    assert!((path.cwnd - 41.0).abs() < 1e-9);
    assert!((path.bbr.leave_recovery(path.cwnd) - before).abs() < 1e-9);
    let threshold = path.bbr.restart(before);
    assert!((threshold - MIN_SSTHRESH).abs() < 1e-9, "no slow start");
    assert!((path.bbr.leave_recovery(1.0) - before).abs() < 1e-9);
}
