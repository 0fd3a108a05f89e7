//! The conclusion of transfers, simulated or real.

use super::numbers::with_interval;
use super::{Comparison, LISTED, Wording, sentence};
use crate::figures::{BASELINE, Difference, Figures, SchemeFigures};
use crate::record::{ExperimentRecord, SchemeRecord};
use crate::statistics::Estimate;

/// The rounds that are recommended where a single one gives no interval.
const ROUNDS: u32 = 20;

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
        return vec![format!(
            "No scheme is compared, since {BASELINE} is not among them: add it to `schemes`."
        )];
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
    let times = sentence(&compared, &times());
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
    sentences.extend(overhead(&schemes().collect::<Vec<_>>()));
    let others: Vec<Comparison> = schemes()
        .filter_map(|(record, figures)| harm(record, figures))
        .collect();
    sentences.extend(sentence(&others, &harms()).map(|text| text.replacen('o', "O", 1) + "."));
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
        let mean = with_interval(
            Estimate {
                ci95: None,
                ..transfer
            },
            1.0,
            "s",
        );
        return format!(
            "{BASELINE} needed at least {mean} for {size} on average, since {timed_out} of its {n} \
             transfers timed out."
        );
    }
    format!(
        "{BASELINE} needed {} for {size} on average.",
        with_interval(transfer, 1.0, "s")
    )
}

fn times() -> Wording {
    Wording {
        less: format!("was faster than {BASELINE}"),
        greater: format!("was slower than {BASELINE}"),
        same: format!("did not differ from {BASELINE}"),
        unit: "s",
        scale: 1.0,
        subject: String::new(),
        plural: "schemes",
        listed: LISTED,
    }
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

/// The overhead of each scheme on the wire.
fn overhead(schemes: &[(&SchemeRecord, &SchemeFigures)]) -> Option<String> {
    let ratio = |(record, figures): &(&SchemeRecord, &SchemeFigures)| {
        Some(format!("{} {:.2}", record.name, figures.overhead_ratio?))
    };
    let ratios: Vec<String> = schemes.iter().filter_map(ratio).collect();
    (!ratios.is_empty()).then(|| {
        format!(
            "Bytes on the wire per application byte: {}.",
            ratios.join(", ")
        )
    })
}

/// The background of a scheme compared with that of the baseline.
fn harm(record: &SchemeRecord, figures: &SchemeFigures) -> Option<Comparison> {
    let harm = figures.harm?;
    let mean = harm.mean - 1.0;
    Some(Comparison {
        subject: format!("other traffic next to {}", record.name),
        name: record.name.clone(),
        difference: Difference::exact(Estimate { mean, ..harm }),
        timed_out: None,
    })
}

fn harms() -> Wording {
    Wording {
        less: format!("was less than next to {BASELINE}"),
        greater: format!("was more than next to {BASELINE}"),
        same: format!("did not differ from that next to {BASELINE}"),
        unit: "%",
        scale: 100.0,
        subject: "other traffic next to ".to_owned(),
        plural: "schemes",
        listed: LISTED,
    }
}
