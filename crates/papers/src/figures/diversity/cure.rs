//! The remedy that the paper proposes and did not test: ECN on the signature of congestion (VI).

mod pictures;
mod rows;

use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Sample, Study,
};
use polypath_report::network::jain_index;

use self::pictures::{side_by_side, traces};
use self::rows::{Group, LATE, Member, groups};
use super::parameters::parameters;
use crate::figures::estimates::{estimate, text};
use crate::figures::pictures::figure_table;
use crate::jobs::diversity::latecomer;
use crate::jobs::diversity::run::{RunResult, samples};
use crate::jobs::diversity::setting::{LINKS, LONG, SHARE, paper};

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.ecn_fix",
    title: "ECN on the signature of congestion: single link, naive copies, copies with ECN",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.ecn_fix";

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let groups = groups(study)?;
    let shown = groups.iter().find(|group| group.is_shown());
    Ok(Findings {
        plots: std::iter::once(side_by_side(&groups))
            .chain(shown.map(traces))
            .collect(),
        tables: vec![table(&groups)],
        measurements: groups.iter().flat_map(measurements).collect(),
        caveats: vec![against_naive(&groups), what_is_compared()],
        reasons: vec![reason(&groups)],
        parameters: parameters(&paper(20, LINKS, SHARE, LONG)),
        ..Findings::default()
    })
}

fn what_is_compared() -> ClaimRemark {
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "A flow halves its window on a mark (RFC 3168, 6.1.2), and resets it to 1 on a loss, as \
             all flows of the paper do. The excess counts round trips above the capacity, and the \
             others as 0. The late flow starts at round trip {LATE} and is compared over 500. The \
             table has the paper's plain rule next to the default. Goodput can exceed 1: full links \
             drop different packets, and a packet that any of them carries arrives."
        ),
    }
}

/// The effect of ECN relative to the naive scheme; the rule compares only overflow.
fn against_naive(groups: &[Group]) -> ClaimRemark {
    let range = |of: &dyn Fn(&Group) -> f64| {
        let all = groups.iter().map(of);
        let (least, most) = all.fold((f64::MAX, f64::MIN), |(least, most), x| {
            (least.min(x), most.max(x))
        });
        format!("{least:.3} to {most:.3}")
    };
    let jain = |member| move |group: &Group| mean(&samples(group.runs(member), self::jain));
    let goodput = |group: &Group, member| mean(&samples(group.runs(member), RunResult::goodput));
    let lost = |group: &Group| 1.0 - goodput(group, Member::Cured) / goodput(group, Member::Naive);
    let [cured, naive] = [Member::Cured, Member::Naive];
    let gains: Vec<[f64; 2]> = groups.iter().filter_map(gain).collect();
    let count = |is: fn(&&[f64; 2]) -> bool| gains.iter().filter(is).count();
    let texts = groups.iter().map(|group| {
        let [cured, naive] = [cured, naive].map(|member| text(&late_shares(group, member), 3));
        format!("{}: {cured} and {naive}", group.name())
    });
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "The rule does not include the effect of ECN on fairness and lock-out, since it \
             compares only with the single link. Jain's index is {} for naive copies, {} for copies \
             with ECN and {} for a single link that does not fade: there was little unfairness to \
             remove. The late flow's share is greater than with naive copies in {} of {} settings, \
             significantly in {}, and less in {}, significantly in {} (ECN and naive: {}). The \
             goodput is less than that of naive copies by a share of {}.",
            range(&jain(naive)),
            range(&jain(cured)),
            range(&jain(Member::Unfaded)),
            count(|gain| gain[0] > 0.0),
            groups.len(),
            count(|gain| gain[0] > gain[1]),
            count(|gain| gain[0] < 0.0),
            count(|gain| -gain[0] > gain[1]),
            texts.collect::<Vec<_>>().join("; "),
            range(&lost),
        ),
    }
}

/// The share of a late flow.
fn late_shares(group: &Group, member: Member) -> Vec<Sample> {
    latecomer::samples(group.late(member), |late| late.share)
}

/// The gain of a late flow by ECN, and half of its 95 % interval.
fn gain(group: &Group) -> Option<[f64; 2]> {
    let of = |member| estimate(&late_shares(group, member));
    let (cured, naive) = (of(Member::Cured)?, of(Member::Naive)?);
    let half = f64::hypot(cured.ci95?, naive.ci95?);
    Some([cured.mean - naive.mean, half])
}

/// The mean of samples; 0 without samples.
fn mean(samples: &[Sample]) -> f64 {
    estimate(samples).map_or(0.0, |found| found.mean)
}

/// The goodput of flows with ECN over that of flows on one fading link.
fn reason(groups: &[Group]) -> ClaimRemark {
    let mean = |group: &Group, member| mean(&samples(group.runs(member), RunResult::goodput));
    let few = groups.iter().filter(|group| group.share == SHARE);
    let texts = few.map(|group| {
        let ratio = mean(group, Member::Cured) / mean(group, Member::Single);
        format!("{}: {ratio:.2}", group.id())
    });
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "The goodput is near its bound with short fades. Halving on marks keeps windows between \
             about half of the capacity and all of it, whatever the fades. After a short fade (nu \
             100/s) a flow on a single link starts to grow immediately, after a long one (nu 1/s) ten \
             round trips later. ECN over single link at {SHARE} packets per flow: {}.",
            texts.collect::<Vec<_>>().join("; ")
        ),
    }
}

/// Jain's index of the delivered packets of each flow.
fn jain(ran: &RunResult) -> f64 {
    jain_index(&ran.shares(0)).unwrap_or(0.0)
}

fn measurements(group: &Group) -> Vec<Measurement> {
    let at = f64::from(group.share);
    let of = |quantity: &str, unit: &str, samples: &[Sample]| {
        let name = format!("{quantity}.{}", group.id());
        Measurement::of(CLAIM, &name, unit, &group.name(), samples).over("packets a flow", "", at)
    };
    let ran = |quantity: &str, member: Member, value: fn(&RunResult) -> f64| {
        of(quantity, "ratio", &samples(group.runs(member), value))
    };
    let late = |quantity: &str, member: Member| {
        let samples = late_shares(group, member);
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
        ran("goodput.cured.fading", Member::Cured, RunResult::goodput),
        ran(
            "goodput.single_link.fading",
            Member::Single,
            RunResult::goodput,
        ),
    ]
}

fn table(groups: &[Group]) -> FigureTable {
    let rows = groups.iter().flat_map(|group| {
        Member::ALL.into_iter().map(|member| {
            let of = |value: fn(&RunResult) -> f64, digits| {
                text(&samples(group.runs(member), value), digits)
            };
            let late = late_shares(group, member);
            vec![
                group.share.to_string(),
                group.flows.to_string(),
                group.nu.to_string(),
                member.name().to_owned(),
                of(|ran| ran.most, 4),
                of(|ran| ran.excess, 5),
                of(jain, 3),
                text(&late, 3),
                of(RunResult::goodput, 3),
            ]
        })
    });
    figure_table(
        "cure",
        "Single link, naive copies and copies with ECN over 2000 round trips",
        &[
            "packets a flow",
            "flows",
            "nu /s",
            "what",
            "maximum excess",
            "mean excess",
            "Jain's index",
            "late flow's share",
            "goodput over the capacity",
        ],
        rows.collect(),
    )
}
