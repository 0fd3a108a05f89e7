//! Two damped senders among TCPs (Fig. 19).

use polypath_claims::{ClaimRemark, Figure, Findings, Measurement, Pending, Sample, Study};
use polypath_report::plot::Plot;

use super::super::damping::{DAMPED, over_time};
use super::super::sensitivity::{PairResult, fair_table, rows};
use super::{Pairs, SPAN, TIME, jain, mean};
use crate::figures::pictures::{mbits, seconds};
use crate::jobs::psp::merge::Merge;

pub(in crate::figures::psp) const FIGURE: Figure = Figure {
    id: "psp.fig19",
    title: "Two damped senders with ten TCPs",
    claims: &[CLAIM],
    make,
};

const CLAIM: &str = "psp.fig19.with_tcp";
/// The TCP transfers with two senders (3.3.2).
const TRANSFERS: u32 = 10;

/// The numbers of transfers and their windows in the table.
const OTHERS: [(u32, u32); 6] = [(10, 5), (2, 20), (5, 20), (10, 20), (20, 20), (10, 800)];
/// The window of the claim: the default of 3.2.3.
const WINDOW: u32 = 20;

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let alone = |seed| Merge::adaptive(2, DAMPED, SPAN, seed);
    let alone_merge = alone(0);
    let asked = (
        Pairs::of(study, alone),
        Pairs::of(study, |seed| alone(seed).with_tcp(TRANSFERS, WINDOW)),
        rows(study, settings(&alone_merge)),
    );
    let (alone, with_tcp, rows) = (asked.0?, asked.1?, asked.2?);
    let of = |quantity: &str, unit: &str, samples: &[Sample]| {
        Measurement::of(CLAIM, quantity, unit, "pairs", samples)
    };
    Ok(Findings {
        plots: vec![picture(&with_tcp)],
        tables: vec![fair_table(
            "tcp",
            "Two damped senders alone and among TCPs",
            &rows,
        )],
        measurements: vec![
            of("jain.adaptive", "ratio", &with_tcp.samples(jain)),
            of("rate.with_tcp", "Mb/s", &with_tcp.samples(mean)),
            of("rate.alone", "Mb/s", &alone.samples(mean)),
        ],
        reasons: vec![reason(&rows)],
        parameters: alone_merge.with_tcp(TRANSFERS, WINDOW).parameters(TIME),
        ..Findings::default()
    })
}

/// The settings without and with TCP.
fn settings(alone: &Merge) -> impl Iterator<Item = (String, Merge)> {
    let with_tcp = |(count, window)| {
        let name = format!("{count} TCPs, window {window}");
        (name, alone.clone().with_tcp(count, window))
    };
    [("no TCP".to_owned(), alone.clone())]
        .into_iter()
        .chain(OTHERS.map(with_tcp))
}

/// The shares of the two senders among TCPs.
fn reason(rows: &[PairResult]) -> ClaimRemark {
    let texts: Vec<String> = rows.iter().map(PairResult::description).collect();
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "Both yield to TCP, but not equally. Jain's index of the two, and their rates: {}. The \
             two do not share the link without TCP either, for the reason given at \
             psp.fig16_17.adaptive_fair.",
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
