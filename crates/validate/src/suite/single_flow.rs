//! One flow over a drop-tail bottleneck, compared with ns-2: four variants, three queues, ACKs
//! delayed or not.
//!
//! Nothing is random. With queues of 50 and 100 packets most rows agree to the packet; with 20,
//! packets arrive at the instants at which others leave, and the order of the two decides whether a
//! packet is dropped: in ns-2 by the rounding of its clock, in ours by rule.

use serde::Deserialize;

use super::{DROPS, GOODPUT, Scope, read, variant};
use crate::quantity::{Kind, Quantity};
use crate::{Case, Check, Scenario, Tolerance, ValidateError};

const SCENARIO: Scenario = Scenario {
    file: "single-flow.toml",
    text: include_str!("../../../../validation/scenarios/single-flow.toml"),
};
const REFERENCE: &str = include_str!("../../../../validation/reference/single_flow.csv");

#[derive(Deserialize)]
struct SingleFlowRecord {
    variant: String,
    delack: u32,
    qlimit: u32,
    #[serde(rename = "goodput_Mbps")]
    goodput: f64,
    rexmit_pkts: f64,
    timeouts: f64,
    drops: f64,
}

pub(super) fn cases(_scope: Scope) -> Result<Vec<Case>, ValidateError> {
    let rows: Vec<SingleFlowRecord> = read("single_flow.csv", REFERENCE)?;
    rows.iter().map(case).collect()
}

fn case(row: &SingleFlowRecord) -> Result<Case, ValidateError> {
    let variant = variant(&row.variant);
    let mut sets = vec![
        format!("tcp.variant={variant}"),
        format!("link.bottleneck.queue={} packets", row.qlimit),
    ];
    let mut name = format!("ns2/single-flow/{variant}-queue-{}", row.qlimit);
    if row.delack == 1 {
        sets.push("tcp.delayed_ack=100 ms".to_owned());
        name.push_str("-delayed-ack");
    }
    let check = |name, kind, of, reference, bound| {
        Check::new(name, Quantity::new(kind, of), reference, bound)
    };
    Ok(Case::new(name, SCENARIO, &sets, 1)?
        .with(check("goodput", Kind::Goodput, "tcp", row.goodput, GOODPUT))
        .with(check("drops", Kind::Drops, "bottleneck", row.drops, DROPS))
        .with(check(
            "retransmissions",
            Kind::Retransmissions,
            "tcp",
            row.rexmit_pkts,
            DROPS,
        ))
        .with(check(
            "timeouts",
            Kind::Timeouts,
            "tcp",
            row.timeouts,
            Tolerance::share(0.0).at_least(1.0),
        )))
}
