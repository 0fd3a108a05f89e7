//! The sending rates of adaptive senders over time.

use std::sync::atomic::AtomicU64;

use polypath_batch::run_counted;
use polypath_claims::{Job, JobError};
use polypath_core::time::{Duration, Time};
use polypath_sim::{
    AgentEvent, Detail, NetworkEvent, NetworkObserver, NetworkOutcome, SpacingEvent,
};
use serde::{Deserialize, Serialize};

use super::merge::Merge;

/// The span over which the sending rate is averaged.
pub(crate) const BIN: Duration = Duration::from_millis(500);
/// The number of feedbacks to record, from the first that reports loss.
const FIRST: usize = 40;

/// A run that records the adaptive senders.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Trace(pub(crate) Merge);

/// An adaptive sender's trace, from its first feedback on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RateTrace {
    /// The mean sending rate of each [`BIN`] in Mb/s.
    pub(crate) rates: Vec<f64>,
    /// The mean sending rate after the warm-up in Mb/s, and its standard deviation over time.
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
    /// The received rate after the warm-up in Mb/s.
    pub(crate) received: f64,
    /// The share of packets after the warm-up that did not arrive.
    pub(crate) loss: f64,
    /// The feedbacks from the first that reports loss: whether each does, and the spacing after it
    /// in microseconds.
    pub(crate) first: Vec<(bool, f64)>,
}

impl Job for Trace {
    type Output = Vec<RateTrace>;

    const KIND: &'static str = "psp.course.2";

    fn cost(&self) -> f64 {
        self.0.cost()
    }

    fn run(&self, parts: &AtomicU64) -> Result<Vec<RateTrace>, JobError> {
        let network = self.0.network()?;
        let mut follow = SpacingObserver::new(&self.0);
        let outcome = run_counted(&network, self.0.seed, parts, &mut follow)?;
        Ok(follow.traces(&outcome, &self.0))
    }
}

/// Records the spacings of the first flows, which are the adaptive ones.
struct SpacingObserver {
    packet_bits: f64,
    line: f64,
    warm_up: Time,
    end: Time,
    senders: Vec<SenderTrace>,
}

#[derive(Clone, Default)]
struct SenderTrace {
    trace: RateTrace,
    /// The start and the value of the current rate in Mb/s.
    now: Option<(Time, f64)>,
    moments: Moments,
}

/// Sums over time of a rate and its square.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    seconds: f64,
    first: f64,
    second: f64,
}

impl SpacingObserver {
    fn new(merge: &Merge) -> Self {
        let seconds = |s: u32| Time::ZERO + Duration::from_secs(u64::from(s));
        Self {
            packet_bits: f64::from(merge.packet) * 8.0,
            line: merge.interval(0.0),
            warm_up: seconds(merge.span.warm_up),
            end: seconds(merge.span.seconds),
            senders: vec![SenderTrace::default(); merge.senders() as usize],
        }
    }

    fn traces(mut self, outcome: &NetworkOutcome, merge: &Merge) -> Vec<RateTrace> {
        let (warm_up, end) = (self.warm_up, self.end);
        let flows = outcome.flows.iter().zip(&mut self.senders);
        for (flow, sender) in flows {
            sender.advance(end, warm_up);
            let sent: u64 = flow.spans.iter().map(|span| span.sender.sent).sum();
            let bytes: u64 = flow.spans.iter().map(|span| span.goodput).sum();
            let arrived = bytes as f64 / f64::from(merge.packet);
            let trace = &mut sender.trace;
            trace.loss = (1.0 - arrived / (sent as f64).max(1.0)).max(0.0);
            trace.received = bytes as f64 * 8e-6 / end.since(warm_up).as_secs_f64();
            (trace.mean, trace.deviation) = sender.moments.mean_and_deviation();
        }
        let senders = self.senders.into_iter();
        senders.map(|sender| sender.trace).collect()
    }
}

impl NetworkObserver for SpacingObserver {
    fn on_progress(&mut self, _: Time) {}

    fn detail(&self) -> Detail {
        Detail {
            flow_events: true,
            packets: false,
        }
    }

    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        let NetworkEvent::Agent {
            flow,
            event: AgentEvent::Spacing(event),
        } = event
        else {
            return;
        };
        let Some(sender) = self.senders.get_mut(*flow as usize) else {
            return;
        };
        sender.advance(at, self.warm_up);
        let spacing = event.spacing.as_secs_f64() * 1e6;
        sender.now = Some((at, self.packet_bits / (self.line + spacing)));
        sender.note(event, spacing);
    }
}

impl SenderTrace {
    /// Records the rate up to `to`.
    fn advance(&mut self, to: Time, warm_up: Time) {
        let Some((from, rate)) = self.now else {
            return;
        };
        self.moments.add(rate, to.since(from.max(warm_up).min(to)));
        let mut from = from;
        while from < to {
            let bin = usize::try_from(from.0 / BIN.0).unwrap_or(usize::MAX);
            let until = Time((bin as u64 + 1) * BIN.0).min(to);
            if self.trace.rates.len() <= bin {
                self.trace.rates.resize(bin + 1, 0.0);
            }
            self.trace.rates[bin] += rate * until.since(from).as_secs_f64() / BIN.as_secs_f64();
            from = until;
        }
    }

    fn note(&mut self, event: &SpacingEvent, spacing: f64) {
        let first = &mut self.trace.first;
        let lost = event.readings.range.lost() > 0;
        if first.len() < FIRST && (lost || !first.is_empty()) {
            first.push((lost, spacing));
        }
    }
}

impl Moments {
    fn add(&mut self, rate: f64, span: Duration) {
        let seconds = span.as_secs_f64();
        self.seconds += seconds;
        self.first += rate * seconds;
        self.second += rate * rate * seconds;
    }

    fn mean_and_deviation(self) -> (f64, f64) {
        if self.seconds <= 0.0 {
            return (0.0, 0.0);
        }
        let mean = self.first / self.seconds;
        let variance = (self.second / self.seconds - mean * mean).max(0.0);
        (mean, variance.sqrt())
    }
}

impl RateTrace {
    /// The number of feedbacks that report loss before the spacing exceeds `bound` microseconds.
    pub(crate) fn feedbacks_to(&self, bound: f64) -> Option<usize> {
        let passed = self.rounds_to(bound)?;
        let until = self.first.iter().take(passed);
        Some(until.filter(|(lost, _)| *lost).count())
    }

    /// The number of all feedbacks, from the first that reports loss, before the spacing exceeds
    /// `bound` microseconds.
    pub(crate) fn rounds_to(&self, bound: f64) -> Option<usize> {
        let mut spacings = self.first.iter().map(|(_, spacing)| *spacing);
        Some(spacings.position(|spacing| spacing > bound)? + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_kept_by_bin_and_weighed_by_time() {
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        let mut sender = SenderTrace {
            now: Some((at(250), 80.0)),
            ..SenderTrace::default()
        };
        sender.advance(at(1000), at(500));
        sender.now = Some((at(1000), 20.0));
        sender.advance(at(1500), at(500));
        assert_eq!(sender.trace.rates, [40.0, 80.0, 20.0]);
        let (mean, deviation) = sender.moments.mean_and_deviation();
        assert!((mean - 50.0).abs() < 1e-9, "{mean}");
        assert!((deviation - 30.0).abs() < 1e-9, "{deviation}");
    }

    #[test]
    fn feedbacks_count_until_the_bound_is_passed() {
        let trace = RateTrace {
            first: vec![(true, 50.0), (false, 48.0), (true, 2000.0), (true, 4000.0)],
            ..RateTrace::default()
        };
        assert_eq!(trace.feedbacks_to(2000.0), Some(3));
        assert_eq!(trace.rounds_to(2000.0), Some(4));
        assert_eq!(trace.feedbacks_to(5000.0), None);
    }
}
