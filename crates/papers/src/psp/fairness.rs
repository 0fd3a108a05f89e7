//! Two damped senders: whether they share (Figs. 16 to 19).

use polypath_batch::replica_seeds;
use polypath_report::network::jain_index;
use polypath_report::plot::{Look, Plot, Point, Series};

use super::damping::{DAMPED, mean_of, over_time};
use super::merge::{Media, Merge, SHARED, Span};
use super::pictures::{axis, mbits, seconds, sheet, thin};
use super::sensitivity::{fair_rows, fair_sheet, fairness_reason};
use super::sweep::{point, text};
use super::trace::{BIN, Course, Trace};
use crate::figure::{Figure, Findings};
use crate::measurement::{Measurement, Sample};
use crate::study::{Pending, SEED, Study};

pub(super) const TOGETHER: Figure = Figure {
    id: "psp.fig16_17",
    title: "Two damped senders that start together",
    claims: &["psp.fig16_17.adaptive_fair"],
    make: together,
};
pub(super) const LATE: Figure = Figure {
    id: "psp.fig18",
    title: "Two damped senders, the second 10 s later",
    claims: &["psp.fig18.late_start"],
    make: late,
};
pub(super) const BESIDE_TCP: Figure = Figure {
    id: "psp.fig19",
    title: "Two damped senders against ten TCPs",
    claims: &["psp.fig19.with_tcp"],
    make: beside_tcp,
};

/// What is measured of two senders: long after the start.
pub(super) const SPAN: Span = Span {
    seconds: 120,
    warm_up: 20,
};

/// Runs of two senders by their seeds.
pub(super) struct Pairs(Vec<(u64, Vec<Course>)>);

impl Pairs {
    /// Runs `merge` with every seed.
    ///
    /// # Errors
    /// Where runs are missing.
    pub(super) fn of(study: &mut Study<'_>, merge: impl Fn(u64) -> Merge) -> Result<Self, Pending> {
        let seeds = replica_seeds(SEED, study.pick(4, 10));
        let courses = study.ask_all(seeds.iter().map(|&seed| Trace(merge(seed))))?;
        Ok(Self(seeds.into_iter().zip(courses).collect()))
    }

    pub(super) fn samples(&self, of: impl Fn(&[Course]) -> f64) -> Vec<Sample> {
        let sample = |(seed, courses): &(u64, Vec<Course>)| Sample {
            seed: *seed,
            value: of(courses),
        };
        self.0.iter().map(sample).collect()
    }

    fn first(&self) -> &[Course] {
        self.0.first().map_or(&[], |(_, courses)| courses)
    }
}

/// Jain's index of the mean sending rates.
pub(super) fn jain(courses: &[Course]) -> f64 {
    let rates: Vec<f64> = courses.iter().map(|course| course.mean).collect();
    jain_index(&rates).unwrap_or(0.0)
}

pub(super) fn mean(courses: &[Course]) -> f64 {
    mean_of(courses, |course| course.mean)
}

pub(super) fn deviation(courses: &[Course]) -> f64 {
    mean_of(courses, |course| course.deviation)
}

fn together(study: &mut Study<'_>) -> Result<Findings, Pending> {
    const CLAIM: &str = "psp.fig16_17.adaptive_fair";
    let pairs = Pairs::of(study, |seed| Merge::adaptive(2, DAMPED, SPAN, seed));
    let rows = fair_rows(study);
    let (pairs, rows) = (pairs?, rows?);
    let of = |quantity: &str, unit: &str, of: fn(&[Course]) -> f64| {
        Measurement::of(CLAIM, quantity, unit, "pairs", &pairs.samples(of))
    };
    let course = pairs.first();
    let names = ["first sender", "second sender"];
    let series = course.iter().zip(names);
    Ok(Findings {
        plots: vec![
            Plot {
                id: "fig16".to_owned(),
                title: "Sending rate of two damped senders".to_owned(),
                x: seconds(),
                y: mbits("sending rate"),
                series: series
                    .map(|(course, name)| over_time(course, name))
                    .collect(),
                ..Plot::default()
            },
            fairness("fig17", "Fairness: both start together", course),
        ],
        measurements: vec![
            of("jain", "ratio", jain),
            of("deviation", "Mb/s", deviation),
            of("mean", "Mb/s", mean),
        ],
        sheets: vec![each_pair(&pairs), fair_sheet(&rows)],
        reasons: vec![fairness_reason(CLAIM, &rows)],
        parameters: Merge::parameters(),
        ..Findings::default()
    })
}

fn each_pair(pairs: &Pairs) -> crate::figure::Sheet {
    let row = |(seed, courses): &(u64, Vec<Course>)| {
        let of = |of: fn(&Course) -> f64| {
            let values = courses.iter().map(of).map(|value| format!("{value:.2}"));
            values.collect::<Vec<_>>().join(", ")
        };
        vec![
            seed.to_string(),
            of(|course| course.mean),
            of(|course| course.deviation),
            of(|course| course.received),
            of(|course| course.loss * 100.0),
            format!("{:.3}", jain(courses)),
        ]
    };
    sheet(
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

/// The rate of one over that of the other, beside the fairness line.
fn fairness(id: &str, title: &str, courses: &[Course]) -> Plot {
    let dot = |x: f64, y: f64| Point { x, y, ci95: None };
    let [first, second] = courses else {
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

/// When the second sender starts, in seconds.
const DELAY: u32 = 10;
/// The distance to the fairness line is a mean over so many seconds.
const WINDOW: f64 = 10.0;

fn late(study: &mut Study<'_>) -> Result<Findings, Pending> {
    const CLAIM: &str = "psp.fig18.late_start";
    let pairs = Pairs::of(study, late_merge);
    let rows = fair_rows(study);
    let (pairs, rows) = (pairs?, rows?);
    let positions = (DELAY..SPAN.seconds).step_by(10);
    let curve: Vec<(f64, Vec<Sample>)> = positions
        .map(|from| {
            let from = f64::from(from);
            let middle = from + WINDOW / 2.0 - f64::from(DELAY);
            (middle, pairs.samples(|courses| distance(courses, from)))
        })
        .collect();
    let of = |quantity: &str, unit: &str, samples: &[Sample]| {
        Measurement::of(CLAIM, quantity, unit, "pairs", samples)
    };
    let mut measurements: Vec<Measurement> = curve
        .iter()
        .map(|(at, samples)| of("distance_to_fairness", "ratio", samples).over("time", "s", *at))
        .collect();
    measurements.push(of("deviation", "Mb/s", &pairs.samples(deviation)));
    measurements.push(of("mean", "Mb/s", &pairs.samples(mean)));
    let points = curve.iter().filter_map(|(at, samples)| point(*at, samples));
    Ok(Findings {
        plots: vec![
            fairness(
                "fig18",
                "Fairness: the second starts 10 s later",
                pairs.first(),
            ),
            Plot {
                id: "fig18-distance".to_owned(),
                title: "Distance to the fairness line after the second sender's start".to_owned(),
                x: seconds(),
                y: axis("difference of the rates over their sum", ""),
                series: vec![Series {
                    name: "mean over the runs".to_owned(),
                    points: points.collect(),
                    ..Series::default()
                }],
                ..Plot::default()
            },
        ],
        sheets: vec![each_pair(&pairs)],
        measurements,
        reasons: vec![fairness_reason(CLAIM, &rows)],
        parameters: Merge::parameters(),
        ..Findings::default()
    })
}

fn late_merge(seed: u64) -> Merge {
    let span = Span {
        warm_up: SPAN.seconds - 40,
        ..SPAN
    };
    Merge {
        media: Media::Adaptive {
            senders: 2,
            protocol: DAMPED,
            late: DELAY,
            spread: 100_000,
        },
        ..Merge::adaptive(2, DAMPED, span, seed)
    }
}

/// How far two rates are from each other over a window from `from` seconds on, as a share of their sum: 0 on the
/// fairness line, 1 on an axis.
fn distance(courses: &[Course], from: f64) -> f64 {
    let [first, second] = courses else {
        return 0.0;
    };
    let bin = BIN.as_secs_f64();
    let rates = first.rates.iter().zip(&second.rates).enumerate();
    let within = |number: &usize| {
        let at = (*number as f64 + 0.5) * bin;
        (from..from + WINDOW).contains(&at)
    };
    let distances = rates
        .filter(|(number, _)| within(number))
        .map(|(_, (a, b))| (a - b).abs() / (a + b).max(f64::MIN_POSITIVE));
    let distances: Vec<f64> = distances.collect();
    distances.iter().sum::<f64>() / distances.len().max(1) as f64
}

/// The transfers beside two senders (3.3.2).
const TRANSFERS: u32 = 10;

fn beside_tcp(study: &mut Study<'_>) -> Result<Findings, Pending> {
    const CLAIM: &str = "psp.fig19.with_tcp";
    let alone = |seed| Merge::adaptive(2, DAMPED, SPAN, seed);
    let asked = (
        Pairs::of(study, alone),
        Pairs::of(study, |seed| alone(seed).beside(TRANSFERS, 20)),
        Pairs::of(study, |seed| alone(seed).beside(TRANSFERS, 800)),
    );
    let rows = fair_rows(study);
    let (alone, small, large) = (asked.0?, asked.1?, asked.2?);
    let rows = rows?;
    let of = |quantity: &str, unit: &str, samples: &[Sample]| {
        Measurement::of(CLAIM, quantity, unit, "pairs", samples)
    };
    let row = |(name, pairs): (&str, &Pairs)| {
        vec![
            name.to_owned(),
            text(&pairs.samples(mean), 2),
            text(&pairs.samples(deviation), 2),
            text(&pairs.samples(jain), 3),
            text(
                &pairs.samples(|courses| mean_of(courses, |course| course.loss)),
                4,
            ),
        ]
    };
    let kinds = [
        ("none", &alone),
        ("10, window 20", &small),
        ("10, window 800", &large),
    ];
    let course = small.first().iter().zip(["first sender", "second sender"]);
    Ok(Findings {
        plots: vec![Plot {
            id: "fig19".to_owned(),
            title: "Two damped senders competing with 10 TCPs".to_owned(),
            x: seconds(),
            y: mbits("sending rate"),
            series: course
                .map(|(course, name)| over_time(course, name))
                .collect(),
            ..Plot::default()
        }],
        sheets: vec![sheet(
            "tcp",
            "Two damped senders alone and among TCPs",
            &[
                "TCPs",
                "sending rate Mb/s",
                "deviation Mb/s",
                "Jain's index of the two",
                "loss",
            ],
            kinds.map(row).to_vec(),
        )],
        measurements: vec![
            of("jain.adaptive", "ratio", &small.samples(jain)),
            of("rate.with_tcp", "Mb/s", &small.samples(mean)),
            of("rate.alone", "Mb/s", &alone.samples(mean)),
        ],
        reasons: vec![fairness_reason(CLAIM, &rows)],
        parameters: Merge::parameters(),
        ..Findings::default()
    })
}
