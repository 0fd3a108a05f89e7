//! Two damped senders among TCPs (Fig. 19).

use polypath_claims::{Figure, Findings, Measurement, Pending, Reason, Sample, Study};
use polypath_report::plot::Plot;

use super::super::damping::{DAMPED, over_time};
use super::super::sensitivity::{PairResult, fair_table, rows};
use super::{Pairs, SPAN, TIME, jain, mean};
use crate::figures::pictures::{mbits, seconds};
use crate::jobs::psp::merge::Merge;

pub(in crate::figures::psp) const FIGURE: Figure = Figure {
    id: "psp.fig19",
    title: "Two damped senders against ten TCPs",
    claims: &[CLAIM],
    make: beside_tcp,
};

const CLAIM: &str = "psp.fig19.with_tcp";
/// The transfers beside two senders (3.3.2).
const TRANSFERS: u32 = 10;

/// The numbers and windows of the transfers in the rows of the table.
const OTHERS: [(u32, u32); 6] = [(10, 5), (2, 20), (5, 20), (10, 20), (20, 20), (10, 800)];
/// The window of the claim: the default of 3.2.3.
const WINDOW: u32 = 20;

fn beside_tcp(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let alone = |seed| Merge::adaptive(2, DAMPED, SPAN, seed);
    let alone_merge = alone(0);
    let asked = (
        Pairs::of(study, alone),
        Pairs::of(study, |seed| alone(seed).with_tcp(TRANSFERS, WINDOW)),
        rows(study, settings(&alone_merge)),
    );
    let (alone, beside, rows) = (asked.0?, asked.1?, asked.2?);
    let of = |quantity: &str, unit: &str, samples: &[Sample]| {
        Measurement::of(CLAIM, quantity, unit, "pairs", samples)
    };
    Ok(Findings {
        plots: vec![picture(&beside)],
        tables: vec![fair_table(
            "tcp",
            "Two damped senders alone and among TCPs",
            &rows,
        )],
        measurements: vec![
            of("jain.adaptive", "ratio", &beside.samples(jain)),
            of("rate.with_tcp", "Mb/s", &beside.samples(mean)),
            of("rate.alone", "Mb/s", &alone.samples(mean)),
        ],
        reasons: vec![reason(&rows)],
        parameters: alone_merge.with_tcp(TRANSFERS, WINDOW).parameters(TIME),
        ..Findings::default()
    })
}

/// No TCP, and some.
fn settings(alone: &Merge) -> impl Iterator<Item = (String, Merge)> {
    let beside = |(count, window)| {
        let name = format!("{count} TCPs, window {window}");
        (name, alone.clone().with_tcp(count, window))
    };
    [("no TCP".to_owned(), alone.clone())]
        .into_iter()
        .chain(OTHERS.map(beside))
}

/// The reason: the shares of both senders among TCPs.
fn reason(rows: &[PairResult]) -> Reason {
    let texts: Vec<String> = rows.iter().map(PairResult::description).collect();
    Reason {
        claim: CLAIM,
        text: format!(
            "Both yield to TCP, but unequally. Jain's index of the two, and their sending rates: {}. The two do not share without \
             TCP either, for the reason given at psp.fig16_17.adaptive_fair.",
            texts.join("; "),
        ),
    }
}

fn picture(pairs: &Pairs) -> Plot {
    let traces = pairs.first().iter().zip(["first sender", "second sender"]);
    Plot {
        id: "fig19".to_owned(),
        title: "Two damped senders competing with 10 TCPs".to_owned(),
        x: seconds(),
        y: mbits("sending rate"),
        series: traces.map(|(trace, name)| over_time(trace, name)).collect(),
        ..Plot::default()
    }
}
