//! Two damped senders among TCPs (Fig. 19).

use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Sample, Study,
};
use polypath_report::plot::Plot;

use super::super::damping::{DAMPED, over_time};
use super::super::lab::{LabRuns, beside};
use super::super::sensitivity::{PairResult, fair_table, rows};
use super::{Pairs, SPAN, TIME, jain, mean};
use crate::figures::pictures::{mbits, seconds};
use crate::jobs::psp::merge::Merge;
use crate::jobs::psp::trace::RateTrace;

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
/// The window of the lab's, which is not limited: it only names the job.
const LARGE_WINDOW: u32 = 800;

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let alone = |seed| Merge::adaptive(2, DAMPED, SPAN, seed);
    let alone_merge = alone(0);
    let asked = (
        Pairs::of(study, alone),
        Pairs::of(study, |seed| alone(seed).with_tcp(TRANSFERS, WINDOW)),
        rows(study, settings(&alone_merge)),
    );
    let in_lab = (
        LabRuns::of(study, alone),
        LabRuns::of(study, |seed| alone(seed).with_tcp(TRANSFERS, LARGE_WINDOW)),
    );
    let (alone, with_tcp, rows) = (asked.0?, asked.1?, asked.2?);
    let lab = in_lab.0?.zip(in_lab.1?);
    let lab = lab.map(|(alone, with_tcp)| (alone.into_pairs(), with_tcp.into_pairs()));
    let mut tables = vec![fair_table(
        "tcp",
        "Two damped senders alone and among TCPs",
        &rows,
    )];
    tables.extend(lab.as_ref().map(|lab| in_lab_table(&with_tcp, &lab.1)));
    Ok(Findings {
        plots: vec![picture(&with_tcp)],
        tables,
        measurements: measured(&alone, &with_tcp),
        in_lab: lab.map_or_else(Vec::new, |(alone, with_tcp)| measured(&alone, &with_tcp)),
        reasons: vec![reason(&rows)],
        parameters: alone_merge.with_tcp(TRANSFERS, WINDOW).parameters(TIME),
        ..Findings::default()
    })
}

fn measured(alone: &Pairs, with_tcp: &Pairs) -> Vec<Measurement> {
    let of = |quantity: &str, unit: &str, samples: &[Sample]| {
        Measurement::of(CLAIM, quantity, unit, "pairs", samples)
    };
    vec![
        of("jain.adaptive", "ratio", &with_tcp.samples(jain)),
        of("rate.with_tcp", "Mb/s", &with_tcp.samples(mean)),
        of("rate.alone", "Mb/s", &alone.samples(mean)),
    ]
}

/// The senders of the lab, whose TCPs have the kernel's windows, beside those of the claim.
fn in_lab_table(simulated: &Pairs, lab: &Pairs) -> FigureTable {
    let row = |name: &'static str, of: fn(&[RateTrace]) -> f64| {
        (name, simulated.samples(of), lab.samples(of))
    };
    beside(
        "Two damped senders among ten transfers: simulated with a window of 20 packets, and on real sockets among the \
         kernel's, whose windows are not limited",
        3,
        &[
            row("Jain's index of the senders", jain),
            row("mean rate of a sender Mb/s", mean),
        ],
    )
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
