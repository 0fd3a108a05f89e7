//! The bounds on the policies for media in time, fixed before the first race.

use polypath_core::time::Duration;
use polypath_report::media::{MediaFigures, PolicyFigures};
use serde::Serialize;

/// The name of the setting with the second deadline of the file and a redundancy of a tenth.
pub(crate) const RELAXED: &str = "in-time";
/// The name of the setting with the first deadline of the file and a redundancy of a fifth.
pub(crate) const TIGHT: &str = "in-time-tight";
/// The transport that bounds the policies in scenarios without bounds of their own.
const BROADCAST: &str = "srt-broadcast";

/// A bound, and what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Bound {
    policy: &'static str,
    figure: String,
    found: f64,
    most: f64,
}

/// The bounds of a scenario with deadlines of 100 and 200 ms.
struct Limits {
    name: &'static str,
    /// Bytes on the wire over payload, setting of 200 ms.
    wire: f64,
    /// Late or lost at 100 ms, in percent of the packets, setting of 100 ms.
    late: f64,
    /// The 99.9th percentile of the delay, in milliseconds, setting of 100 ms.
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

/// The bounds of a scenario with these deadlines, on the means over the runs. Those of a scenario that
/// has none: no more late packets than SRT's broadcast bonding, and a quarter of its extra bytes.
pub(crate) fn check(scenario: &str, deadlines: &[Duration], figures: &MediaFigures) -> Vec<Bound> {
    let find = |name: &str| figures.policies.iter().find(|policy| policy.name == name);
    let limits = SCENARIOS.iter().find(|limits| limits.name == scenario);
    let mut bounds = Vec::new();
    if let (Some(limits), Some(of)) = (limits, find(RELAXED)) {
        bounds.extend(relaxed(limits, of));
    }
    if let (Some(limits), Some(of)) = (limits, find(TIGHT)) {
        bounds.extend(tight(limits, of));
    }
    if let (None, Some(of), Some(broadcast)) = (limits, find(RELAXED), find(BROADCAST)) {
        bounds.extend(beside(of, broadcast, deadlines));
    }
    bounds
}

fn relaxed(limits: &Limits, of: &PolicyFigures) -> [Bound; 2] {
    [
        bound(RELAXED, "late or lost at 200 ms, %", late(of, 1), 0.02),
        bound(RELAXED, "wire over payload", wire(of), limits.wire),
    ]
}

fn tight(limits: &Limits, of: &PolicyFigures) -> [Bound; 4] {
    let ms = |seconds: Option<f64>| seconds.map_or(f64::INFINITY, |seconds| seconds * 1e3);
    let p999 = ms(of.delay[2].map(|of| of.mean));
    let gap = ms(of.longest_gap.map(|of| of.mean));
    [
        bound(TIGHT, "late or lost at 100 ms, %", late(of, 0), limits.late),
        bound(
            TIGHT,
            "99.9th percentile of the delay, ms",
            p999,
            limits.p999,
        ),
        bound(TIGHT, "wire over payload", wire(of), 1.25),
        bound(TIGHT, "longest gap, ms", gap, 90.0),
    ]
}

fn beside(of: &PolicyFigures, broadcast: &PolicyFigures, deadlines: &[Duration]) -> [Bound; 2] {
    let deadline = deadlines.get(1).copied().unwrap_or_default();
    let figure = format!("late or lost at {deadline}, %");
    let extra = |of| wire(of) - 1.0;
    let most = extra(broadcast) / 4.0;
    [
        bound(RELAXED, figure, late(of, 1), late(broadcast, 1)),
        bound(RELAXED, "extra bytes over payload", extra(of), most),
    ]
}

fn bound(policy: &'static str, figure: impl Into<String>, found: f64, most: f64) -> Bound {
    Bound {
        policy,
        figure: figure.into(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_report::statistics::Estimate;

    /// The figures of a policy: late shares at two deadlines, bytes over payload, and for both times
    /// 50 ms.
    fn figures(name: &str, late: [f64; 2], wire: f64) -> PolicyFigures {
        let mean = |value| Estimate::of(&[value]);
        PolicyFigures {
            name: name.to_owned(),
            late: late.map(mean).into(),
            late_differences: Vec::new(),
            lost: None,
            delay: [0.02, 0.03, 0.05].map(mean),
            longest_gap: mean(0.05),
            reordered: None,
            wire_ratio: mean(wire),
            wire: Vec::new(),
            paths: Vec::new(),
            processor: None,
        }
    }

    fn of(scenario: &str, policies: Vec<PolicyFigures>) -> Vec<Bound> {
        let deadlines = [300, 500].map(Duration::from_millis);
        check(scenario, &deadlines, &MediaFigures { policies })
    }

    #[test]
    fn a_scenario_with_bounds_checks_each_setting_against_them() {
        let relaxed = |late, wire| of("media-fades", vec![figures(RELAXED, [0.5, late], wire)]);
        let holds = |bounds: Vec<Bound>| bounds.iter().map(Bound::holds).collect::<Vec<_>>();
        assert_eq!(holds(relaxed(0.0002, 1.14)), [true, true]);
        assert_eq!(holds(relaxed(0.00021, 1.14)), [false, true]);
        assert_eq!(holds(relaxed(0.0, 1.141)), [true, false]);
        let tight = |late, p999, wire, gap| {
            let mut of_tight = figures(TIGHT, [late, 0.5], wire);
            of_tight.delay[2] = Estimate::of(&[p999]);
            of_tight.longest_gap = Estimate::of(&[gap]);
            holds(of("media-congestion", vec![of_tight]))
        };
        assert_eq!(tight(0.005, 0.15, 1.25, 0.09), [true; 4]);
        assert_eq!(tight(0.0051, 0.151, 1.251, 0.091), [false; 4]);
    }

    #[test]
    fn other_scenarios_are_bounded_by_srt_s_broadcast() {
        let beside = |late, wire| {
            let broadcast = figures(BROADCAST, [0.5, 0.001], 2.2);
            of(
                "media-far",
                vec![figures(RELAXED, [0.9, late], wire), broadcast],
            )
        };
        let bounds = beside(0.001, 1.3);
        assert!(bounds.iter().all(Bound::holds), "{bounds:?}");
        let sentence = "in-time: late or lost at 500 ms, % 0.100, at most 0.100: holds";
        assert_eq!(bounds[0].sentence(), sentence);
        let bounds = beside(0.0011, 1.301);
        assert!(!bounds.iter().any(Bound::holds), "{bounds:?}");
        assert!(bounds[1].sentence().ends_with("at most 0.300: EXCEEDED"));
        // Without SRT there is no bound.
        assert!(of("media-far", vec![figures(RELAXED, [0.9, 0.9], 9.0)]).is_empty());
    }

    #[test]
    fn a_figure_that_does_not_exist_exceeds_its_bound() {
        let mut nothing = figures(RELAXED, [0.0, 0.0], 1.0);
        nothing.late = vec![None, None];
        nothing.wire_ratio = None;
        let bounds = of("media-random", vec![nothing]);
        assert_eq!(bounds.len(), 2);
        assert!(!bounds.iter().any(Bound::holds), "{bounds:?}");
    }
}
