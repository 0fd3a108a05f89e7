//! Time series of a run, second by second.

use std::sync::atomic::AtomicU64;

use polypath_batch::run_counted;
use polypath_claims::{Job, JobError};
use polypath_core::connections::{ControlDecision, PlayOutEvent, Windows};
use polypath_core::time::Time;
use polypath_sim::{
    AgentEvent, Detail, FlowOutcome, NetworkEvent, NetworkObserver, NetworkOutcome, StreamEvent,
};
use serde::{Deserialize, Serialize};

use super::setting::{Setting, StreamCarrier};

/// A run that records its time series.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Streaming(pub(crate) Setting);

/// The time series, with a value for each second, and totals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TimeSeries {
    /// The goodput of the stream in kb/s.
    pub(crate) throughput: Vec<f64>,
    /// The mean sum of its windows in segments, and the mean number of its connections.
    pub(crate) windows: Vec<f64>,
    pub(crate) connections: Vec<f64>,
    /// The goodput of all TCP transfers of the other traffic, in kb/s.
    pub(crate) cross: Vec<f64>,
    /// The number of times the player stopped.
    pub(crate) stops: u32,
    /// The step to the maximum sum of windows, and the maximum difference between two windows in
    /// segments.
    pub(crate) peak: Option<Peak>,
    pub(crate) difference: u32,
}

/// The step with which the sum of windows became greatest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Peak {
    /// The sum in segments, and its growth.
    pub(crate) sum: u32,
    pub(crate) step: u32,
    /// The round-trip time at that step, in ms.
    pub(crate) rtt: f64,
}

impl Job for Streaming {
    type Output = TimeSeries;

    const KIND: &'static str = "multitcp.streaming";

    fn cost(&self) -> f64 {
        0.05 + 2.5e-6 * self.0.packets()
    }

    fn run(&self, parts: &AtomicU64) -> Result<TimeSeries, JobError> {
        let network = self.0.network()?;
        let mut watcher = Watcher::new(self.0.seconds);
        let outcome = run_counted(&network, self.0.seed, parts, &mut watcher)?;
        Ok(watcher.finish(&self.0, &outcome))
    }
}

/// Observes the stream.
struct Watcher {
    series: TimeSeries,
    /// The wanted windows, and the time up to which they are included in the means.
    wanted: Option<Windows>,
    since: f64,
}

impl Watcher {
    fn new(seconds: u32) -> Self {
        let zeros = vec![0.0; seconds as usize];
        Self {
            series: TimeSeries {
                windows: zeros.clone(),
                connections: zeros,
                ..TimeSeries::default()
            },
            wanted: None,
            since: 0.0,
        }
    }

    /// Includes the wanted windows up to `now`, in seconds, in the means.
    fn account(&mut self, now: f64) {
        let Some(wanted) = self.wanted else {
            self.since = now;
            return;
        };
        while self.since < now {
            let second = self.since.floor();
            let until = now.min(second + 1.0);
            let span = until - self.since;
            let Some(windows) = self.series.windows.get_mut(index(second)) else {
                return;
            };
            *windows += span * f64::from(wanted.sum());
            self.series.connections[index(second)] += span * f64::from(wanted.connections());
            self.since = until;
        }
    }

    fn take(&mut self, controlled: &ControlDecision) {
        let windows = controlled.wanted;
        let before = self.wanted.replace(windows);
        let of = windows.window(0).zip(windows.iter().last());
        let difference = of.map_or(0, |(first, last)| first.abs_diff(last));
        let series = &mut self.series;
        series.difference = series.difference.max(difference);
        let (Some(sample), Some(before)) = (controlled.sample, before) else {
            return;
        };
        let is_greatest = series.peak.is_none_or(|peak| windows.sum() > peak.sum);
        if windows.sum() > before.sum() && is_greatest {
            series.peak = Some(Peak {
                sum: windows.sum(),
                step: windows.sum() - before.sum(),
                rtt: sample.rtt.as_secs_f64() * 1e3,
            });
        }
    }

    fn finish(mut self, setting: &Setting, outcome: &NetworkOutcome) -> TimeSeries {
        self.account(f64::from(setting.seconds));
        let of = |wanted: &dyn Fn(&FlowOutcome) -> bool| {
            let flows = outcome.flows.iter().filter(|flow| wanted(flow));
            sum(flows, outcome.span.as_secs_f64())
        };
        let is_stream = |flow: &FlowOutcome| flow.name.starts_with("stream");
        let throughput = match setting.stream.by {
            StreamCarrier::Nothing => Vec::new(),
            StreamCarrier::Controller(_) | StreamCarrier::Transfers(_) => of(&is_stream),
        };
        TimeSeries {
            throughput,
            cross: of(&|flow| flow.tcp && !is_stream(flow)),
            ..self.series
        }
    }
}

/// The total goodput of flows in each span, in kb/s.
fn sum<'a>(flows: impl Iterator<Item = &'a FlowOutcome>, seconds: f64) -> Vec<f64> {
    let mut all: Vec<f64> = Vec::new();
    for flow in flows {
        all.resize(flow.spans.len(), 0.0);
        for (sum, span) in all.iter_mut().zip(&flow.spans) {
            *sum += span.goodput as f64 * 8e-3 / seconds;
        }
    }
    all
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and a second of a run is not negative"
)]
fn index(second: f64) -> usize {
    second as usize
}

impl NetworkObserver for Watcher {
    fn on_progress(&mut self, _: Time) {}

    fn detail(&self) -> Detail {
        Detail {
            flow_events: true,
            packets: false,
        }
    }

    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        let NetworkEvent::Agent {
            event: AgentEvent::Stream(event),
            ..
        } = event
        else {
            return;
        };
        match event {
            StreamEvent::Controlled(controlled) => {
                self.account(at.as_secs_f64());
                self.take(controlled);
            }
            StreamEvent::Player(PlayOutEvent::Stops) => self.series.stops += 1,
            StreamEvent::Player(PlayOutEvent::Plays | PlayOutEvent::Ends) => {}
        }
    }
}

impl TimeSeries {
    /// The mean of a series from one second to another; `None` if it is empty.
    pub(crate) fn mean(series: &[f64], from: usize, to: usize) -> Option<f64> {
        let part = series.get(from..to.min(series.len()))?;
        (!part.is_empty()).then(|| part.iter().sum::<f64>() / part.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_seconds_are_by_time() {
        let mut watcher = Watcher::new(3);
        for (at, connections, sum) in [(0.5, 1, 8), (1.25, 2, 20)] {
            watcher.account(at);
            watcher.take(&ControlDecision {
                sample: None,
                wanted: Windows::new(connections, sum),
            });
        }
        watcher.account(3.0);
        assert_eq!(watcher.series.windows, [4.0, 17.0, 20.0]);
        assert_eq!(watcher.series.connections, [0.5, 1.75, 2.0]);
        assert_eq!(TimeSeries::mean(&watcher.series.windows, 1, 9), Some(18.5));
        assert_eq!(TimeSeries::mean(&[], 1, 9), None);
    }
}
