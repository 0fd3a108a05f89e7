//! Plots of a single link, naive copies, and copies with ECN.

use polypath_claims::Sample;
use polypath_report::plot::{Axis, Look, Plot, Series};

use super::super::load::load_over_time;
use super::rows::{Group, Member};
use super::{jain, late_shares};
use crate::figures::estimates::point;
use crate::figures::pictures::axis;
use crate::jobs::diversity::run::{RunResult, samples};
use crate::jobs::diversity::setting::SHARE;

/// The four measures that ECN should improve, for each scheme over the number of flows.
pub(super) fn side_by_side(groups: &[Group]) -> Plot {
    let of_runs = |value: fn(&RunResult) -> f64| {
        move |group: &Group, member| samples(group.runs(member), value)
    };
    Plot {
        id: "side_by_side".to_owned(),
        title: format!(
            "{SHARE} packets per flow, fades of 1 s: one link, naive copies and copies \
                        with ECN"
        ),
        panels: vec![
            panel(
                groups,
                "Overflow",
                "mean excess",
                &of_runs(|ran| ran.excess),
            ),
            panel(
                groups,
                "Unfairness",
                "1 - Jain's index",
                &of_runs(|ran| 1.0 - jain(ran)),
            ),
            panel(
                groups,
                "Lock-out",
                "late flow's share of the mean",
                &late_shares,
            ),
            panel(
                groups,
                "Goodput",
                "goodput over the capacity",
                &of_runs(RunResult::goodput),
            ),
        ],
        ..Plot::default()
    }
}

/// The compared measures.
const SHOWN: [Member; 4] = [
    Member::Unfaded,
    Member::Single,
    Member::Naive,
    Member::Cured,
];

/// A measure of each scheme, side by side at each number of flows.
fn panel(
    groups: &[Group],
    title: &str,
    label: &str,
    measure: &dyn Fn(&Group, Member) -> Vec<Sample>,
) -> Plot {
    let series = |(number, member): (usize, &Member)| {
        let points = groups.iter().filter(|group| group.is_compared());
        let offset = 1.15_f64.powf(number as f64 - 1.5);
        let at = |group: &Group| {
            let x = f64::from(group.flows) * offset;
            point(x, &measure(group, *member))
        };
        Series {
            name: member.name().to_owned(),
            points: points.filter_map(at).collect(),
            look: Look::Marks,
        }
    };
    Plot {
        title: title.to_owned(),
        x: Axis {
            is_log: true,
            ..axis("flows, side by side at 5, 20 and 100", "")
        },
        y: axis(label, ""),
        series: SHOWN.iter().enumerate().map(series).collect(),
        ..Plot::default()
    }
}

/// The packets that all flows of a run send in each round trip, over the capacity.
pub(super) fn traces(group: &Group) -> Plot {
    let ran = |member: &Member| Some((member.name(), group.runs(*member).first()?));
    let shown: Vec<_> = SHOWN.iter().filter_map(ran).collect();
    let most = shown.iter().map(|(_, ran)| ran.most).fold(0.0, f64::max);
    let panel = |(name, ran): &(&str, &RunResult)| {
        let rounds = ran.totals.len().max(1) as f64;
        let capacity = ran.capacity as f64 / rounds;
        let mut series = load_over_time(ran, "");
        for point in &mut series.points {
            point.y /= capacity;
        }
        Plot {
            title: (*name).to_owned(),
            x: axis("round trip", ""),
            y: Axis {
                range: Some([0.0, 1.05 + most]),
                ..axis("sent over the capacity", "")
            },
            series: vec![series],
            ..Plot::default()
        }
    };
    Plot {
        id: "traces".to_owned(),
        title: "A run of twenty flows with fades of 1 s: packets of all flows in a round trip"
            .to_owned(),
        panels: shown.iter().map(panel).collect(),
        ..Plot::default()
    }
}
