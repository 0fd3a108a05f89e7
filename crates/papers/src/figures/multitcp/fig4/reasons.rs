//! The reasons why Fig. 4 differs.

use polypath_claims::{Reason, Sample};

use super::super::runs::Runs;
use super::super::sensitivity::{
    DROP_TAIL, FAST_GENERATOR, NO_OVERHEAD, SettingThroughputs, range, row,
};
use super::{
    BURSTS, FIFTEEN, LATE, LOCKED, MID, SPIKE, TWENTY, WINDOWS, burst, in_bursts, overshoot,
};
use crate::figures::estimates::text;
use crate::jobs::multitcp::time_series::TimeSeries;

const ALL: [&str; 3] = ["c1", "c2", "c5"];

/// A reason for each claim, as far as it is known.
pub(super) fn all(runs: &Runs, rows: &[SettingThroughputs]) -> Vec<Reason> {
    let of = |claim, text| Reason { claim, text };
    vec![
        of(BURSTS, bursts(runs, rows)),
        of(FIFTEEN, fifteen(runs, rows)),
        of(TWENTY, twenty(runs, rows)),
        of(SPIKE, spike(runs)),
        of(WINDOWS, windows(runs)),
    ]
}

/// The three schemes, one after another.
fn three(runs: &Runs, of: impl Fn(&str) -> Vec<Sample>) -> String {
    debug_assert!(!runs.of_scheme(ALL[0]).is_empty());
    let [one, two, five] = ALL.map(|scheme| text(&of(scheme), 0));
    format!("{one}, {two} and {five}")
}

/// Three columns of the table of settings: their ranges.
fn ranges(rows: &[SettingThroughputs], first: usize) -> String {
    let [one, two, five] = [0, 1, 2].map(|column| range(rows, first + column));
    format!("{one}, {two} and {five} kb/s")
}

fn bursts(runs: &Runs, rows: &[SettingThroughputs]) -> String {
    format!(
        "One, two and five connections have {} kb/s. With drop-tail they have the 500 kb/s that 5.5 Mb/s of datagrams leave, and more where \
         the phases of the packets favour them. Over the rows of table `settings` of multitcp.sensitivity they have {}; with {NO_OVERHEAD} {}, and \
         with {DROP_TAIL} {}.",
        three(runs, |scheme| burst(runs, scheme)),
        ranges(rows, 0),
        row(rows, NO_OVERHEAD, 0),
        row(rows, DROP_TAIL, 0),
    )
}

fn fifteen(runs: &Runs, rows: &[SettingThroughputs]) -> String {
    let share = |n: f64| 6000.0 * n / (15.0 + n);
    format!(
        "One, two and five connections have {} kb/s, where equal shares are {:.0}, {:.0} and {:.0}. With {DROP_TAIL} they have {}, as in ns-2 \
         with windows that stay. {LOCKED} With {FAST_GENERATOR} they have {}; over the rows of table `settings` of multitcp.sensitivity {}.",
        three(runs, |scheme| runs.throughput(scheme, MID)),
        share(1.0),
        share(2.0),
        share(5.0),
        row(rows, DROP_TAIL, 3),
        row(rows, FAST_GENERATOR, 3),
        ranges(rows, 3),
    )
}

fn twenty(runs: &Runs, rows: &[SettingThroughputs]) -> String {
    format!(
        "Against 20 transfers one, two and five connections have {} kb/s, against 15 {}. With {DROP_TAIL} they have {} against 20 \
         transfers and {} against 15. {LOCKED}",
        three(runs, |scheme| runs.throughput(scheme, LATE)),
        three(runs, |scheme| runs.throughput(scheme, MID)),
        row(rows, DROP_TAIL, 6),
        row(rows, DROP_TAIL, 3),
    )
}

/// The sum of windows in bursts, with two and with five connections.
fn sums(runs: &Runs) -> [String; 2] {
    let of = |run: &TimeSeries| in_bursts(&run.windows);
    ["c2", "c5"].map(|scheme| text(&runs.samples(scheme, of), 1))
}

fn spike(runs: &Runs) -> String {
    let [two, five] = ["c2", "c5"].map(|scheme| text(&runs.samples(scheme, overshoot), 0));
    let [of_two, of_five] = sums(runs);
    format!(
        "Two connections overshoot by {two} kb/s, five by {five}. The overshoot follows the sum of windows, which is {of_two} and {of_five} in the mean \
         over the bursts: without the target the sum reaches its bound."
    )
}

fn windows(runs: &Runs) -> String {
    let [two, five] = sums(runs);
    let [mid, late] = [MID, LATE].map(|period| text(&runs.windows("c5", period), 1));
    format!(
        "The sum is {two} with two connections and {five} with five in bursts; with five it is {mid} against 15 transfers and {late} against 20. \
         Wherever the target is missed for long, the sum is at its bound, whatever the congestion."
    )
}
