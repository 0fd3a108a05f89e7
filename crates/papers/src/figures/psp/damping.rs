//! The effect of damping (Fig. 5).

pub(super) mod growth;

use polypath_batch::replica_seeds;
use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, SEED, Sample, Study,
};
use polypath_core::spacing::{Attribution, Counting};
use polypath_report::plot::{Plot, Point, Series};
use polypath_scenario::network::traffic::spaced::Control;

use super::lab::{LabRuns, beside};
use super::parameters;
use crate::figures::estimates::text;
use crate::figures::pictures::{figure_table, mbits, seconds, thin};
use crate::jobs::psp::merge::{Merge, Protocol, Span, name_of};
use crate::jobs::psp::trace::{BIN, RateTrace, Trace};

pub(super) const DAMPING: Figure = Figure {
    id: "psp.fig5",
    title: "Damping: throughput and oscillation",
    claims: &["psp.fig5.damping", "psp.fig5.oscillation"],
    make: damping,
};
/// The paper's duration for Fig. 5, all of which is measured.
const SPAN: Span = Span {
    seconds: 100,
    warm_up: 0,
};
const CONTROLS: [Control; 2] = [Control::AdHoc, Control::Damped];
/// The numbers of senders: two as in Fig. 16, since a lone sender has no losses on this topology,
/// and sixteen as elsewhere.
const SENDERS: [u32; 2] = [2, 16];

/// Every interpretation of what the paper leaves open, the project's own first.
pub(super) const READINGS: [(Attribution, Counting); 4] = [
    (Attribution::WhenSent, Counting::Range),
    (Attribution::Latest, Counting::Range),
    (Attribution::WhenSent, Counting::Clock),
    (Attribution::Latest, Counting::Clock),
];

/// The damped protocol in the project's interpretation.
pub(super) const DAMPED: Protocol = Protocol {
    control: Control::Damped,
    attribution: READINGS[0].0,
    counting: READINGS[0].1,
};

/// The runs of one protocol with this number of senders, by seed.
struct Runs {
    senders: u32,
    protocol: Protocol,
    seeds: Vec<u64>,
    traces: Vec<Vec<RateTrace>>,
}

impl Runs {
    fn samples(&self, of: impl Fn(&[RateTrace]) -> f64) -> Vec<Sample> {
        let runs = self.seeds.iter().zip(&self.traces);
        let sample = |(&seed, traces): (&u64, &Vec<RateTrace>)| Sample {
            seed,
            value: of(traces),
        };
        runs.map(sample).collect()
    }
}

impl Runs {
    /// The results by number of senders and interpretation.
    fn name(&self) -> String {
        let readings = [
            name_of(self.protocol.attribution),
            name_of(self.protocol.counting),
        ];
        let [attribution, counting] = readings.map(|name| name.replace('"', ""));
        format!("{} senders, {attribution}, {counting}", self.senders)
    }
}

/// The mean over senders.
pub(super) fn mean_of(traces: &[RateTrace], of: impl Fn(&RateTrace) -> f64) -> f64 {
    traces.iter().map(of).sum::<f64>() / traces.len().max(1) as f64
}

fn all_runs(study: &mut Study<'_>) -> Result<Vec<Runs>, Pending> {
    let seeds = replica_seeds(SEED, study.pick(4, 10));
    let mut asked = Vec::new();
    for senders in SENDERS {
        for (attribution, counting) in READINGS {
            for control in CONTROLS {
                let protocol = Protocol {
                    control,
                    attribution,
                    counting,
                };
                let job = |&seed: &u64| Trace(Merge::adaptive(senders, protocol, SPAN, seed));
                asked.push((senders, protocol, study.request_all(seeds.iter().map(job))));
            }
        }
    }
    let runs = asked.into_iter().map(|(senders, protocol, traces)| {
        Ok(Runs {
            senders,
            protocol,
            seeds: seeds.clone(),
            traces: traces?,
        })
    });
    runs.collect()
}

fn damping(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let runs = all_runs(study);
    let lab = in_lab(study);
    let (runs, lab) = (runs?, lab?);
    let pairs: Vec<(&Runs, &Runs)> = runs.chunks(2).map(|pair| (&pair[0], &pair[1])).collect();
    let (ad_hoc, damped) = pairs[0];
    let mut tables = vec![readings_table(&pairs)];
    tables.extend(lab.as_ref().map(|lab| lab_table([ad_hoc, damped], lab)));
    Ok(Findings {
        plots: vec![picture(ad_hoc, damped)],
        tables,
        measurements: measured(ad_hoc, damped),
        in_lab: lab.map_or_else(Vec::new, |[ad_hoc, damped]| measured(&ad_hoc, &damped)),
        caveats: readings_judged(&pairs),
        notes: vec![parameters::READINGS.to_owned()],
        parameters: Merge::adaptive(SENDERS[0], DAMPED, SPAN, 0)
            .parameters("stated (Fig. 5); both controls are run"),
        ..Findings::default()
    })
}

fn oscillation(runs: &Runs) -> Vec<Sample> {
    runs.samples(|traces| mean_of(traces, |c| c.deviation))
}

fn measured(ad_hoc: &Runs, damped: &Runs) -> Vec<Measurement> {
    let of = |claim: &str, quantity: &str, unit: &str, samples: &[Sample]| {
        Measurement::of(claim, quantity, unit, "two senders", samples)
    };
    let name = "psp.fig5.oscillation";
    vec![
        of("psp.fig5.damping", "gain", "ratio", &gains(ad_hoc, damped)),
        of(name, "deviation.ad_hoc", "Mb/s", &oscillation(ad_hoc)),
        of(name, "deviation.damped", "Mb/s", &oscillation(damped)),
    ]
}

/// Two ad hoc and two damped senders in the lab, in the project's interpretation.
fn in_lab(study: &mut Study<'_>) -> Result<Option<[Runs; 2]>, Pending> {
    let asked = CONTROLS.map(|control| {
        let protocol = Protocol { control, ..DAMPED };
        let merge = |seed| Merge::adaptive(SENDERS[0], protocol, SPAN, seed);
        (protocol, LabRuns::of(study, merge))
    });
    let mut known = Vec::new();
    for (protocol, runs) in asked {
        let Some(runs) = runs? else { continue };
        let (seeds, traces) = runs.into_pairs().into_runs().into_iter().unzip();
        known.push(Runs {
            senders: SENDERS[0],
            protocol,
            seeds,
            traces,
        });
    }
    Ok(known.try_into().ok())
}

fn lab_table([ad_hoc, damped]: [&Runs; 2], lab: &[Runs; 2]) -> FigureTable {
    beside(
        "Two senders on real sockets, whose deviation is that of the rates of half a second, and the simulation",
        3,
        &[
            (
                "gain of throughput by damping",
                gains(ad_hoc, damped),
                gains(&lab[0], &lab[1]),
            ),
            (
                "deviation of ad hoc Mb/s",
                oscillation(ad_hoc),
                oscillation(&lab[0]),
            ),
            (
                "deviation of damped Mb/s",
                oscillation(damped),
                oscillation(&lab[1]),
            ),
        ],
    )
}

/// The interpretation that is judged, and the results of the others.
fn readings_judged(pairs: &[(&Runs, &Runs)]) -> Vec<ClaimRemark> {
    let swing = |runs: &Runs| text(&runs.samples(|c| mean_of(c, |c| c.deviation)), 2);
    let by_protocol = |of: &dyn Fn(&(&Runs, &Runs)) -> String| {
        let others = pairs[1..].iter();
        let texts = others.map(|pair| format!("{}: {}", pair.0.name(), of(pair)));
        texts.collect::<Vec<_>>().join("; ")
    };
    let judged = format!(
        "The verdict is for {}: the paper does not state the number of senders, a single sender has \
         no losses on this topology, and the next figure has two (Fig. 16). The others have",
        pairs[0].0.name()
    );
    let gain = by_protocol(&|(ad_hoc, damped)| text(&gains(ad_hoc, damped), 3));
    let swings = by_protocol(&|(ad_hoc, damped)| format!("{}, {}", swing(ad_hoc), swing(damped)));
    vec![
        ClaimRemark {
            claim: "psp.fig5.damping",
            text: format!("{judged} these gains: {gain}."),
        },
        ClaimRemark {
            claim: "psp.fig5.oscillation",
            text: format!("{judged} these deviations in Mb/s, ad hoc and damped: {swings}."),
        },
    ]
}

fn received(traces: &[RateTrace]) -> f64 {
    mean_of(traces, |trace| trace.received)
}

/// The relative gain of the received rate by damping, for each seed.
fn gains(ad_hoc: &Runs, damped: &Runs) -> Vec<Sample> {
    let without = ad_hoc.samples(received);
    let with = damped.samples(received);
    let gain = |(without, with): (&Sample, &Sample)| Sample {
        seed: with.seed,
        value: with.value / without.value.max(f64::MIN_POSITIVE) - 1.0,
    };
    without.iter().zip(&with).map(gain).collect()
}

fn readings_table(pairs: &[(&Runs, &Runs)]) -> FigureTable {
    let row = |(ad_hoc, damped): &(&Runs, &Runs)| {
        let mut row = vec![
            ad_hoc.senders.to_string(),
            name_of(ad_hoc.protocol.attribution).replace('"', ""),
            name_of(ad_hoc.protocol.counting).replace('"', ""),
        ];
        for runs in [ad_hoc, damped] {
            row.push(text(&runs.samples(received), 2));
            row.push(text(&runs.samples(|c| mean_of(c, |c| c.deviation)), 2));
            row.push(text(&runs.samples(|c| mean_of(c, |c| c.loss)), 4));
        }
        row.push(text(&gains(ad_hoc, damped), 3));
        row
    };
    figure_table(
        "readings",
        "Ad hoc and damped senders over 100 s, for each interpretation of what the paper leaves \
         open",
        &[
            "senders",
            "a loss belongs to",
            "packets sent by",
            "ad hoc: received Mb/s",
            "ad hoc: deviation of the sending rate Mb/s",
            "ad hoc: loss",
            "damped: received Mb/s",
            "damped: deviation of the sending rate Mb/s",
            "damped: loss",
            "gain of throughput",
        ],
        pairs.iter().map(row).collect(),
    )
}

fn picture(ad_hoc: &Runs, damped: &Runs) -> Plot {
    let first = |runs: &Runs, name: &str| {
        let trace = runs.traces.first().and_then(|traces| traces.first());
        trace.map(|trace| over_time(trace, name))
    };
    let series = [first(ad_hoc, "ad hoc"), first(damped, "damped")];
    Plot {
        id: "fig5".to_owned(),
        title: "Sending rate of one of two senders, ad hoc and damped".to_owned(),
        x: seconds(),
        y: mbits("sending rate"),
        series: series.into_iter().flatten().collect(),
        ..Plot::default()
    }
}

/// The sending rate over time.
pub(super) fn over_time(trace: &RateTrace, name: &str) -> Series {
    let bin = BIN.as_secs_f64();
    let point = |(number, &rate): (usize, &f64)| Point {
        x: (number as f64 + 0.5) * bin,
        y: rate,
        ci95: None,
    };
    thin(Series {
        name: name.to_owned(),
        points: trace.rates.iter().enumerate().map(point).collect(),
        ..Series::default()
    })
}
