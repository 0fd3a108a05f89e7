//! The conclusion of a media stream.

use polypath_core::time::Duration;

use super::MediaRecord;
use super::figures::{MediaFigures, PolicyFigures};
use crate::conclusion::numbers::{ANY, single, with_interval};
use crate::conclusion::{Comparison, LISTED, Wording, sentence};

/// The runs that are recommended where a single one gives no interval.
const RUNS: u32 = 20;

/// The sentences of the conclusion of a media stream, about its middle deadline.
pub(super) fn conclusion(record: MediaRecord<'_>, figures: &MediaFigures) -> Vec<String> {
    let delivered = |of: &PolicyFigures| of.lost.is_some_and(|lost| lost.mean < 1.0);
    if !figures.policies.iter().any(delivered) {
        return vec![
            "No packet arrived, so that nothing can be compared: check the paths and their outages."
                .to_owned(),
        ];
    }
    let deadlines = &record.scenario.media.deadlines;
    let middle = deadlines.len() / 2;
    let late = |of: &PolicyFigures| of.late.get(middle).copied().flatten();
    let mut sentences: Vec<String> = Vec::new();
    if let Some(deadline) = deadlines.get(middle) {
        let words = each(figures, |of| {
            Some(with_interval(late(of)?.scaled(100.0), "%"))
        });
        sentences.push(format!("Late or lost at {deadline}: {words}."));
        sentences.extend(compared(figures, middle, *deadline));
    }
    let ratio = |of: &PolicyFigures| Some(single(of.wire_ratio?.mean));
    let words = each(figures, ratio);
    sentences.push(format!("Bytes on the wire per byte of payload: {words}."));
    let gap = |of: &PolicyFigures| Some(with_interval(of.longest_gap?.scaled(1e3), "ms"));
    let words = each(figures, gap);
    sentences.push(format!("Longest time without a delivery: {words}."));
    sentences.push(basis(record, figures));
    sentences
}

/// The first policies, each with a value.
fn each(figures: &MediaFigures, value: impl Fn(&PolicyFigures) -> Option<String>) -> String {
    let shown = figures.policies.iter().take(LISTED);
    let words = shown.filter_map(|of| Some(format!("{} {}", of.name, value(of)?)));
    words.collect::<Vec<String>>().join(", ")
}

/// The policies compared with the first one, at the deadline at position `n`.
fn compared(figures: &MediaFigures, n: usize, deadline: Duration) -> Option<String> {
    let (first, others) = figures.policies.split_first()?;
    let comparison = |of: &PolicyFigures| {
        Some(Comparison {
            subject: of.name.clone(),
            name: of.name.clone(),
            difference: of.late_differences.get(n).copied().flatten()?,
            timed_out: None,
        })
    };
    let comparisons: Vec<Comparison> = others.iter().filter_map(comparison).collect();
    let name = &first.name;
    let wording = Wording {
        verb: "had",
        verb_of_several: "had",
        less: format!("fewer late or lost packets than {name}"),
        greater: format!("more late or lost packets than {name}"),
        same: format!("showed no difference from {name} at {deadline}"),
        range: ANY,
        unit: "% of all",
        scale: 100.0,
        subject: String::new(),
        plural: "policies",
        listed: LISTED,
    };
    sentence(&comparisons, &wording).map(|text| text + ".")
}

/// The source of the intervals.
fn basis(record: MediaRecord<'_>, figures: &MediaFigures) -> String {
    let seed = record.scenario.seed;
    match record.seeds.len() {
        1 => format!(
            "A single run (seed {seed}) gives no interval: repeat with --set media.runs={RUNS}."
        ),
        runs if figures.policies.len() < 2 => {
            format!("Intervals are those of {runs} runs, with seeds derived from {seed}.")
        }
        runs => format!("Differences are paired over {runs} runs, with seeds derived from {seed}."),
    }
}
