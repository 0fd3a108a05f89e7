//! FQ-CoDel compared with the statements of RFC 8290: equal shares in bytes whatever a flow does,
//! the wait of a flow that sends less than its share, and marks instead of drops.

use super::Scope;
use crate::quantity::{Kind, Quantity};
use crate::{Case, Check, Scenario, Tolerance, ValidateError};

/// A flow `tcp` and a flow `udp` over a bottleneck of 10 Mbit/s.
const SCENARIO: Scenario = Scenario {
    file: "bursts.toml",
    text: include_str!("../../../../validation/scenarios/bursts.toml"),
};
/// Half of the bottleneck in Mbit/s: the share of each of two flows.
const SHARE: f64 = 5.0;
/// The rate of the bottleneck in Mbit/s.
const RATE: f64 = 10.0;
/// The default target of the control law in ms.
const TARGET: f64 = 5.0;
/// The round-trip time without waiting in ms: propagation, and the transmission of 1000 and 40 B.
const ROUND_TRIP: f64 = 6.0 + 0.96 + 0.04;
/// The factors by which SACK and CUBIC reduce a window (RFC 9438, section 4.6).
const HALF: f64 = 0.5;
const CUBIC: f64 = 0.7;
/// The bound on shares.
const BOUND: Tolerance = Tolerance::share(0.01);
/// A flow at twice the rate of the bottleneck.
const FLOOD: &str = "{ kind = \"cbr\", packet = \"1000 B\", interval = \"400 us\" }";

pub(super) fn cases(scope: Scope) -> Result<Vec<Case>, ValidateError> {
    Ok(vec![
        sizes(scope)?,
        flood(scope)?,
        variants(scope)?,
        sparse(scope)?,
        marks(scope)?,
    ])
}

/// The network with FQ-CoDel and these overrides.
fn case(name: &str, scope: Scope, sets: &[String]) -> Result<Case, ValidateError> {
    let mut all = vec![
        "topology.bottleneck.queue={ kind = \"fq-codel\" }".to_owned(),
        format!("run.duration={} s", scope.pick(100, 40)),
        // A round-trip time of about the target: one flow fills its share of the line.
        "topology.bottleneck.delay=1 ms".to_owned(),
        "tcp.variant=sack".to_owned(),
    ];
    all.extend_from_slice(sets);
    let name = format!("rfc8290/{name}");
    Case::new(name, SCENARIO, &all, scope.pick(10, 3))
}

fn traffic(flow: &str, traffic: &str) -> String {
    format!("flow.{flow}.traffic={traffic}")
}

/// The mean wait at the bottleneck, of flows that reduce their windows to these shares.
///
/// The control law keeps the minimum of the wait at its target (RFC 8289, section 3.2), so a window
/// varies between that of the target and the one that a reduction takes there; the mean wait is the
/// middle of both. Without control the windows of both flows, 2000 packets, would wait for 1.6 s.
fn waiting(reductions: [f64; 2]) -> Check {
    let peak = |reduction| (ROUND_TRIP + TARGET) / reduction - ROUND_TRIP;
    let mean = reductions.map(|reduction| f64::midpoint(TARGET, peak(reduction)));
    let reference = f64::midpoint(mean[0], mean[1]);
    let quantity = Quantity::new(Kind::Waiting, "bottleneck");
    Check::new("waiting", quantity, reference, Tolerance::share(0.2))
}

fn goodput(name: &'static str, of: &str, reference: f64, bound: Tolerance) -> Check {
    Check::new(name, Quantity::new(Kind::Goodput, of), reference, bound)
}

/// Two flows of unequal packets at the rate of the bottleneck: rounds are counted in bytes (RFC
/// 8290, section 1.3).
fn sizes(scope: Scope) -> Result<Case, ValidateError> {
    let cbr = |packet, micros| {
        format!("{{ kind = \"cbr\", packet = \"{packet} B\", interval = \"{micros} us\" }}")
    };
    let sets = [
        traffic("tcp", &cbr(1500, 1200)),
        traffic("udp", &cbr(150, 120)),
    ];
    Ok(case("packets-of-150-and-1500", scope, &sets)?
        .with(goodput("goodput-1500", "tcp", SHARE, BOUND))
        .with(goodput("goodput-150", "udp", SHARE, BOUND)))
}

/// TCP and a flood at twice the rate of the bottleneck.
fn flood(scope: Scope) -> Result<Case, ValidateError> {
    Ok(case("flood", scope, &[traffic("udp", FLOOD)])?
        .with(goodput("goodput-tcp", "tcp", SHARE, BOUND))
        .with(goodput("goodput-all", "", RATE, BOUND)))
}

/// Two variants of TCP, of which one grows faster.
fn variants(scope: Scope) -> Result<Case, ValidateError> {
    let sets = [
        traffic("udp", "{ kind = \"ftp\" }"),
        "flow.udp.tcp={ variant = \"cubic\" }".to_owned(),
    ];
    Ok(case("cubic-beside-sack", scope, &sets)?
        .with(goodput("goodput-sack", "tcp", SHARE, BOUND))
        .with(goodput("goodput-cubic", "udp", SHARE, BOUND))
        .with(waiting([HALF, CUBIC])))
}

/// Packets at random times and a flood: each waits for the rest of the packet on the line (sparse
/// flows, RFC 8290, section 1.3), half a transmission time in the mean.
fn sparse(scope: Scope) -> Result<Case, ValidateError> {
    let sparse = "{ kind = \"poisson\", packet = \"100 B\", rate = \"20 kbit/s\" }";
    let sets = [traffic("tcp", FLOOD), traffic("udp", sparse)];
    // Propagation, the transmission over two access links and the bottleneck, and the wait, in ms.
    let reference = 3.0 + 2.0 * 0.008 + 0.08 + 0.8 / 2.0;
    let delay = Quantity::new(Kind::Delay, "udp");
    let bound = Tolerance::share(0.0).at_least(0.02);
    Ok(case("sparse-beside-flood", scope, &sets)?
        .with(Check::new("delay", delay, reference, bound))
        .with(goodput("goodput-all", "", RATE, BOUND)))
}

/// Two ECN-capable flows lose nothing, wait for no more than others, and share.
fn marks(scope: Scope) -> Result<Case, ValidateError> {
    let sets = [
        traffic("udp", "{ kind = \"ftp\" }"),
        "tcp.ecn=true".to_owned(),
    ];
    let drops = Quantity::new(Kind::Drops, "bottleneck");
    Ok(case("ecn", scope, &sets)?
        .with(Check::new("drops", drops, 0.0, Tolerance::share(0.0)))
        .with(goodput("goodput-one", "tcp", SHARE, BOUND))
        .with(goodput("goodput-other", "udp", SHARE, BOUND))
        .with(waiting([HALF, HALF])))
}
