//! One flow with random losses and no congestion, compared with ns-2 and with PFTK.

use serde::Deserialize;

use super::{DROPS, GOODPUT, Scope, read, variant};
use crate::pftk::pftk;
use crate::quantity::{Kind, Quantity};
use crate::{Case, Check, Scenario, ValidateError};

const SCENARIO: Scenario = Scenario {
    file: "random-loss.toml",
    text: include_str!("../../../../validation/scenarios/random-loss.toml"),
};
const REFERENCE: &str = include_str!("../../../../validation/reference/random_loss.csv");
/// Bits of a segment, by which goodput counts.
const SEGMENT: f64 = 8000.0;
/// Seconds for the round trip, transmission included, and the minimum timeout.
const RTT: f64 = 0.040_083;
const T0: f64 = 0.2;
/// The maximum loss at which agreement is demanded.
const LARGEST: f64 = 0.03;
/// Half of the last digit of the reference's share of retransmissions.
const DIGIT: f64 = 0.000_05;

#[derive(Deserialize)]
struct RandomLossRecord {
    p: f64,
    variant: String,
    delack: u32,
    #[serde(rename = "mean_goodput_Mbps")]
    goodput: f64,
    rexmit_frac: f64,
    ratio_pftk: f64,
}

pub(super) fn cases(scope: Scope) -> Result<Vec<Case>, ValidateError> {
    let rows: Vec<RandomLossRecord> = read("random_loss.csv", REFERENCE)?;
    let judged = rows.iter().filter(|row| row.p <= LARGEST);
    judged.map(|row| case(row, scope)).collect()
}

fn case(row: &RandomLossRecord, scope: Scope) -> Result<Case, ValidateError> {
    let variant = variant(&row.variant);
    // The rarer the losses, the longer the run must be for a stable mean.
    let reduced = if row.p < 0.003 { 1000 } else { 300 };
    let mut sets = vec![
        format!("run.duration={} s", scope.pick(1000, reduced)),
        format!("tcp.variant={variant}"),
        format!("link.there.loss={}", row.p),
    ];
    let mut name = format!("ns2/random-loss/{variant}-loss-{}", row.p);
    if row.delack == 1 {
        sets.push("tcp.delayed_ack=100 ms".to_owned());
        name.push_str("-delayed-ack");
    }
    let goodput = Quantity::new(Kind::Goodput, "tcp");
    let model = pftk(row.p, RTT, T0, f64::from(1 + row.delack)) * SEGMENT / 1e6;
    let beside_pftk = Check {
        factor: 1.0 / model,
        unit: "of PFTK",
        ..Check::new("pftk", goodput.clone(), row.ratio_pftk, GOODPUT)
    };
    let share = Quantity::new(Kind::RetransmittedShare, "tcp");
    let rounded = DROPS.at_least(DROPS.relative * row.rexmit_frac + DIGIT);
    Ok(Case::new(name, SCENARIO, &sets, scope.pick(20, 5))?
        .with(Check::new("goodput", goodput, row.goodput, GOODPUT))
        .with(Check::new(
            "retransmissions",
            share,
            row.rexmit_frac,
            rounded,
        ))
        .with(beside_pftk))
}
