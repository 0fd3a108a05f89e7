//! The samples of flows: spans of the only run, or replicas.

use polypath_core::time::Duration;
use polypath_sim::{FlowCounters, FlowOutcome, SpanFiles};

use super::FlowFigures;
use super::means::{Sampled, mean};

/// The samples of one flow: its spans in the only run, or its replicas.
pub(super) struct Series<'a> {
    name: &'a str,
    /// The length of a sample in seconds.
    pub(super) seconds: f64,
    pub(super) samples: Vec<Sample>,
}

/// The counters of a flow in a span or a run.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    pub(super) counters: FlowCounters,
    /// Its mean congestion window in segments.
    pub(super) window: Option<f64>,
    /// The mean of the receiver's estimate of the round-trip time, in seconds.
    pub(super) receiver_rtt: Option<f64>,
    /// The sum of the completion times of its files in seconds, and the number finished.
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

    fn totals(&self) -> FlowCounters {
        self.samples.iter().map(|sample| sample.counters).sum()
    }

    pub(super) fn figures(&self) -> FlowFigures {
        FlowFigures {
            name: self.name.to_owned(),
            means: Sampled::together(std::slice::from_ref(self)).means(),
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
