//! The bounds on the policies for media in time, fixed before the first race.

use polypath_report::media::{MediaFigures, PolicyFigures};
use serde::Serialize;

/// The name of the setting with a deadline of 200 ms and a redundancy of a tenth.
pub(crate) const RELAXED: &str = "in-time";
/// The name of the setting with a deadline of 100 ms and a redundancy of a fifth.
pub(crate) const TIGHT: &str = "in-time-100";
/// The transport that bounds the policies in scenarios without bounds of their own.
const BROADCAST: &str = "srt-broadcast";

/// A bound, and what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Bound {
    policy: &'static str,
    figure: &'static str,
    found: f64,
    most: f64,
}

/// The bounds of a scenario.
struct Limits {
    name: &'static str,
    /// Bytes on the wire over payload, deadline of 200 ms.
    wire: f64,
    /// Late or lost at 100 ms, in percent of the packets, deadline of 100 ms.
    late: f64,
    /// The 99.9th percentile of the delay, in milliseconds, deadline of 100 ms.
    p999: f64,
}

const SCENARIOS: [Limits; 4] = [
    Limits::new("media-random", 1.12, 0.1, 110.0),
    Limits::new("media-fades", 1.14, 0.1, 110.0),
    Limits::new("media-outages", 1.12, 0.1, 110.0),
    Limits::new("media-congestion", 1.12, 0.5, 150.0),
];

impl Limits {
    const fn new(name: &'static str, wire: f64, late: f64, p999: f64) -> Self {
        Self {
            name,
            wire,
            late,
            p999,
        }
    }
}

impl Bound {
    pub(crate) fn holds(&self) -> bool {
        self.found <= self.most
    }

    pub(crate) fn sentence(&self) -> String {
        let Self {
            policy,
            figure,
            found,
            most,
        } = self;
        let verdict = if self.holds() { "holds" } else { "EXCEEDED" };
        format!("{policy}: {figure} {found:.3}, at most {most:.3}: {verdict}")
    }
}

/// The bounds of a scenario, on the means over the runs. Those of a scenario that has none: no more
/// late packets than SRT's broadcast bonding, and a quarter of its extra bytes.
pub(crate) fn check(scenario: &str, figures: &MediaFigures) -> Vec<Bound> {
    let find = |name: &str| figures.policies.iter().find(|policy| policy.name == name);
    let limits = SCENARIOS.iter().find(|limits| limits.name == scenario);
    match (limits, find(BROADCAST)) {
        (Some(limits), _) => [find(RELAXED).map(|of| relaxed(limits, of))]
            .into_iter()
            .chain([find(TIGHT).map(|of| tight(limits, of))])
            .flatten()
            .flatten()
            .collect(),
        (None, Some(broadcast)) => find(RELAXED).map_or_else(Vec::new, |of| beside(of, broadcast)),
        (None, None) => Vec::new(),
    }
}

fn relaxed(limits: &Limits, of: &PolicyFigures) -> Vec<Bound> {
    vec![
        bound(RELAXED, "late or lost at 200 ms, %", late(of, 1), 0.02),
        bound(RELAXED, "wire over payload", wire(of), limits.wire),
    ]
}

fn tight(limits: &Limits, of: &PolicyFigures) -> Vec<Bound> {
    let ms = |seconds: Option<f64>| seconds.map_or(f64::INFINITY, |seconds| seconds * 1e3);
    let (p999, gap) = (
        of.delay[2].map(|of| of.mean),
        of.longest_gap.map(|of| of.mean),
    );
    vec![
        bound(TIGHT, "late or lost at 100 ms, %", late(of, 0), limits.late),
        bound(
            TIGHT,
            "99.9th percentile of the delay, ms",
            ms(p999),
            limits.p999,
        ),
        bound(TIGHT, "wire over payload", wire(of), 1.25),
        bound(TIGHT, "longest gap, ms", ms(gap), 90.0),
    ]
}

fn beside(of: &PolicyFigures, broadcast: &PolicyFigures) -> Vec<Bound> {
    let extra = |of| wire(of) - 1.0;
    vec![
        bound(
            RELAXED,
            "late or lost at 200 ms, %",
            late(of, 1),
            late(broadcast, 1),
        ),
        bound(
            RELAXED,
            "extra bytes over payload",
            extra(of),
            extra(broadcast) / 4.0,
        ),
    ]
}

const fn bound(policy: &'static str, figure: &'static str, found: f64, most: f64) -> Bound {
    Bound {
        policy,
        figure,
        found,
        most,
    }
}

/// The share of late packets at the deadline at position `n`, in percent.
fn late(of: &PolicyFigures, n: usize) -> f64 {
    let share = of.late.get(n).copied().flatten();
    share.map_or(f64::INFINITY, |share| share.mean * 100.0)
}

fn wire(of: &PolicyFigures) -> f64 {
    of.wire_ratio.map_or(f64::INFINITY, |ratio| ratio.mean)
}
