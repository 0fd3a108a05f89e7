//! Spaced senders behind a gateway, compared with ns-2, in four modes of starting (packet-spacing
//! paper, Figure 6).

use serde::Deserialize;

use super::{Scope, read};
use crate::quantity::{Kind, Quantity};
use crate::{Case, Check, Scenario, Tolerance, ValidateError};

const SCENARIO: Scenario = Scenario {
    file: "spacing.toml",
    text: include_str!("../../../../validation/scenarios/spacing.toml"),
};
const REFERENCE: &str = include_str!("../../../../validation/reference/spacing.csv");
/// The rate of the senders' links in bits per nanosecond.
const RATE: f64 = 0.1;
/// The maximum loss in the reference where none is possible, in percent: that of a single sender,
/// whose link is slower than the next one.
const EDGES: f64 = 0.013;
/// The number of runs where each sender's clock is drawn once: the means of three draws of sixteen
/// runs differ by a tenth of a percent.
const DRAWN_CLOCKS: u32 = 20;
/// The bound on receive rate and loss.
const BOUND: Tolerance = Tolerance::share(0.01);

#[derive(Deserialize)]
struct SpacingRecord {
    k: u32,
    #[serde(rename = "pkt_B")]
    packet: u32,
    qlimit: u32,
    spacing_us: u32,
    mode: String,
    n_seeds: u32,
    #[serde(rename = "send_Mbps")]
    sent: f64,
    #[serde(rename = "recv_Mbps_mean")]
    received: f64,
    loss_pct_mean: f64,
    loss_pct_min_seed: f64,
    loss_pct_max_seed: f64,
}

pub(super) fn cases(scope: Scope) -> Result<Vec<Case>, ValidateError> {
    let rows: Vec<SpacingRecord> = read("spacing.csv", REFERENCE)?;
    let step = scope.pick(1, 9);
    rows.iter()
        .step_by(step)
        .map(|row| case(row, scope))
        .collect()
}

/// Nanoseconds from the start of a packet to the start of the next.
fn interval(row: &SpacingRecord) -> f64 {
    f64::from(row.spacing_us) * 1e3 + f64::from(row.packet) * 8.0 / RATE
}

fn case(row: &SpacingRecord, scope: Scope) -> Result<Case, ValidateError> {
    let mut sets = vec![
        format!("topology.senders={}", row.k),
        format!("flow.udp.count={}", row.k),
        format!("topology.bottleneck.queue={} packets", row.qlimit),
        format!("flow.udp.traffic.packet={} B", row.packet),
        format!("flow.udp.traffic.interval={} ns", interval(row).round()),
        format!("run.duration={} s", scope.pick(40, 11)),
    ];
    sets.extend(starts(&row.mode).iter().map(ToString::to_string));
    let runs = runs(row, scope);
    let name = format!(
        "ns2/spacing/{}-{}-of-{}-queue-{}-spacing-{}",
        row.mode, row.k, row.packet, row.qlimit, row.spacing_us
    );
    let received = Check {
        factor: 1.0 / f64::from(row.k),
        ..Check::new(
            "received",
            Quantity::new(Kind::Goodput, "udp"),
            row.received,
            BOUND,
        )
    };
    let loss = Check {
        factor: 100.0,
        unit: "%",
        ..Check::new(
            "loss",
            Quantity::new(Kind::Dropped, "bottleneck"),
            row.loss_pct_mean,
            loss_bound(row),
        )
    };
    Ok(Case::new(name, SCENARIO, &sets, runs)?
        .with(received)
        .with(loss))
}

fn runs(row: &SpacingRecord, scope: Scope) -> u32 {
    match (row.mode.as_str(), row.n_seeds) {
        (_, 1) => 1,
        ("drift", _) => scope.pick(DRAWN_CLOCKS, 4),
        (_, n) => scope.pick(n, 1),
    }
}

fn starts(mode: &str) -> &'static [&'static str] {
    match mode {
        "rand" => &["flow.udp.start_spread=100 ms"],
        "drift" => &[
            "flow.udp.traffic.drift=0.005",
            "flow.udp.start_spread=100 ms",
        ],
        "jitter" => &[
            "flow.udp.traffic.jitter=0.5",
            "flow.udp.start_spread=100 ms",
        ],
        _ => &[],
    }
}

/// The share of the reference, but not less than the reference's own uncertainty: half of the
/// difference between its seeds, and the packets in flight when the measurement begins and ends.
fn loss_bound(row: &SpacingRecord) -> Tolerance {
    let packets = row.sent * 1e6 * 39.0 / (f64::from(row.packet) * 8.0);
    let seeds = (row.loss_pct_max_seed - row.loss_pct_min_seed) / 2.0;
    BOUND.at_least(seeds.max(100.0 / packets).max(EDGES))
}
