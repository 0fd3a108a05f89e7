//! Two damped senders of which one starts later (Fig. 18).

use polypath_report::plot::{Plot, Series};

use super::super::damping::DAMPED;
use super::super::merge::{Media, Merge, Span};
use super::super::pictures::{axis, seconds};
use super::super::sensitivity::{fair_rows, fairness_reason};
use super::super::sweep::point;
use super::super::trace::{BIN, Course};
use super::{Pairs, SPAN, deviation, each_pair, fairness, mean};
use crate::figure::{Figure, Findings};
use crate::measurement::{Measurement, Sample};
use crate::study::{Pending, Study};

pub(in crate::psp) const FIGURE: Figure = Figure {
    id: "psp.fig18",
    title: "Two damped senders, the second 10 s later",
    claims: &["psp.fig18.late_start"],
    make: late,
};

/// When the second sender starts, in seconds.
const DELAY: u32 = 10;
/// The distance to the fairness line is a mean over so many seconds.
const WINDOW: f64 = 10.0;

fn late(study: &mut Study<'_>) -> Result<Findings, Pending> {
    const CLAIM: &str = "psp.fig18.late_start";
    let pairs = Pairs::of(study, late_merge);
    let rows = fair_rows(study);
    let (pairs, rows) = (pairs?, rows?);
    let curve = curve(&pairs);
    let of = |quantity: &str, unit: &str, samples: &[Sample]| {
        Measurement::of(CLAIM, quantity, unit, "pairs", samples)
    };
    let mut measurements: Vec<Measurement> = curve
        .iter()
        .map(|(at, samples)| of("distance_to_fairness", "ratio", samples).over("time", "s", *at))
        .collect();
    measurements.push(of("deviation", "Mb/s", &pairs.samples(deviation)));
    measurements.push(of("mean", "Mb/s", &pairs.samples(mean)));
    Ok(Findings {
        plots: vec![
            fairness(
                "fig18",
                "Fairness: the second starts 10 s later",
                pairs.first(),
            ),
            approach(&curve),
        ],
        sheets: vec![each_pair(&pairs)],
        measurements,
        reasons: vec![fairness_reason(CLAIM, &rows)],
        parameters: Merge::parameters(),
        ..Findings::default()
    })
}

/// The distance to the fairness line by the middle of each window, in seconds since the second sender's start.
fn curve(pairs: &Pairs) -> Vec<(f64, Vec<Sample>)> {
    let positions = (DELAY..SPAN.seconds).step_by(10);
    positions
        .map(|from| {
            let from = f64::from(from);
            let middle = from + WINDOW / 2.0 - f64::from(DELAY);
            (middle, pairs.samples(|courses| distance(courses, from)))
        })
        .collect()
}

fn approach(curve: &[(f64, Vec<Sample>)]) -> Plot {
    let points = curve.iter().filter_map(|(at, samples)| point(*at, samples));
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
    }
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
