//! Results of queueing theory: waiting times of the M/D/1 queue, availability of a two-state link.

use super::Scope;
use crate::quantity::{Kind, Quantity};
use crate::{Case, Check, Scenario, Tolerance, ValidateError};

const WAITING: Scenario = Scenario {
    file: "waiting.toml",
    text: include_str!("../../../../validation/scenarios/waiting.toml"),
};
const AVAILABILITY: Scenario = Scenario {
    file: "availability.toml",
    text: include_str!("../../../../validation/scenarios/availability.toml"),
};
/// The time that the line of `waiting.toml` takes for a packet, in ms: 1000 B at 10 Mbit/s.
const SERVICE: f64 = 0.8;
/// Load in hundredths, and the bound on the waiting time.
const LOADS: [(u32, f64); 4] = [(50, 0.02), (70, 0.02), (90, 0.02), (95, 0.05)];
/// Mean seconds up and down.
const SOJOURNS: [(u32, u32); 3] = [(1, 1), (9, 1), (19, 1)];

pub(super) fn cases(scope: Scope) -> Result<Vec<Case>, ValidateError> {
    let waiting = LOADS
        .iter()
        .map(|(load, bound)| waiting(scope, *load, *bound));
    let available = SOJOURNS
        .iter()
        .map(|(up, down)| availability(scope, *up, *down));
    waiting.chain(available).collect()
}

/// rho s / (2 (1 - rho)) (Pollaczek-Khinchine for a constant service time s).
fn waiting(scope: Scope, load: u32, bound: f64) -> Result<Case, ValidateError> {
    let rho = f64::from(load) / 100.0;
    // The mean of a full queue needs many busy periods, which become rarer the fuller it is.
    let reduced = if load < 90 { 200 } else { 2000 };
    let sets = [
        format!("flow.udp.traffic.rate={} kbit/s", load * 100),
        format!("run.duration={} s", scope.pick(2000, reduced)),
    ];
    let name = format!("theory/m-d-1/load-0.{load}");
    let reference = SERVICE * rho / (2.0 * (1.0 - rho));
    let quantity = Quantity::new(Kind::Waiting, "line");
    let check = Check::new("waiting", quantity, reference, Tolerance::share(bound));
    Ok(Case::new(name, WAITING, &sets, scope.pick(20, 4))?.with(check))
}

/// up / (up + down) for the mean sojourns (an alternating renewal process).
fn availability(scope: Scope, up: u32, down: u32) -> Result<Case, ValidateError> {
    let sets = [
        format!("link.line.onoff.up={up} s"),
        format!("link.line.onoff.down={down} s"),
    ];
    let reference = f64::from(up) / f64::from(up + down);
    let quantity = Quantity::new(Kind::Passed, "line");
    let check = Check::new("availability", quantity, reference, Tolerance::share(0.01));
    let name = format!("theory/two-state-link/up-{up}-down-{down}");
    Ok(Case::new(name, AVAILABILITY, &sets, scope.pick(20, 5))?.with(check))
}
