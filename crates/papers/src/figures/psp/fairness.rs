//! Two damped senders: whether they share the link (Figs. 16 to 19).

pub(super) mod late;
pub(super) mod with_tcp;

use polypath_batch::replica_seeds;
use polypath_claims::{Figure, FigureTable, Findings, Measurement, Pending, SEED, Sample, Study};
use polypath_report::network::jain_index;
use polypath_report::plot::{Look, Plot, Point, Series};

use super::damping::{DAMPED, mean_of, over_time};
use super::lab::{LabRuns, beside};
use super::parameters::READINGS;
use super::sensitivity::{fair_rows, fair_table, fairness_reason};
use crate::figures::pictures::{figure_table, mbits, seconds, thin};
use crate::jobs::psp::merge::{Merge, SHARED, Span};
use crate::jobs::psp::trace::{RateTrace, Trace};

pub(super) const TOGETHER: Figure = Figure {
    id: "psp.fig16_17",
    title: "Two damped senders that start together",
    claims: &["psp.fig16_17.adaptive_fair"],
    make: together,
};

/// The measured period of two senders, long after the start.
pub(super) const SPAN: Span = Span {
    seconds: 120,
    warm_up: 20,
};

/// The source of its length.
pub(super) const TIME: &str =
    "chosen: the first seconds, in which the senders find their rates, are left out";

/// Runs of two senders by their seeds.
pub(super) struct Pairs(Vec<(u64, Vec<RateTrace>)>);

impl Pairs {
    /// Runs `merge` with every seed.
    ///
    /// # Errors
    /// If results are missing.
    pub(super) fn of(study: &mut Study<'_>, merge: impl Fn(u64) -> Merge) -> Result<Self, Pending> {
        let seeds = replica_seeds(SEED, study.pick(4, 10));
        let traces = study.request_all(seeds.iter().map(|&seed| Trace(merge(seed))))?;
        Ok(Self(seeds.into_iter().zip(traces).collect()))
    }

    /// The runs by seed.
    pub(super) fn into_runs(self) -> Vec<(u64, Vec<RateTrace>)> {
        self.0
    }

    /// Runs that are known.
    pub(super) fn from_runs(runs: Vec<(u64, Vec<RateTrace>)>) -> Self {
        Self(runs)
    }

    pub(super) fn samples(&self, of: impl Fn(&[RateTrace]) -> f64) -> Vec<Sample> {
        let sample = |(seed, traces): &(u64, Vec<RateTrace>)| Sample {
            seed: *seed,
            value: of(traces),
        };
        self.0.iter().map(sample).collect()
    }

    /// The results of each run.
    fn known(&self, of: impl Fn(&[RateTrace]) -> Option<f64>) -> Vec<Sample> {
        let sample = |(seed, traces): &(u64, Vec<RateTrace>)| {
            Some(Sample {
                seed: *seed,
                value: of(traces)?,
            })
        };
        self.0.iter().filter_map(sample).collect()
    }

    fn first(&self) -> &[RateTrace] {
        self.0.first().map_or(&[], |(_, traces)| traces)
    }
}

/// Jain's index of the mean sending rates.
pub(super) fn jain(traces: &[RateTrace]) -> f64 {
    let rates: Vec<f64> = traces.iter().map(|trace| trace.mean).collect();
    jain_index(&rates).unwrap_or(0.0)
}

pub(super) fn mean(traces: &[RateTrace]) -> f64 {
    mean_of(traces, |trace| trace.mean)
}

pub(super) fn deviation(traces: &[RateTrace]) -> f64 {
    mean_of(traces, |trace| trace.deviation)
}

fn together(study: &mut Study<'_>) -> Result<Findings, Pending> {
    const CLAIM: &str = "psp.fig16_17.adaptive_fair";
    let pairs = Pairs::of(study, |seed| Merge::adaptive(2, DAMPED, SPAN, seed));
    let rows = fair_rows(study);
    let lab = LabRuns::of(study, |seed| Merge::adaptive(2, DAMPED, SPAN, seed));
    let (pairs, rows, lab) = (pairs?, rows?, lab?);
    let lab = lab.map(LabRuns::into_pairs);
    let measured = |pairs: &Pairs| {
        let of = |quantity: &str, unit: &str, of: fn(&[RateTrace]) -> f64| {
            Measurement::of(CLAIM, quantity, unit, "pairs", &pairs.samples(of))
        };
        vec![
            of("jain", "ratio", jain),
            of("deviation", "Mb/s", deviation),
            of("mean", "Mb/s", mean),
        ]
    };
    let mut tables = vec![
        each_pair(&pairs),
        fair_table("fairness", "Two damped senders in other settings", &rows),
    ];
    tables.extend(lab.as_ref().map(|lab| beside_pairs(&pairs, lab)));
    let trace = pairs.first();
    let names = ["first sender", "second sender"];
    let series = trace.iter().zip(names);
    Ok(Findings {
        plots: vec![
            Plot {
                id: "fig16".to_owned(),
                title: "Sending rate of two damped senders".to_owned(),
                x: seconds(),
                y: mbits("sending rate"),
                series: series.map(|(trace, name)| over_time(trace, name)).collect(),
                ..Plot::default()
            },
            fairness("fig17", "Fairness: both start together", trace),
        ],
        measurements: measured(&pairs),
        in_lab: lab.as_ref().map_or_else(Vec::new, measured),
        tables,
        reasons: vec![fairness_reason(CLAIM, &rows)],
        parameters: Merge::adaptive(2, DAMPED, SPAN, 0).parameters(TIME),
        notes: vec![READINGS.to_owned()],
        ..Findings::default()
    })
}

/// The pairs of the lab beside those of the simulation.
fn beside_pairs(simulated: &Pairs, lab: &Pairs) -> FigureTable {
    let row = |name: &'static str, of: fn(&[RateTrace]) -> f64| {
        (name, simulated.samples(of), lab.samples(of))
    };
    beside(
        "Two damped senders on real sockets, and the simulation",
        3,
        &[
            row("Jain's index", jain),
            row("mean rate of a sender Mb/s", mean),
            row("its deviation Mb/s", deviation),
        ],
    )
}

fn each_pair(pairs: &Pairs) -> FigureTable {
    let row = |(seed, traces): &(u64, Vec<RateTrace>)| {
        let of = |of: fn(&RateTrace) -> f64| {
            let values = traces.iter().map(of).map(|value| format!("{value:.2}"));
            values.collect::<Vec<_>>().join(", ")
        };
        vec![
            seed.to_string(),
            of(|trace| trace.mean),
            of(|trace| trace.deviation),
            of(|trace| trace.received),
            of(|trace| trace.loss * 100.0),
            format!("{:.3}", jain(traces)),
        ]
    };
    figure_table(
        "pairs",
        "Both senders, run by run",
        &[
            "seed",
            "sending rates Mb/s",
            "their deviations Mb/s",
            "received Mb/s",
            "lost %",
            "Jain's index",
        ],
        pairs.0.iter().map(row).collect(),
    )
}

/// The rate of one sender over that of the other, with the fairness line.
fn fairness(id: &str, title: &str, traces: &[RateTrace]) -> Plot {
    let dot = |x: f64, y: f64| Point { x, y, ci95: None };
    let [first, second] = traces else {
        return Plot::default();
    };
    let rates = first.rates.iter().zip(&second.rates);
    let both = f64::from(SHARED) / 2.0;
    let line = |name: &str, points: [Point; 2]| {
        thin(Series {
            name: name.to_owned(),
            points: points.to_vec(),
            ..Series::default()
        })
    };
    Plot {
        id: id.to_owned(),
        title: title.to_owned(),
        x: mbits("sending rate of the first"),
        y: mbits("sending rate of the second"),
        series: vec![
            Series {
                name: "mean of half a second".to_owned(),
                points: rates.map(|(&x, &y)| dot(x, y)).collect(),
                look: Look::Dots,
            },
            line("fairness line", [dot(0.0, 0.0), dot(100.0, 100.0)]),
            line(
                "the link is full",
                [
                    dot(2.0 * both - 100.0, 100.0),
                    dot(100.0, 2.0 * both - 100.0),
                ],
            ),
        ],
        ..Plot::default()
    }
}
