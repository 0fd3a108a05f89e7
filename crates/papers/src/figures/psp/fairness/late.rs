//! Two damped senders of which one starts later (Fig. 18).

use polypath_claims::{ClaimRemark, Figure, Findings, Measurement, Pending, Sample, Study};
use polypath_report::plot::{Plot, Series};

use super::super::damping::DAMPED;
use super::super::lab::LabRuns;
use super::{Pairs, SPAN, TIME, beside_pairs, deviation, each_pair, fairness, mean};
use crate::figures::estimates::{point, text};
use crate::figures::pictures::{axis, seconds};
use crate::jobs::psp::merge::{Media, Merge, Span};
use crate::jobs::psp::trace::{BIN, RateTrace};

pub(in crate::figures::psp) const FIGURE: Figure = Figure {
    id: "psp.fig18",
    title: "Two damped senders, the second 10 s later",
    claims: &[CLAIM],
    make: late,
};

const CLAIM: &str = "psp.fig18.late_start";
/// The start of the second sender, in seconds.
const DELAY: u32 = 10;
/// The window in seconds over which the distance to the fairness line is averaged.
const WINDOW: f64 = 10.0;
/// The last seconds, over which means and deviations are taken.
const MEASURED: u32 = 40;

fn late(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let pairs = Pairs::of(study, late_merge);
    let lab = LabRuns::of(study, late_merge);
    let (pairs, lab) = (pairs?, lab?.map(LabRuns::into_pairs));
    let curve = curve(&pairs);
    let mut tables = vec![each_pair(&pairs)];
    tables.extend(lab.as_ref().map(|lab| beside_pairs(&pairs, lab)));
    Ok(Findings {
        plots: vec![
            fairness(
                "fig18",
                "Fairness: the second starts 10 s later",
                pairs.first(),
            ),
            approach(&curve),
        ],
        tables,
        measurements: measured(&pairs),
        in_lab: lab.as_ref().map_or_else(Vec::new, measured),
        reasons: vec![reason(&pairs, &curve)],
        parameters: late_merge(0).parameters(TIME),
        ..Findings::default()
    })
}

/// The distance to the fairness line over time, and the oscillation at the end.
fn measured(pairs: &Pairs) -> Vec<Measurement> {
    let of = |quantity: &str, unit: &str, samples: &[Sample]| {
        Measurement::of(CLAIM, quantity, unit, "pairs", samples)
    };
    let mut measurements: Vec<Measurement> = curve(pairs)
        .iter()
        .map(|(at, samples)| of("distance_to_fairness", "ratio", samples).over("time", "s", *at))
        .collect();
    measurements.push(of("deviation", "Mb/s", &pairs.samples(deviation)));
    measurements.push(of("mean", "Mb/s", &pairs.samples(mean)));
    measurements
}

/// The distance to the fairness line by the middle of each window, in seconds since the second
/// sender's start.
fn curve(pairs: &Pairs) -> Vec<(f64, Vec<Sample>)> {
    let positions = (DELAY..SPAN.seconds).step_by(10);
    positions
        .map(|from| {
            let from = f64::from(from);
            let middle = from + WINDOW / 2.0 - f64::from(DELAY);
            (middle, pairs.known(|traces| distance(traces, from)))
        })
        .collect()
}

/// The reason for which the two rates do not converge.
fn reason(pairs: &Pairs, curve: &[(f64, Vec<Sample>)]) -> ClaimRemark {
    let formatted =
        |at: Option<&(f64, Vec<Sample>)>| at.map_or("-".to_owned(), |at| text(&at.1, 3));
    let later_is_faster = pairs.samples(|traces| match traces {
        [first, second] => f64::from(u8::from(second.mean > first.mean)),
        _ => 0.0,
    });
    let faster = later_is_faster.iter().filter(|run| run.value > 0.0);
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "It is {} in the first full half second after the second sender's first feedback, {} \
             over its first {WINDOW} s and {} over the last {WINDOW} s (0 on the fairness line, 1 \
             on an axis). Both send at full rate until that feedback, so they start equal. Over the \
             last {MEASURED} s the later sender is the faster one in {} of {} runs. The rule tests \
             whether a straight line through the distances falls.",
            text(&pairs.known(at_first), 3),
            formatted(curve.first()),
            formatted(curve.last()),
            faster.count(),
            later_is_faster.len(),
        ),
    }
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
        warm_up: SPAN.seconds - MEASURED,
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

/// The distance of the two rates in each bin after both senders' first feedback,
/// as a share of their sum: 0 on the fairness line, 1 on an axis; with the middle of the bin in
/// seconds.
fn distances(traces: &[RateTrace]) -> Vec<(f64, f64)> {
    let [first, second] = traces else {
        return Vec::new();
    };
    let bin = BIN.as_secs_f64();
    let rates = first.rates.iter().zip(&second.rates).enumerate();
    // Before the first feedback a rate is unknown, and in its bin known only in part.
    let known = rates.skip_while(|(_, (a, b))| **a <= 0.0 || **b <= 0.0);
    known
        .skip(1)
        .map(|(number, (a, b))| ((number as f64 + 0.5) * bin, (a - b).abs() / (a + b)))
        .collect()
}

/// The distance in the first bin in which it is known.
fn at_first(traces: &[RateTrace]) -> Option<f64> {
    Some(distances(traces).first()?.1)
}

/// The mean distance over a window from `from` seconds on; `None` if unknown.
fn distance(traces: &[RateTrace], from: f64) -> Option<f64> {
    let known = distances(traces).into_iter();
    let within = known.filter(|(at, _)| (from..from + WINDOW).contains(at));
    let within: Vec<f64> = within.map(|(_, distance)| distance).collect();
    (!within.is_empty()).then(|| within.iter().sum::<f64>() / within.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_begins_after_the_later_senders_first_feedback() {
        let trace = |rates: &[f64]| RateTrace {
            rates: rates.to_vec(),
            ..RateTrace::default()
        };
        let pair = [
            trace(&[50.0, 100.0, 100.0, 60.0]),
            trace(&[0.0, 10.0, 50.0, 60.0]),
        ];
        assert_eq!(distances(&pair), [(1.25, 1.0 / 3.0), (1.75, 0.0)]);
        assert!((at_first(&pair).unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert!((distance(&pair, 0.0).unwrap() - 1.0 / 6.0).abs() < 1e-12);
    }
}
