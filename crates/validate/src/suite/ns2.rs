//! Runs of ns-2 beyond the single flow: shared bottlenecks, UDP bursts against TCP, sixteen UDP
//! with sixteen TCP, congested chains, RED with and without ECN, a stream with transfers, whose
//! links meet at a router.
//!
//! `validation/ns2/cases.csv` names each case, its scenario with overrides, and the script and
//! arguments that are the same in ns-2; `validation/reference/ns2.csv` has the results of ns-2.

use serde::Deserialize;

use super::{DROPS, GOODPUT, QUEUE, Scope, read};
use crate::quantity::{Kind, Quantity};
use crate::{Case, Check, Scenario, ValidateError};

const CASES: &str = include_str!("../../../../validation/ns2/cases.csv");
const REFERENCE: &str = include_str!("../../../../validation/reference/ns2.csv");

#[derive(Deserialize)]
struct CaseRow {
    name: String,
    /// The number of runs in the reduced form, 0 if few runs would prove nothing; the full form has
    /// as many as ns-2.
    reduced: u32,
    scenario: String,
    set: String,
}

#[derive(Deserialize)]
struct FigureRow {
    name: String,
    seeds: u32,
    quantity: String,
    mean: f64,
}

pub(super) fn cases(scope: Scope) -> Result<Vec<Case>, ValidateError> {
    let rows: Vec<CaseRow> = read("cases.csv", CASES)?;
    let figures: Vec<FigureRow> = read("ns2.csv", REFERENCE)?;
    let wanted = rows
        .iter()
        .filter(|row| scope == Scope::Full || row.reduced > 0);
    wanted.map(|row| case(row, &figures, scope)).collect()
}

fn case(row: &CaseRow, figures: &[FigureRow], scope: Scope) -> Result<Case, ValidateError> {
    let sets: Vec<String> = row.set.split(';').map(str::to_owned).collect();
    let scenario = scenario(&row.scenario)?;
    let own = || figures.iter().filter(|figure| figure.name == row.name);
    let seeds = own().map(|figure| figure.seeds).max().unwrap_or(1);
    let runs = scope.pick(seeds, row.reduced);
    let case = Case::new(row.name.clone(), scenario, &sets, runs)?;
    own().try_fold(case, |case, figure| Ok(case.with(check(figure)?)))
}

fn check(figure: &FigureRow) -> Result<Check, ValidateError> {
    let quantity: Quantity = figure.quantity.parse()?;
    let (name, bound) = match (quantity.kind, quantity.of.as_str()) {
        (Kind::Goodput, "long") => ("goodput-long", GOODPUT),
        (Kind::Goodput, "cross") => ("goodput-cross", GOODPUT),
        (Kind::Goodput, "stream") => ("goodput-stream", GOODPUT),
        (Kind::Goodput, _) => ("goodput", GOODPUT),
        (Kind::Loss, _) => ("udp-loss", DROPS),
        (Kind::Queue, _) => ("queue", QUEUE),
        (Kind::Retransmissions, _) => ("retransmissions", DROPS),
        _ => ("drops", DROPS),
    };
    Ok(Check::new(name, quantity, figure.mean, bound))
}

macro_rules! scenarios {
    ($($name:literal),*) => {
        fn scenario(name: &str) -> Result<Scenario, ValidateError> {
            match name {
                $($name => Ok(Scenario {
                    file: $name,
                    text: include_str!(concat!("../../../../validation/scenarios/", $name, ".toml")),
                }),)*
                _ => Err(ValidateError::Data(format!("cases.csv: there is no scenario `{name}`"))),
            }
        }
    };
}
scenarios!(
    "shared",
    "bursts",
    "sixteen",
    "parking-lot",
    "parking-lot-udp",
    "sessions",
    "red",
    "three-links",
    "three-links-red"
);
