//! The results in sentences.

use super::figures::{SettingFigures, StabilityFigures};
use super::{StabilityRecord, settings};
use crate::conclusion::numbers::with_interval;
use crate::statistics::Estimate;

/// The number of runs from which settings are compared without a note.
const ENOUGH_RUNS: usize = 8;

/// A sentence on the first setting, which is the one of the file or of the first point, also of its
/// runs in the lab; and one on the recommended setting.
pub(super) fn conclusion(record: StabilityRecord<'_>, figures: &StabilityFigures) -> Vec<String> {
    let shown = if record.lab.is_some() { 2 } else { 1 };
    let first = settings(record, figures)
        .take(shown)
        .map(|(setting, of, _)| of_setting(&setting.name, of, figures.unstable_above));
    let count = record.settings.len();
    let recommended = figures.recommended.map(|position| {
        let (name, of) = (&record.settings[position].name, &figures.settings[position]);
        format!(
            "Of the {count} settings \"{name}\" is recommended: {}.{}{}",
            values(of),
            instability(of),
            few_runs(of.runs)
        )
    });
    first.chain(recommended).collect()
}

/// A note if runs of the recommended setting are unstable: it has the fewest of all.
fn instability(of: &SettingFigures) -> String {
    if of.unstable == 0 {
        return String::new();
    }
    format!(
        " No setting is stable in all runs: {} of {} are unstable here, which is the least.",
        of.unstable, of.runs
    )
}

/// A note if the runs are too few to compare settings.
fn few_runs(runs: usize) -> String {
    if runs >= ENOUGH_RUNS {
        return String::new();
    }
    if runs == 1 {
        return format!(
            " One run has no interval: use --replicas {ENOUGH_RUNS} or more to compare settings."
        );
    }
    format!(
        " Intervals over {runs} runs are wide: use --replicas {ENOUGH_RUNS} or more to compare settings."
    )
}

fn of_setting(name: &str, of: &SettingFigures, unstable_above: f64) -> String {
    if of.mean_delay.is_none() {
        return format!(
            "Setting \"{name}\": no datagram arrived after the warm-up; check the paths, and whether the senders end before."
        );
    }
    let verdict = match of.unstable {
        0 => "no run is".to_owned(),
        count => format!("{count} of {} runs are", of.runs),
    };
    format!(
        "Setting \"{name}\": {}; {verdict} unstable (mean delay above {:.1} ms).",
        values(of),
        unstable_above * 1e3
    )
}

/// The switch rate and the delay, each with its 95 % interval.
fn values(of: &SettingFigures) -> String {
    let of_estimate = |estimate: Option<Estimate>, factor, unit| {
        estimate.map_or("none".to_owned(), |estimate| {
            with_interval(estimate.scaled(factor), unit)
        })
    };
    format!(
        "a sender switches {}, and 99 % of the datagrams arrive within {}",
        of_estimate(of.switch_rate, 1.0, "times per second"),
        of_estimate(of.delay[2], 1e3, "ms")
    )
}
