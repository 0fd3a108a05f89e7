//! BBR version 1 (Cardwell et al. 2017, draft-cardwell-iccrg-bbr-congestion-control-00), as in Linux.
//!
//! A model of the path sets the pacing rate and the window: the maximum delivery rate of ten round
//! trips, and the minimum round-trip time of ten seconds. Losses and marks change neither. Section
//! numbers are those of the draft. Rates are in segments per second, windows in segments.

mod filter;

use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};

use super::{CongestionControl, MIN_SSTHRESH, Reduced};
use filter::MaxFilter;

/// The gain that doubles the rate in each round trip: 2 / ln 2 (4.3.2.1).
const HIGH_GAIN: f64 = 2.885;
/// The pacing gains of a cycle, a phase each round trip (4.3.4.1).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The gain of the window, so that delayed ACKs do not stop the sender (4.2.3.2).
const CWND_GAIN: f64 = 2.0;
/// The segments beyond the gain's that keep the hosts' offloads busy (4.2.3.2).
const QUANTA: f64 = 3.0;
/// The minimum window (4.2.3.2).
const MIN_CWND: f64 = 4.0;
/// The time for which a minimum round-trip time is valid, and that for which a sender stays at the
/// minimum window to measure it again (4.1.2, 4.3.5).
const RTPROP_VALIDITY: Duration = Duration::from_secs(10);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// The growth of the rate in three round trips without which the path is full (4.3.2.2).
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

/// A measurement of the path by an ACK (draft-cheng-iccrg-delivery-rate-estimation-00).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeliverySample {
    /// The segments that it shows as delivered, for the first time.
    pub newly: u32,
    /// All that were delivered.
    pub delivered: u64,
    /// All that had been, when the latest sent of the new ones was sent.
    pub prior_delivered: u64,
    /// The time in which those between were delivered.
    pub interval: Duration,
    /// The round-trip time of the latest sent of them; `None` if it was sent twice.
    pub rtt: Option<Duration>,
    /// Whether the application limited the rate in that time.
    pub is_app_limited: bool,
    /// The segments in flight before the ACK, and after it.
    pub prior_in_flight: u32,
    /// Those after it.
    pub in_flight: u32,
    /// The segments that it shows as lost.
    pub lost: u32,
}

/// The states (4.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Startup,
    Drain,
    ProbeBw,
    /// Until this time, and for a round trip; from the time on at which the window is empty.
    ProbeRtt {
        until: Option<Time>,
        has_round: bool,
    },
}

/// Whether the path is full (4.3.2.2).
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    /// The rate with which the growth is compared, and the rounds since.
    rate: f64,
    rounds: u32,
    is_full: bool,
}

/// The model of a connection.
#[derive(Clone, Debug, Default)]
pub struct Bbr {
    state: State,
    rates: MaxFilter,
    round: u64,
    /// The number of delivered segments with which the round ends.
    round_end: u64,
    starts_round: bool,
    rtprop: Option<Duration>,
    rtprop_at: Time,
    full: FullPipe,
    phase: usize,
    phase_began: Time,
    pacing_rate: Option<f64>,
    /// The window before a recovery, a timeout, or a measurement of the round-trip time.
    saved_cwnd: f64,
    /// The number of delivered segments until which a recovery conserves packets.
    conserves_until: Option<u64>,
    in_recovery: bool,
    delivered: u64,
    /// Whether the application has paused, so that an old round-trip time is not measured again.
    restarts: bool,
}

impl Bbr {
    /// The pacing rate in segments per second; `None` before the first measurement.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    /// Processes an ACK; returns the new window (4.2.1).
    pub fn on_ack(&mut self, now: Time, sample: &DeliverySample, cwnd: f64) -> f64 {
        self.delivered = sample.delivered;
        self.update_round(sample);
        self.update_rate(sample);
        self.check_cycle(now, sample);
        self.check_full(sample);
        self.check_drain(now, f64::from(sample.in_flight));
        let cwnd = self.update_rtprop(now, sample, cwnd);
        self.restarts &= sample.newly == 0;
        self.set_pacing_rate();
        self.next_cwnd(sample, cwnd)
    }

    fn update_round(&mut self, sample: &DeliverySample) {
        self.starts_round = sample.newly > 0 && sample.prior_delivered >= self.round_end;
        if self.starts_round {
            self.round_end = sample.delivered;
            self.round += 1;
        }
    }

    fn update_rate(&mut self, sample: &DeliverySample) {
        // An interval below the minimum round-trip time is a compressed ACK.
        let is_valid = sample.interval > Duration::ZERO
            && self.rtprop.is_none_or(|rtprop| sample.interval >= rtprop);
        if sample.newly == 0 || !is_valid {
            return;
        }
        let count = sample.delivered - sample.prior_delivered;
        let rate = count as f64 / sample.interval.as_secs_f64();
        if !sample.is_app_limited || rate >= self.rates.value() {
            self.rates.add(self.round, rate);
        }
    }

    fn bdp(&self) -> Option<f64> {
        Some(self.rates.value() * self.rtprop?.as_secs_f64())
    }

    /// The segments in flight at a gain (4.2.3.2); `None` before a measurement.
    fn in_flight_at(&self, gain: f64) -> Option<f64> {
        Some((gain * self.bdp()?).ceil() + QUANTA)
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::ProbeBw => CYCLE[self.phase],
            State::ProbeRtt { .. } => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeBw => CWND_GAIN,
            State::ProbeRtt { .. } => 1.0,
        }
    }

    /// Goes to the next phase of the cycle when it is time (4.3.4.3).
    fn check_cycle(&mut self, now: Time, sample: &DeliverySample) {
        if self.state != State::ProbeBw {
            return;
        }
        let gain = CYCLE[self.phase];
        let lasted = now.since(self.phase_began);
        let is_over = self.rtprop.is_none_or(|rtprop| lasted > rtprop);
        let in_flight = f64::from(sample.prior_in_flight);
        let target = |gain| self.in_flight_at(gain).unwrap_or(0.0);
        let is_next = if gain > 1.0 {
            is_over && (sample.lost > 0 || in_flight >= target(gain))
        } else if gain < 1.0 {
            is_over || in_flight <= target(1.0)
        } else {
            is_over
        };
        if is_next {
            self.phase = (self.phase + 1) % CYCLE.len();
            self.phase_began = now;
        }
    }

    /// Notices that the rate no longer grows (4.3.2.2).
    fn check_full(&mut self, sample: &DeliverySample) {
        if self.full.is_full || !self.starts_round || sample.is_app_limited {
            return;
        }
        if self.rates.value() >= self.full.rate * FULL_GROWTH {
            self.full.rate = self.rates.value();
            self.full.rounds = 0;
            return;
        }
        self.full.rounds += 1;
        self.full.is_full = self.full.rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, now: Time, in_flight: f64) {
        if self.state == State::Startup && self.full.is_full {
            self.state = State::Drain;
        }
        let is_drained = self.in_flight_at(1.0).is_some_and(|bdp| in_flight <= bdp);
        if self.state == State::Drain && is_drained {
            self.begin_probe_bw(now);
        }
    }

    /// Begins a cycle with any phase but that of .75 (4.3.4.3): the time of the beginning, which
    /// differs from flow to flow, takes the place of a random number.
    fn begin_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw;
        let draw = Seed(now.0).stream("bbr/phase").bits();
        self.phase = [0, 2, 3, 4, 5, 6, 7][(draw % 7) as usize];
        self.phase_began = now;
    }

    /// Measures the minimum round-trip time, if necessary with an almost empty window (4.1.2,
    /// 4.3.5).
    fn update_rtprop(&mut self, now: Time, sample: &DeliverySample, cwnd: f64) -> f64 {
        let has_expired = self.rtprop.is_some() && now > self.rtprop_at + RTPROP_VALIDITY;
        if let Some(rtt) = sample.rtt
            && (has_expired || self.rtprop.is_none_or(|rtprop| rtt <= rtprop))
        {
            self.rtprop = Some(rtt);
            self.rtprop_at = now;
        }
        if has_expired && !self.is_probing_rtt() && !self.restarts {
            self.save(cwnd);
            self.state = State::ProbeRtt {
                until: None,
                has_round: false,
            };
        }
        match self.state {
            State::ProbeRtt { until: None, .. } if f64::from(sample.in_flight) <= MIN_CWND => {
                self.state = State::ProbeRtt {
                    until: Some(now + PROBE_RTT_TIME),
                    has_round: false,
                };
                self.round_end = sample.delivered;
                self.starts_round = false;
                cwnd
            }
            State::ProbeRtt {
                until: Some(until),
                has_round,
            } => {
                let has_round = has_round || self.starts_round;
                if now <= until || !has_round {
                    let until = Some(until);
                    self.state = State::ProbeRtt { until, has_round };
                    return cwnd;
                }
                self.rtprop_at = now;
                if self.full.is_full {
                    self.begin_probe_bw(now);
                } else {
                    self.state = State::Startup;
                }
                cwnd.max(self.saved_cwnd)
            }
            _ => cwnd,
        }
    }

    fn set_pacing_rate(&mut self) {
        let rate = self.pacing_gain() * self.rates.value();
        let is_faster = self.pacing_rate.is_none_or(|current| rate > current);
        if rate > 0.0 && (self.full.is_full || is_faster) {
            self.pacing_rate = Some(rate);
        }
    }

    /// The window after an ACK (4.2.3.4).
    fn next_cwnd(&mut self, sample: &DeliverySample, cwnd: f64) -> f64 {
        let newly = f64::from(sample.newly);
        let has_ended = |until: &mut u64| sample.newly > 0 && sample.prior_delivered >= *until;
        self.conserves_until.take_if(has_ended);
        let cwnd = (cwnd - f64::from(sample.lost)).max(1.0);
        let next = match self.in_flight_at(self.cwnd_gain()) {
            _ if self.conserves_until.is_some() => cwnd.max(f64::from(sample.in_flight) + newly),
            Some(target) if self.full.is_full => (cwnd + newly).min(target),
            Some(target) if cwnd >= target => cwnd,
            _ => cwnd + newly,
        };
        let next = next.max(MIN_CWND);
        match self.state {
            State::ProbeRtt { .. } => next.min(MIN_CWND),
            _ => next,
        }
    }

    /// Whether the window is almost empty for a measurement of the round-trip time: then it limits
    /// the delivery rate.
    #[must_use]
    pub fn is_probing_rtt(&self) -> bool {
        matches!(self.state, State::ProbeRtt { .. })
    }

    /// Notes that the application sends again after a pause, with nothing in flight.
    pub fn restart_from_idle(&mut self) {
        self.restarts = true;
        if self.state == State::ProbeBw && self.rates.value() > 0.0 {
            self.pacing_rate = Some(self.rates.value());
        }
    }

    fn save(&mut self, cwnd: f64) {
        let keeps = self.in_recovery || self.is_probing_rtt();
        self.saved_cwnd = if keeps {
            self.saved_cwnd.max(cwnd)
        } else {
            cwnd
        };
    }

    /// Enters fast recovery with `in_flight` segments; returns the window, which conserves packets
    /// for a round trip (4.2.3.4).
    pub fn enter_recovery(&mut self, in_flight: u32, cwnd: f64) -> f64 {
        self.save(cwnd);
        self.in_recovery = true;
        self.conserves_until = Some(self.delivered);
        f64::from(in_flight) + 1.0
    }

    /// Leaves a recovery; returns the window.
    pub fn leave_recovery(&mut self, cwnd: f64) -> f64 {
        self.conserves_until = None;
        let restored = if std::mem::take(&mut self.in_recovery) {
            cwnd.max(self.saved_cwnd)
        } else {
            cwnd
        };
        if self.is_probing_rtt() {
            restored.min(MIN_CWND)
        } else {
            restored
        }
    }
}

/// The model sets the window with each ACK ([`Bbr::on_ack`]). The least threshold keeps the sender out
/// of slow start.
impl CongestionControl for Bbr {
    fn avoid(&mut self, _now: Time, cwnd: f64, _acked: u32) -> f64 {
        cwnd
    }

    fn reduce(&mut self, in_use: f64) -> Reduced {
        Reduced {
            cwnd: in_use,
            ssthresh: MIN_SSTHRESH,
        }
    }

    /// Keeps the window for the end of the recovery.
    fn restart(&mut self, in_use: f64) -> f64 {
        self.save(in_use);
        self.in_recovery = true;
        self.conserves_until = None;
        MIN_SSTHRESH
    }

    fn sample(&mut self, _rtt: Duration) {}
}

#[cfg(test)]
mod tests;
