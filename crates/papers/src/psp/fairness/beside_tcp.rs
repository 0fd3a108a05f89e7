//! Two damped senders among TCPs (Fig. 19).

use polypath_report::plot::Plot;

use super::super::damping::{DAMPED, mean_of, over_time};
use super::super::merge::Merge;
use super::super::pictures::{mbits, seconds, sheet};
use super::super::sensitivity::{fair_rows, fairness_reason};
use super::super::sweep::text;
use super::{Pairs, SPAN, deviation, jain, mean};
use crate::figure::{Figure, Findings, Reason, Sheet};
use crate::measurement::{Measurement, Sample};
use crate::study::{Pending, Study};

pub(in crate::psp) const FIGURE: Figure = Figure {
    id: "psp.fig19",
    title: "Two damped senders against ten TCPs",
    claims: &["psp.fig19.with_tcp"],
    make: beside_tcp,
};

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
    Ok(Findings {
        plots: vec![picture(&small)],
        sheets: vec![table(&[
            ("none", &alone),
            ("10, window 20", &small),
            ("10, window 800", &large),
        ])],
        measurements: vec![
            of("jain.adaptive", "ratio", &small.samples(jain)),
            of("rate.with_tcp", "Mb/s", &small.samples(mean)),
            of("rate.alone", "Mb/s", &alone.samples(mean)),
        ],
        reasons: vec![reason(&small, &fairness_reason(CLAIM, &rows))],
        parameters: Merge::parameters(),
        ..Findings::default()
    })
}

/// The reason with what it comes to among TCPs.
fn reason(pairs: &Pairs, alone: &Reason) -> Reason {
    Reason {
        text: format!(
            "{} Among {TRANSFERS} TCPs with a window of 20 the two send {} Mb/s in the mean, and the index is {}.",
            alone.text,
            text(&pairs.samples(mean), 1),
            text(&pairs.samples(jain), 3),
        ),
        claim: alone.claim,
    }
}

fn table(kinds: &[(&str, &Pairs)]) -> Sheet {
    let row = |(name, pairs): &(&str, &Pairs)| {
        let loss = pairs.samples(|courses| mean_of(courses, |course| course.loss));
        vec![
            (*name).to_owned(),
            text(&pairs.samples(mean), 2),
            text(&pairs.samples(deviation), 2),
            text(&pairs.samples(jain), 3),
            text(&loss, 4),
        ]
    };
    sheet(
        "tcp",
        "Two damped senders alone and among TCPs",
        &[
            "TCPs",
            "sending rate Mb/s",
            "deviation Mb/s",
            "Jain's index of the two",
            "loss",
        ],
        kinds.iter().map(row).collect(),
    )
}

fn picture(pairs: &Pairs) -> Plot {
    let courses = pairs.first().iter().zip(["first sender", "second sender"]);
    Plot {
        id: "fig19".to_owned(),
        title: "Two damped senders competing with 10 TCPs".to_owned(),
        x: seconds(),
        y: mbits("sending rate"),
        series: courses
            .map(|(course, name)| over_time(course, name))
            .collect(),
        ..Plot::default()
    }
}
