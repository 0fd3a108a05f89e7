//! FQ-CoDel of the Linux kernel, with the same flows.
//!
//! `validation/linux/fq_codel.sh` measures the kernel in an emulated machine and writes
//! `validation/reference/fq_codel_linux.csv`.

use serde::Deserialize;

use super::{Scope, read};
use crate::quantity::{Kind, Quantity};
use crate::{Case, Check, Scenario, Tolerance, ValidateError};

const SCENARIO: Scenario = Scenario {
    file: "fq-codel-linux.toml",
    text: include_str!("../../../../validation/scenarios/fq-codel-linux.toml"),
};
const REFERENCE: &str = include_str!("../../../../validation/reference/fq_codel_linux.csv");
/// Goodput.
const GOODPUT: Tolerance = Tolerance::share(0.01);
/// The mean delay, but at least 0.2 ms: the kernel's shaper sends a packet before its transmission
/// time has passed (0.08 ms for 100 B), not after, and the kernel itself takes some 0.02 ms.
const DELAY: Tolerance = Tolerance::share(0.03).at_least(0.2);
/// Drops; some of the kernel's are in the last milliseconds before or after the measured time.
const DROPS: Tolerance = Tolerance::share(0.03);
/// The overrides of each case of `validation/linux/init`.
const CASES: [(&str, &[&str]); 4] = [
    ("sizes", &[]),
    ("flood", &[FLOOD, "flow.second.traffic={ kind = \"ftp\" }"]),
    ("sparse", &[FLOOD, SPARSE]),
    ("bulk", &[BULK_FIRST, BULK_SECOND]),
];
const FLOOD: &str =
    "flow.first.traffic={ kind = \"cbr\", packet = \"1000 B\", interval = \"400 us\" }";
const SPARSE: &str =
    "flow.second.traffic={ kind = \"cbr\", packet = \"100 B\", interval = \"40.37 ms\" }";
const BULK_FIRST: &str =
    "flow.first.traffic={ kind = \"cbr\", packet = \"1000 B\", interval = \"1200 us\" }";
const BULK_SECOND: &str =
    "flow.second.traffic={ kind = \"cbr\", packet = \"1000 B\", interval = \"1200 us\" }";

#[derive(Deserialize)]
struct LinuxRecord {
    name: String,
    quantity: String,
    mean: f64,
}

pub(super) fn cases(_scope: Scope) -> Result<Vec<Case>, ValidateError> {
    let rows: Vec<LinuxRecord> = read("fq_codel_linux.csv", REFERENCE)?;
    CASES
        .iter()
        .map(|(name, sets)| {
            let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
            let case = Case::new(format!("linux/fq-codel/{name}"), SCENARIO, &sets, 1)?;
            let mut own = rows.iter().filter(|row| row.name == *name);
            own.try_fold(case, |case, row| Ok(case.with(check(row)?)))
        })
        .collect()
}

fn check(row: &LinuxRecord) -> Result<Check, ValidateError> {
    let quantity: Quantity = row.quantity.parse()?;
    let (name, bound) = match (quantity.kind, quantity.of.as_str()) {
        (Kind::Goodput, "first") => ("goodput-first", GOODPUT),
        (Kind::Goodput, _) => ("goodput-second", GOODPUT),
        (Kind::Delay, "first") => ("delay-first", DELAY),
        (Kind::Delay, _) => ("delay-second", DELAY),
        _ => ("drops", DROPS),
    };
    Ok(Check::new(name, quantity, row.mean, bound))
}
