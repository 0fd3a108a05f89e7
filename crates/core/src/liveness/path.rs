//! The liveness of one path.

use super::config::LivenessConfig;
use super::losses::Losses;
use super::outstanding::Outstanding;
use super::{ANSWERS, FIRST_TIMEOUT, LASTING, LivenessSnapshot, PathHealth, PathState};
use crate::estimate::RoundTrip;
use crate::hold::next_hold;
use crate::machine::Deadline;
use crate::time::{Duration, Time};

/// The maximum number of times that the interval of a silent path doubles; the configured maximum
/// applies earlier.
const MAX_DOUBLINGS: u32 = 32;

#[derive(Clone, Debug)]
pub(super) struct Path {
    state: State,
    outstanding: Outstanding,
    round_trip: Option<RoundTrip>,
    losses: Losses,
    last_sent: Option<Time>,
    /// The time until which the path counts as carrying packets.
    busy_until: Time,
    /// The number of heartbeats sent since the last answer while the path is silent or unproven.
    retries: u32,
    /// The hold of its next return.
    hold: Duration,
    /// The arrival time of the last answer.
    last_answer: Time,
    /// The send time of the heartbeat that was answered last.
    answered: Option<Time>,
    counted: Counted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unproven,
    /// Live since this time; `returned` if it was silent before.
    Live {
        since: Time,
        returned: bool,
    },
    Silent {
        /// The arrival time of the last answer before the silence.
        left: Time,
        /// The duration of the return that the silence ended.
        lasted: Option<Duration>,
    },
    Returning {
        left: Time,
        /// The number of consecutive answers.
        answers: u32,
        /// The end of the hold.
        until: Time,
    },
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    sent: u64,
    answered: u64,
    silences: u64,
}

/// A change of the state of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Silent, this long after the last answer.
    Silent(Duration),
    /// Silent before the end of its return, this long after the last answer.
    SilentAgain(Duration),
    /// Live again, after this long without use.
    Back(Duration),
}

/// The effect of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answer {
    /// The round-trip time of the heartbeat.
    pub(super) rtt: Duration,
    /// The number of heartbeats that were lost before it on the live path.
    pub(super) lost: usize,
    pub(super) change: Option<Change>,
}

impl Path {
    pub(super) fn new(config: &LivenessConfig) -> Self {
        Self {
            state: State::Unproven,
            outstanding: Outstanding::default(),
            round_trip: None,
            losses: Losses::new(config.misses),
            last_sent: None,
            busy_until: Time::ZERO,
            retries: 0,
            hold: config.hold,
            last_answer: Time::ZERO,
            answered: None,
            counted: Counted::default(),
        }
    }

    /// Applies another configuration.
    pub(super) fn adjust(&mut self, config: &LivenessConfig) {
        self.losses.set_minimum(config.misses);
        self.hold = self.hold.clamp(config.hold, config.longest_hold);
    }

    pub(super) fn state(&self) -> PathState {
        match self.state {
            State::Unproven => PathState::Unproven,
            State::Live { .. } => PathState::Live,
            State::Silent { .. } => PathState::Silent,
            State::Returning { .. } => PathState::Returning,
        }
    }

    pub(super) fn rtt(&self) -> Option<Duration> {
        self.round_trip.map(RoundTrip::smoothed)
    }

    pub(super) fn health(&self) -> PathHealth {
        PathHealth {
            state: self.state(),
            rtt: self.rtt(),
            rttvar: self.round_trip.map(RoundTrip::variation),
            loss: self.losses.share(),
            silences: self.counted.silences,
            sent: self.counted.sent,
            answered: self.counted.answered,
        }
    }

    pub(super) fn snapshot(&self, now: Time, config: &LivenessConfig) -> LivenessSnapshot {
        LivenessSnapshot {
            is_live: self.state() == PathState::Live,
            is_busy: self.busy_until > now,
            timeout: self.timeout(config),
            needed: u32::try_from(self.losses.needed()).unwrap_or(u32::MAX),
            answered: self.answered,
        }
    }

    /// Notes that the path carries a packet, and returns whether it was idle.
    pub(super) fn carry(&mut self, now: Time, config: &LivenessConfig) -> bool {
        let was_idle = self.busy_until <= now;
        self.busy_until = now + config.standby;
        was_idle
    }

    /// Restarts the heartbeats unless the path is live: earlier heartbeats never reached the
    /// network.
    pub(super) fn restart(&mut self) {
        if !matches!(self.state, State::Live { .. }) {
            self.outstanding.clear();
            self.last_sent = None;
            self.retries = 0;
        }
    }

    /// Handles the answer to heartbeat `id`; returns nothing if it is not expected.
    pub(super) fn answer(&mut self, now: Time, id: u64, config: &LivenessConfig) -> Option<Answer> {
        let (sent, skipped) = self.outstanding.answer(id)?;
        let rtt = now.since(sent);
        match &mut self.round_trip {
            Some(round_trip) => round_trip.update(rtt),
            None => self.round_trip = Some(RoundTrip::new(rtt)),
        }
        self.counted.answered += 1;
        self.retries = 0;
        self.last_answer = now;
        self.answered = Some(sent);
        let mut answer = Answer {
            rtt,
            ..Answer::default()
        };
        match self.state {
            State::Unproven => {
                self.state = State::Live {
                    since: now,
                    returned: false,
                };
            }
            State::Live { .. } => {
                self.losses.count(skipped, config.misses);
                answer.lost = skipped;
            }
            State::Silent { left, lasted } => {
                self.judge_return(lasted, now.since(left), config);
                self.state = State::Returning {
                    left,
                    answers: 1,
                    until: now + self.hold,
                };
            }
            State::Returning { .. } => {
                self.losses.count(skipped, config.misses);
                answer.change = self.advance_return(now, skipped);
            }
        }
        Some(answer)
    }

    /// Sets the next hold after a return of this duration, if there was one, and the silence that
    /// ended it.
    fn judge_return(
        &mut self,
        lasted: Option<Duration>,
        silence: Duration,
        config: &LivenessConfig,
    ) {
        let Some(lasted) = lasted else { return };
        let has_lasted = lasted >= self.hold.min(silence) * LASTING;
        self.hold = next_hold(self.hold, has_lasted, [config.hold, config.longest_hold]);
    }

    /// Counts an answer on a path that returns.
    fn advance_return(&mut self, now: Time, skipped: usize) -> Option<Change> {
        let State::Returning {
            left,
            answers,
            until,
        } = &mut self.state
        else {
            return None;
        };
        *answers = if skipped > 0 { 1 } else { *answers + 1 };
        if *answers < ANSWERS || now < *until {
            return None;
        }
        let outage = now.since(*left);
        self.state = State::Live {
            since: now,
            returned: true,
        };
        Some(Change::Back(outage))
    }

    /// Leaves the path if too many heartbeats in a row are overdue.
    pub(super) fn expire(&mut self, now: Time, config: &LivenessConfig) -> Option<Change> {
        self.silent_at(config).filter(|at| *at <= now)?;
        match self.state {
            State::Live { since, returned } => {
                self.counted.silences += 1;
                let left = self.last_answer;
                self.state = State::Silent {
                    left,
                    lasted: returned.then(|| left.since(since)),
                };
                Some(Change::Silent(now.since(self.last_answer)))
            }
            State::Returning { left, .. } => {
                self.state = State::Silent { left, lasted: None };
                Some(Change::SilentAgain(now.since(self.last_answer)))
            }
            State::Unproven | State::Silent { .. } => None,
        }
    }

    /// Returns the number of the heartbeat to send, if one is due.
    pub(super) fn send_heartbeat(&mut self, now: Time, config: &LivenessConfig) -> Option<u64> {
        if self.heartbeat_at(config) > now {
            return None;
        }
        self.last_sent = Some(now);
        if matches!(self.state, State::Unproven | State::Silent { .. }) {
            self.retries = (self.retries + 1).min(MAX_DOUBLINGS);
        }
        self.counted.sent += 1;
        Some(self.outstanding.push(now))
    }

    /// The next deadline; no heartbeat is sent before `present`.
    pub(super) fn deadline(&self, present: Time, config: &LivenessConfig) -> Deadline {
        let heartbeat = Deadline {
            at: self.heartbeat_at(config).max(present),
            why: "heartbeat of a path",
        };
        match self.silent_at(config) {
            Some(at) if at < heartbeat.at => Deadline {
                at,
                why: "silence of a path",
            },
            _ => heartbeat,
        }
    }

    /// The time after its transmission at which the answer to a heartbeat is overdue.
    fn timeout(&self, config: &LivenessConfig) -> Duration {
        let round_trip = self.round_trip;
        round_trip.map_or(FIRST_TIMEOUT, |round_trip| {
            round_trip.timeout(config.margin)
        })
    }

    /// The time at which the number of overdue heartbeats exceeds what losses explain.
    fn silent_at(&self, config: &LivenessConfig) -> Option<Time> {
        match self.state {
            State::Live { .. } | State::Returning { .. } => {
                let last = self.outstanding.nth(self.losses.needed() - 1)?;
                Some(last + self.timeout(config))
            }
            State::Unproven | State::Silent { .. } => None,
        }
    }

    fn heartbeat_at(&self, config: &LivenessConfig) -> Time {
        let Some(last) = self.last_sent else {
            return Time::ZERO;
        };
        let soon = last + config.interval;
        let busy = self.busy_until > soon;
        match self.state {
            State::Live { .. } if busy => soon,
            State::Live { .. } => soon.max(self.overdue_at(config)).min(last + config.standby),
            State::Returning { answers, .. } if busy || answers < ANSWERS => soon,
            State::Returning { until, .. } => {
                let wanted = until.min(self.overdue_at(config));
                soon.max(wanted).min(last + config.standby)
            }
            State::Unproven | State::Silent { .. } => {
                let apart = (config.interval * (1 << self.retries)).min(config.retry);
                last + if busy {
                    apart.min(config.standby)
                } else {
                    apart
                }
            }
        }
    }

    /// The time at which the first heartbeat is overdue: from then on heartbeats follow at the
    /// short interval.
    fn overdue_at(&self, config: &LivenessConfig) -> Time {
        let oldest = self.outstanding.nth(0);
        oldest.map_or(Time::MAX, |sent| sent + self.timeout(config))
    }

    /// The number of stored heartbeats.
    pub(super) fn buffered(&self) -> usize {
        self.outstanding.len()
    }

    #[cfg(test)]
    pub(super) fn round_trip(&self) -> Option<RoundTrip> {
        self.round_trip
    }

    #[cfg(test)]
    pub(super) fn needed(&self) -> usize {
        self.losses.needed()
    }
}
