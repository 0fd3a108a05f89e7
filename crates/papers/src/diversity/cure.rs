//! The cure that the paper proposes and did not test: ECN on the signature of congestion (VI).

mod rows;

use polypath_report::network::jain_index;
use polypath_report::plot::Plot;

use self::rows::{Group, LATE, Member, groups};
use super::latecomer;
use super::run::{Ran, samples};
use super::setting::{LINKS, LONG, SHARE, paper, parameters};
use crate::estimates::{estimate, text};
use crate::figure::{Figure, Findings, Reason, Sheet};
use crate::measurement::{Measurement, Sample};
use crate::pictures::{axis, sheet};
use crate::study::{Pending, Study};

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.ecn_fix",
    title: "ECN on the signature of congestion: single link, naive, cured",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.ecn_fix";

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let groups = groups(study)?;
    let shown = groups.iter().find(|group| group.is_shown());
    Ok(Findings {
        plots: shown.map(side_by_side).into_iter().collect(),
        sheets: vec![table(&groups)],
        measurements: groups.iter().flat_map(measurements).collect(),
        caveats: vec![Reason {
            claim: CLAIM,
            text: format!(
                "A flow halves its window on a mark (RFC 3168, 6.1.2), and falls to 1 on a loss, as all flows of the paper \
                 do. Of excess, only round trips above the capacity count, the others as 0. The late flow begins at round \
                 trip {LATE} and is compared over 500. The paper's plain rule stands beside the default in the table."
            ),
        }],
        reasons: vec![reason(&groups)],
        parameters: parameters(&paper(20, LINKS, SHARE, LONG)),
        ..Findings::default()
    })
}

/// What cured flows get, over what flows on one link that fades do.
fn reason(groups: &[Group]) -> Reason {
    let mean = |group: &Group, member| {
        let goodputs = samples(group.runs(member), Ran::goodput);
        estimate(&goodputs).map_or(0.0, |found| found.mean)
    };
    let few = groups.iter().filter(|group| group.share == SHARE);
    let told = few.map(|group| {
        let ratio = mean(group, Member::Cured) / mean(group, Member::Single);
        format!("{}: {ratio:.2}", group.id())
    });
    Reason {
        claim: CLAIM,
        text: format!(
            "Goodput is what is near its bound, with short fades. Halving on marks keeps windows between about half of the \
             capacity and all of it, whatever the fades; after a short fade (nu 100/s) a flow on a single link begins to \
             grow at once, after a long one (nu 1/s) ten round trips later. Cured over single link at {SHARE} packets a \
             flow: {}.",
            told.collect::<Vec<_>>().join("; ")
        ),
    }
}

/// Jain's index of what arrived of each flow.
fn jain(ran: &Ran) -> f64 {
    jain_index(&ran.shares(0)).unwrap_or(0.0)
}

fn measurements(group: &Group) -> Vec<Measurement> {
    let at = f64::from(group.share);
    let of = |quantity: &str, unit: &str, samples: &[Sample]| {
        let name = format!("{quantity}.{}", group.id());
        Measurement::of(CLAIM, &name, unit, &group.name(), samples).over("packets a flow", "", at)
    };
    let ran = |quantity: &str, member: Member, value: fn(&Ran) -> f64| {
        of(quantity, "ratio", &samples(group.runs(member), value))
    };
    let late = |quantity: &str, member: Member| {
        let samples = latecomer::samples(group.late(member), |late| late.share);
        let name = format!("{quantity}.{}", group.id());
        let pairs = format!("{}, late", group.name());
        Measurement::of(CLAIM, &name, "ratio", &pairs, &samples).over("packets a flow", "", at)
    };
    vec![
        ran("max_excess.cured", Member::Cured, |ran| ran.most),
        ran("max_excess.naive", Member::Naive, |ran| ran.most),
        ran("mean_excess.cured", Member::Cured, |ran| ran.excess),
        ran("jain.cured", Member::Cured, jain),
        ran("jain.single_link_unfaded", Member::Unfaded, jain),
        late("late_share.cured", Member::Cured),
        late("late_share.single_link_unfaded", Member::Unfaded),
        ran("goodput.cured.fading", Member::Cured, Ran::goodput),
        ran("goodput.single_link.fading", Member::Single, Ran::goodput),
    ]
}

/// What all flows send in each round trip, over the capacity.
fn side_by_side(group: &Group) -> Plot {
    let of = |member: Member| {
        let ran = group.runs(member).first()?;
        let rounds = ran.totals.len().max(1) as f64;
        let capacity = ran.capacity as f64 / rounds;
        let mut course = ran.course(member.name());
        for point in &mut course.points {
            point.y /= capacity;
        }
        Some(course)
    };
    let members = [Member::Single, Member::Naive, Member::Cured];
    Plot {
        id: "side_by_side".to_owned(),
        title: "Twenty flows, fades of 1 s: one link; four links; four links with ECN".to_owned(),
        x: axis("round trip", ""),
        y: axis("sent in a round trip over the capacity", ""),
        series: members.into_iter().filter_map(of).collect(),
        ..Plot::default()
    }
}

fn table(groups: &[Group]) -> Sheet {
    let rows = groups.iter().flat_map(|group| {
        Member::ALL.into_iter().map(|member| {
            let of =
                |value: fn(&Ran) -> f64, digits| text(&samples(group.runs(member), value), digits);
            let late = latecomer::samples(group.late(member), |late| late.share);
            vec![
                group.share.to_string(),
                group.flows.to_string(),
                group.nu.to_string(),
                member.name().to_owned(),
                of(|ran| ran.most, 4),
                of(|ran| ran.excess, 5),
                of(jain, 3),
                text(&late, 3),
                of(Ran::goodput, 3),
            ]
        })
    });
    sheet(
        "cure",
        "Single link, naive and cured diversity routing over 2000 round trips",
        &[
            "packets a flow",
            "flows",
            "nu /s",
            "what",
            "greatest excess",
            "mean excess",
            "Jain's index",
            "late flow's share",
            "goodput over the capacity",
        ],
        rows.collect(),
    )
}
