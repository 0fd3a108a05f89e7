//! The conclusion of transfers, simulated or real.

use super::numbers::{single, with_interval};
use super::{Comparison, LISTED, Wording, capitalized, sentence};
use crate::figures::{BASELINE, Figures, SchemeFigures};
use crate::record::{ExperimentRecord, SchemeRecord};
use polypath_core::time::Duration;

/// The rounds that are recommended where a single one gives no interval.
const ROUNDS: u32 = 20;

/// The schemes whose effect on other traffic is listed one by one, at most.
const HARMS: usize = 4;

/// The sentences of the conclusion of an experiment.
#[must_use]
pub fn conclusion(experiment: &ExperimentRecord, figures: &Figures) -> Vec<String> {
    if experiment
        .lateness
        .is_some_and(|lateness| !lateness.valid())
    {
        let invalid = "The run is invalid, since the emulator was too late: its figures support no conclusion.";
        return vec![invalid.to_owned()];
    }
    let schemes = || experiment.schemes.iter().zip(&figures.schemes);
    let transfers = || experiment.schemes.iter().flat_map(|s| &s.transfers);
    if transfers().all(|transfer| transfer.duration.is_none()) {
        return vec![format!(
            "No transfer completed within {}, so that nothing can be compared: check the paths, \
             or raise transfer.timeout.",
            experiment.timeout
        )];
    }
    let Some((baseline, of_baseline)) = schemes().find(|(record, _)| record.name == BASELINE)
    else {
        let missing = format!(
            "No scheme is compared, since {BASELINE} is not among them: add it to `schemes`."
        );
        return [missing].into_iter().chain(longest(experiment)).collect();
    };
    let mut sentences = vec![average(experiment, of_baseline)];
    let compared = schemes().filter_map(|(record, figures)| {
        Some(Comparison {
            subject: record.name.clone(),
            name: record.name.clone(),
            difference: figures.difference?,
            timed_out: timed_out(experiment, &[record, baseline]),
        })
    });
    let compared: Vec<Comparison> = compared.collect();
    let times = sentence(&compared, &Wording::of_times());
    sentences.extend(
        times
            .map(|text| text + ".")
            .or_else(|| Some("There is no other scheme to compare it with.".to_owned())),
    );
    let has_interval = |one: &Comparison| one.difference.estimate.ci95.is_some();
    if let Some(first) = compared.first() {
        sentences.push(if compared.iter().any(has_interval) {
            let rounds = first.difference.estimate.n;
            format!(
                "Differences are paired over {rounds} rounds, seed {}.",
                experiment.seed
            )
        } else {
            format!(
                "A single round (seed {}) gives no interval: repeat with \
                 --set transfer.count={ROUNDS}.",
                experiment.seed
            )
        });
    }
    sentences.extend(longest(experiment));
    sentences.extend(overhead(&schemes().collect::<Vec<_>>()));
    let others: Vec<Comparison> = schemes()
        .filter_map(|(record, figures)| harm(record, figures))
        .collect();
    sentences.extend(sentence(&others, &harms()).map(|text| capitalized(&text) + "."));
    sentences
}

/// The transfer time of the baseline.
fn average(experiment: &ExperimentRecord, figures: &SchemeFigures) -> String {
    let size = experiment.content.size;
    let Some(transfer) = figures.transfer else {
        return format!("{BASELINE} has no transfer.");
    };
    if figures.timed_out > 0 {
        let (timed_out, n) = (figures.timed_out, transfer.n);
        let mean = single(transfer.mean);
        return format!(
            "{BASELINE} needed at least {mean} s for {size} on average, since {timed_out} of its \
             {n} transfers timed out."
        );
    }
    format!(
        "{BASELINE} needed {} for {size} on average.",
        with_interval(transfer, "s")
    )
}

/// The schemes whose transfers timed out, with their numbers.
fn timed_out(experiment: &ExperimentRecord, schemes: &[&SchemeRecord]) -> Option<String> {
    let counted = schemes.iter().filter_map(|scheme| {
        let cut = scheme
            .transfers
            .iter()
            .filter(|t| t.duration.is_none())
            .count();
        let all = scheme.transfers.len();
        (cut > 0).then(|| format!("{cut} of {all} transfers of {}", scheme.name))
    });
    let counted: Vec<String> = counted.collect();
    let timeout = experiment.timeout;
    (!counted.is_empty()).then(|| format!("{} timed out after {timeout}", counted.join(" and ")))
}

/// A value of a scheme.
struct NamedValue<'a> {
    name: &'a str,
    value: f64,
    text: String,
}

/// The longest transfer of each scheme.
fn longest(experiment: &ExperimentRecord) -> Option<String> {
    let timeout = experiment.timeout;
    let schemes = experiment.schemes.iter().filter_map(|scheme| {
        let times = scheme.transfers.iter().map(|transfer| transfer.duration);
        let longest = times.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b)))?;
        let seconds = longest.map(Duration::as_secs_f64);
        let text = seconds.map(|seconds| format!("{} s", single(seconds)));
        Some(NamedValue {
            name: &scheme.name,
            value: seconds.unwrap_or(f64::INFINITY),
            text: text.unwrap_or_else(|| format!("more than {timeout}")),
        })
    });
    let text = each(&schemes.collect::<Vec<_>>())?;
    Some(format!("Longest transfer: {text}."))
}

/// The overhead of each scheme on the wire.
fn overhead(schemes: &[(&SchemeRecord, &SchemeFigures)]) -> Option<String> {
    let ratios = schemes.iter().filter_map(|(record, figures)| {
        let value = figures.overhead_ratio?;
        Some(NamedValue {
            name: &record.name,
            value,
            text: single(value),
        })
    });
    let text = each(&ratios.collect::<Vec<_>>())?;
    Some(format!("Bytes on the wire per byte of packets: {text}."))
}

/// Each name with its value, or the least and the greatest of more than [`LISTED`].
fn each(values: &[NamedValue<'_>]) -> Option<String> {
    let by_value = |a: &&NamedValue<'_>, b: &&NamedValue<'_>| a.value.total_cmp(&b.value);
    let least = values.iter().min_by(by_value)?;
    let most = values.iter().max_by(by_value)?;
    if values.len() > LISTED {
        let ends = [least, most].map(|one| format!("{} ({})", one.text, one.name));
        return Some(ends.join(" to "));
    }
    let texts = values
        .iter()
        .map(|one| format!("{} {}", one.name, one.text));
    Some(texts.collect::<Vec<String>>().join(", "))
}

/// The background of a scheme compared with that of the baseline.
fn harm(record: &SchemeRecord, figures: &SchemeFigures) -> Option<Comparison> {
    Some(Comparison {
        subject: format!("other traffic next to {}", record.name),
        name: record.name.clone(),
        difference: figures.harm_difference()?,
        timed_out: None,
    })
}

fn harms() -> Wording {
    Wording {
        verb: "was",
        verb_of_several: "was",
        less: format!("less than next to {BASELINE}"),
        greater: format!("more than next to {BASELINE}"),
        same: format!("showed no difference from that next to {BASELINE}"),
        // No traffic at all is the least.
        range: [-1.0, f64::INFINITY],
        unit: "%",
        scale: 100.0,
        subject: "other traffic next to ".to_owned(),
        plural: "schemes",
        listed: HARMS,
    }
}
