//! The samples of flows: spans of the only run, or replicas.

use polypath_core::time::Duration;
use polypath_sim::{Delays, FlowCounters, FlowOutcome, SpanFiles};

use super::{FlowFigures, mean};
use crate::statistics::Estimate;

/// The samples of one flow: its spans in the only run, or its replicas.
pub(super) struct Series<'a> {
    name: &'a str,
    /// The length of a sample in seconds.
    pub(super) seconds: f64,
    pub(super) samples: Vec<Sample>,
}

/// What a flow did in a span or a run.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    pub(super) counters: FlowCounters,
    /// Its mean congestion window in segments.
    pub(super) window: Option<f64>,
    /// The mean of the receiver's estimate of the round-trip time, in seconds.
    pub(super) receiver_rtt: Option<f64>,
    /// The times in seconds that its files took, together, and how many were finished.
    pub(super) files: (f64, f64),
}

impl<'a> Series<'a> {
    pub(super) fn of(replicas: &[&'a FlowOutcome], span: f64) -> Self {
        let name = &replicas[0].name;
        if let [only] = replicas {
            return Self {
                name,
                seconds: span,
                samples: (0..only.spans.len())
                    .map(|n| Sample::of_span(only, n))
                    .collect(),
            };
        }
        Self {
            name,
            seconds: span * replicas[0].spans.len() as f64,
            samples: replicas.iter().map(|run| Sample::of_run(run)).collect(),
        }
    }

    fn goodputs(&self) -> Vec<f64> {
        let rate = |sample: &Sample| sample.counters.goodput as f64 * 8.0 / self.seconds;
        self.samples.iter().map(rate).collect()
    }

    fn totals(&self) -> FlowCounters {
        self.samples.iter().map(|sample| sample.counters).sum()
    }

    pub(super) fn figures(&self) -> FlowFigures {
        let delays = self.samples.iter().map(|s| delay_sum(&s.counters));
        let windows = self.samples.iter().filter_map(|s| s.window);
        let receiver_rtts = self.samples.iter().filter_map(|s| s.receiver_rtt);
        FlowFigures {
            name: self.name.to_owned(),
            goodput: Estimate::of(&self.goodputs()),
            delay: Estimate::of_ratio(&delays.collect::<Vec<_>>()),
            window: Estimate::of(&windows.collect::<Vec<_>>()),
            receiver_rtt: Estimate::of(&receiver_rtts.collect::<Vec<_>>()),
            totals: self.totals(),
        }
    }
}

impl Sample {
    fn of_span(flow: &FlowOutcome, span: usize) -> Self {
        Self {
            counters: flow.spans[span],
            window: flow.windows[span],
            receiver_rtt: flow.receiver_rtts[span],
            files: completion_sum(&flow.files[span..=span]),
        }
    }

    fn of_run(flow: &FlowOutcome) -> Self {
        Self {
            counters: flow.spans.iter().copied().sum(),
            window: mean(flow.windows.iter().flatten().copied()),
            receiver_rtt: mean(flow.receiver_rtts.iter().flatten().copied()),
            files: completion_sum(&flow.files),
        }
    }
}

fn completion_sum(spans: &[SpanFiles]) -> (f64, f64) {
    let add = |(sum, count), took: &Duration| (sum + took.as_secs_f64(), count + 1.0);
    let finished = spans.iter().flat_map(|files| &files.finished);
    finished.fold((0.0, 0.0), add)
}

/// The sum of the one-way delays in seconds, and how many there are: every packet weighs the same, however many come
/// in a sample.
pub(super) fn delay_sum(counters: &FlowCounters) -> (f64, f64) {
    let Delays { count, sum } = counters.delays;
    (sum as f64 / 1e9, count as f64)
}
