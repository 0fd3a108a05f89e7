//! Reasons for which Fig. 4 differs.

use polypath_claims::{ClaimRemark, Sample};

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

/// The reason for each claim, if known.
pub(super) fn all(runs: &Runs, rows: &[SettingThroughputs]) -> Vec<ClaimRemark> {
    let of = |claim, text| ClaimRemark { claim, text };
    vec![
        of(BURSTS, bursts(runs, rows)),
        of(FIFTEEN, fifteen(runs, rows)),
        of(TWENTY, twenty(runs, rows)),
        of(SPIKE, spike(runs)),
        of(WINDOWS, windows(runs)),
    ]
}

/// The values of the three schemes, as text.
fn three(runs: &Runs, of: impl Fn(&str) -> Vec<Sample>) -> String {
    debug_assert!(!runs.of_scheme(ALL[0]).is_empty());
    let [one, two, five] = ALL.map(|scheme| text(&of(scheme), 0));
    format!("{one}, {two} and {five}")
}

/// The ranges of three columns of the table of settings.
fn ranges(rows: &[SettingThroughputs], first: usize) -> String {
    let [one, two, five] = [0, 1, 2].map(|column| range(rows, first + column));
    format!("{one}, {two} and {five} kb/s")
}

fn bursts(runs: &Runs, rows: &[SettingThroughputs]) -> String {
    format!(
        "One, two and five connections have {} kb/s. With drop-tail they get what 5.5 Mb/s of \
         datagrams leave, 500 kb/s, and more if the phases of the packets favour them. Over the \
         rows of table `settings` of multitcp.sensitivity they have {}; with {NO_OVERHEAD} {}, and \
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
        "One, two and five connections have {} kb/s; equal shares are {:.0}, {:.0} and {:.0}. With \
         {DROP_TAIL} they have {}, as in ns-2 with fixed windows. {LOCKED} With {FAST_GENERATOR} \
         they have {}; over the rows of table `settings` of multitcp.sensitivity {}.",
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
        "With 20 transfers, one, two and five connections have {} kb/s, with 15 {}. With \
         {DROP_TAIL} they have {} with 20 transfers and {} with 15. {LOCKED}",
        three(runs, |scheme| runs.throughput(scheme, LATE)),
        three(runs, |scheme| runs.throughput(scheme, MID)),
        row(rows, DROP_TAIL, 6),
        row(rows, DROP_TAIL, 3),
    )
}

/// The sum of windows during bursts, with two and with five connections.
fn sums(runs: &Runs) -> [String; 2] {
    let of = |run: &TimeSeries| in_bursts(&run.windows);
    ["c2", "c5"].map(|scheme| text(&runs.samples(scheme, of), 1))
}

fn spike(runs: &Runs) -> String {
    let [two, five] = ["c2", "c5"].map(|scheme| text(&runs.samples(scheme, overshoot), 0));
    let [of_two, of_five] = sums(runs);
    format!(
        "Two connections overshoot by {two} kb/s, five by {five}. The overshoot follows the sum of \
         windows, whose mean over the bursts is {of_two} and {of_five}: below the target rate it \
         grows to its bound."
    )
}

fn windows(runs: &Runs) -> String {
    let [two, five] = sums(runs);
    let [mid, late] = [MID, LATE].map(|period| text(&runs.windows("c5", period), 1));
    format!(
        "The sum is {two} with two connections and {five} with five during bursts; with five it is \
         {mid} with 15 transfers and {late} with 20. If the target is missed for long, the sum \
         reaches its bound at any congestion."
    )
}
