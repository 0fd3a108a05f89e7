//! A single sender (Fig. 7).

use polypath_claims::{Figure, Findings, Measurement, Pending, Sample, Study};
use polypath_report::plot::{Axis, Plot};

use super::lab::{self, LabRuns};
use super::ns2;
use super::sweep::microseconds;
use super::sweep::{Sweep, mean, seeds, span};
use crate::figures::pictures::{axis, mbits};
use crate::jobs::psp::merge::{Merge, PACKET, Span, Starts};
use crate::jobs::psp::steady::{Flows, loss};

pub(super) const FIGURE: Figure = Figure {
    id: "psp.fig7",
    title: "A single sender: sent and received rate",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "psp.fig7.single";
/// The spacings of the lab in microseconds.
const LAB_SPACINGS: [u32; 4] = [0, 200, 1000, 5000];

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    // One run per point: all of the paper's 500 s.
    let span = Span {
        seconds: study.pick(15, 505),
        ..span(study)
    };
    let seed = seeds(study)[0];
    // A clock error would only offer more than the link rate at a spacing of 0.
    let sweep = Sweep::of(study, vec![seed], |spacing, seed| {
        Merge::fixed(1, spacing, span, seed).starting(Starts::Simul)
    });
    let lab = in_lab(study);
    let (sweep, lab) = (sweep?, lab?);
    let worst = sweep.samples(ratio, |ratios| {
        let ratios = ratios.iter().flatten().copied();
        ratios.max_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()))
    });
    let lost = sweep.samples(
        |flows| loss(&flows.media),
        |losses| losses.iter().flatten().copied().reduce(f64::max),
    );
    let lost = lost.first().map_or(0.0, |sample| sample.value);
    Ok(Findings {
        plots: vec![picture(&sweep), ratios(&sweep)],
        measurements: vec![Measurement::of(CLAIM, "ratio", "ratio", "alone", &worst)],
        in_lab: lab
            .map(|worst| Measurement::of(CLAIM, "ratio", "ratio", "alone", &worst))
            .into_iter()
            .collect(),
        notes: vec![format!(
            "The ratio is that at the spacing where it is furthest from 1; the maximum loss at any \
             spacing is {lost}."
        )],
        parameters: Merge::fixed(1, 0, span, seed)
            .starting(Starts::Simul)
            .parameters("chosen; one run per point, without random draws"),
        ..Findings::default()
    })
}

/// The ratio that is furthest from 1 of some spacings on real sockets, for each seed.
fn in_lab(study: &mut Study<'_>) -> Result<Option<Vec<Sample>>, Pending> {
    let asked = LAB_SPACINGS.map(|spacing| {
        LabRuns::of(study, |seed| {
            Merge::fixed(1, spacing, lab::SPAN, seed).starting(Starts::Simul)
        })
    });
    let mut worst: Option<Vec<Sample>> = None;
    for runs in asked {
        let Some(runs) = runs? else { return Ok(None) };
        let found = runs.samples(|run| ratio(&run.flows));
        worst = Some(match worst {
            None => found,
            Some(known) => known
                .into_iter()
                .zip(found)
                .map(|(a, b)| further(a, b))
                .collect(),
        });
    }
    Ok(worst)
}

/// The sample that is further from 1.
fn further(a: Sample, b: Sample) -> Sample {
    if (a.value - 1.0).abs() >= (b.value - 1.0).abs() {
        a
    } else {
        b
    }
}

fn ratio(flows: &Flows) -> Option<f64> {
    let flow = flows.media.first()?;
    (flow.sent > 0.0).then(|| flow.received / flow.sent)
}

/// The received share of the sent rate, which the paper shows by two coinciding curves.
fn ratios(sweep: &Sweep) -> Plot {
    Plot {
        id: "fig7-ratio".to_owned(),
        title: "Received over sent rate of a single sender".to_owned(),
        x: microseconds(),
        y: Axis {
            range: Some([0.99, 1.01]),
            ..axis("received over sent", "")
        },
        series: vec![sweep.series("received over sent", ratio)],
        ..Plot::default()
    }
}

fn picture(sweep: &Sweep) -> Plot {
    Plot {
        id: "fig7".to_owned(),
        title: "Throughput of a single sender".to_owned(),
        x: microseconds(),
        y: mbits("throughput"),
        series: vec![
            sweep.series("sent", |flows| mean(&flows.media, |flow| flow.sent)),
            sweep.series("received", |flows| mean(&flows.media, |flow| flow.received)),
            ns2::series((1, PACKET, "simul"), "received in ns-2", |row| row.received),
        ],
        ..Plot::default()
    }
}
