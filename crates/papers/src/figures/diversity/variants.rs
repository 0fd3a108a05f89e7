//! Variations that change nothing according to the paper: slow start, halving, fragments (section
//! V, footnote 2).

use polypath_claims::{ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Study};
use polypath_sim::round_model::{Coding, Response, RoundModelConfig};

use super::lockout::{LOCKED_OUT, is_below, late_flows};
use super::parameters::parameters;
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::diversity::latecomer::{self, Latecomer};
use crate::jobs::diversity::run::{RunResult, Runs, samples};
use crate::jobs::diversity::setting::{LINKS, SHARE, SHORT, paper};

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.variants",
    title: "Slow start, halving, and fragments in place of copies",
    claims: &[DISCUSSION, FRAGMENTS],
    make,
};
const DISCUSSION: &str = "diversity.discussion.slow_start_halving";
const FRAGMENTS: &str = "diversity.footnote2.fragments";
const FLOWS: u32 = 100;

/// A variant of the flows.
struct Variant {
    name: &'static str,
    title: &'static str,
    config: RoundModelConfig,
}

impl Variant {
    /// The bytes on all links for each byte of a packet.
    fn bytes(&self) -> f64 {
        let links = f64::from(self.config.links);
        match self.config.coding {
            Coding::Copies => links,
            Coding::Fragments(needed) => links / f64::from(needed),
        }
    }
}

/// Fragments, of which `needed` of `links` must arrive, on links that carry as many packets of
/// all flows as before.
fn fragments(needed: u32, links: u32) -> RoundModelConfig {
    let base = paper(FLOWS, links, SHARE, SHORT);
    RoundModelConfig {
        coding: Coding::Fragments(needed),
        capacity: base.capacity / needed,
        ..base
    }
}

fn variants() -> Vec<Variant> {
    let base = || paper(FLOWS, LINKS, SHARE, SHORT);
    let of = |name, title, config| Variant {
        name,
        title,
        config,
    };
    vec![
        of("reset", "a window of 1 after a loss, no slow start", base()),
        of(
            "halving",
            "half the window after a loss",
            RoundModelConfig {
                response: Response::Halve,
                ..base()
            },
        ),
        of(
            "slow_start",
            "a window of 1, and slow start up to half of the last one",
            RoundModelConfig {
                slow_start: true,
                ..base()
            },
        ),
        of("fragments", "2 of 4 fragments", fragments(2, LINKS)),
        of(
            "",
            "2 of 5 fragments: at most 3 may be lost, as of 4 copies",
            fragments(2, 5),
        ),
    ]
}

type VariantRuns = (Variant, Vec<RunResult>);

fn rows(study: &mut Study<'_>) -> Result<Vec<VariantRuns>, Pending> {
    let seeds = study.pick(10, 50);
    let mut asked = Vec::new();
    for variant in variants() {
        let runs = Runs {
            shows: false,
            ..Runs::new(variant.config.clone(), seeds)
        };
        asked.push((variant, runs.request(study)));
    }
    let rows = asked
        .into_iter()
        .map(|(variant, runs)| Ok((variant, runs?)));
    rows.collect()
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let (rows, late) = (rows(study), late_flows(study));
    let (rows, late) = (rows?, late?);
    let named = |name: &str| rows.iter().find(|(variant, _)| variant.name == name);
    let excess = |claim: &str, quantity: &str, name: &str| {
        let (_, runs) = named(name)?;
        let samples = samples(runs, |ran| ran.excess);
        Some(Measurement::of(claim, quantity, "ratio", name, &samples))
    };
    let bytes = |quantity: &str, name: &str| {
        let (variant, _) = named(name)?;
        let bytes = variant.bytes();
        Some(Measurement::exact(FRAGMENTS, quantity, "ratio", bytes))
    };
    let measurements = [
        excess(DISCUSSION, "overflow.reset", "reset"),
        excess(DISCUSSION, "overflow.linear", "reset"),
        excess(DISCUSSION, "overflow.halving", "halving"),
        excess(DISCUSSION, "overflow.slow_start", "slow_start"),
        excess(FRAGMENTS, "overflow.copies", "reset"),
        excess(FRAGMENTS, "overflow.fragments", "fragments"),
        bytes("bytes.copies", "reset"),
        bytes("bytes.fragments", "fragments"),
    ];
    Ok(Findings {
        tables: vec![table(&rows)],
        measurements: measurements.into_iter().flatten().collect(),
        caveats: vec![
            lockout(&late, &rows),
            caveat(DISCUSSION, &rows),
            caveat(FRAGMENTS, &rows),
        ],
        reasons: vec![slow_start(&rows), fragments_lose_less(&rows)],
        parameters: parameters(&paper(FLOWS, LINKS, SHARE, SHORT)),
        ..Findings::default()
    })
}

/// A measure of a variant, formatted for tables.
fn measure(
    rows: &[VariantRuns],
    name: &str,
    of: impl Fn(&RunResult) -> f64,
    digits: usize,
) -> String {
    let row = rows.iter().find(|(variant, _)| variant.name == name);
    row.map_or_else(String::new, |(_, runs)| text(&samples(runs, of), digits))
}

/// The half of the paper's sentence on slow start that the rule does not test.
fn lockout(late: &[Vec<Latecomer>; 2], rows: &[VariantRuns]) -> ClaimRemark {
    let [linear, slow_start] = late;
    let below = |runs: &[Latecomer], bound| text(&latecomer::samples(runs, is_below(bound)), 2);
    let spread = |name| measure(rows, name, |ran| ran.spread(0), 3);
    ClaimRemark {
        claim: DISCUSSION,
        text: format!(
            "The rule tests only overflow. It does not test that slow start \"does not change the \
             rough duration of unfairness and lock-out of late arrivals\", which does not hold for \
             lock-out: in 500 round trips a late flow gets less than 3/4 of the mean of the others \
             in {} of runs with slow start and {} without it (fades of 1 s, as Fig. 8), less than \
             {LOCKED_OUT} in {} and {}. The spread of all flows' totals after 2000 round trips is \
             {} with slow start and {} without.",
            below(slow_start, 0.75),
            below(linear, 0.75),
            below(slow_start, LOCKED_OUT),
            below(linear, LOCKED_OUT),
            spread("slow_start"),
            spread("reset"),
        ),
    }
}

fn slow_start(rows: &[VariantRuns]) -> ClaimRemark {
    let both = |of: &dyn Fn(&RunResult) -> f64, digits| {
        ["slow_start", "reset"]
            .map(|name| measure(rows, name, of, digits))
            .join(" against ")
    };
    ClaimRemark {
        claim: DISCUSSION,
        text: format!(
            "Slow start does change overflow: a flow with a loss reaches half of its window again \
             within a few round trips. The link is above its capacity by {} on average, and by {} \
             at most, when flows without a threshold double their windows together. The packets of \
             2000 round trips over the capacity, {}, change little.",
            both(&|ran| ran.excess, 4),
            both(&|ran| ran.most, 3),
            both(&RunResult::load, 3),
        ),
    }
}

fn fragments_lose_less(rows: &[VariantRuns]) -> ClaimRemark {
    let both = |of: &dyn Fn(&RunResult) -> f64, digits| {
        ["fragments", "reset"]
            .map(|name| measure(rows, name, of, digits))
            .join(" against ")
    };
    ClaimRemark {
        claim: FRAGMENTS,
        text: format!(
            "With 2 of 4 fragments a packet is lost with three of them, with copies only with all \
             four: senders detect congestion sooner, and the mean excess is {}. The packets of 2000 \
             round trips over the capacity, {}, are nearer, but on the other side of it. The paper \
             does not state which code it means.",
            both(&|ran| ran.excess, 4),
            both(&RunResult::load, 3),
        ),
    }
}

/// The judged measure and the other measure of each variant.
fn caveat(claim: &'static str, rows: &[VariantRuns]) -> ClaimRemark {
    let texts = rows.iter().map(|(variant, runs)| {
        let of = |of: &dyn Fn(&RunResult) -> f64, digits| text(&samples(runs, of), digits);
        let (excess, load) = (of(&|ran| ran.excess, 4), of(&RunResult::load, 3));
        format!("{}: {excess}, {load}", variant.title)
    });
    ClaimRemark {
        claim,
        text: format!(
            "The verdict is for the mean of the packets above the capacity, 0 for round trips below \
             it, since the paper compares the packets of each round trip with the capacity (IV.C). \
             In the sum over 2000 round trips, which the paper adds for longer effects, round trips \
             below the capacity hide those above. Both: {}.",
            texts.collect::<Vec<_>>().join("; ")
        ),
    }
}

fn table(rows: &[VariantRuns]) -> FigureTable {
    let row = |(variant, runs): &VariantRuns| {
        let of = |of: &dyn Fn(&RunResult) -> f64, digits| text(&samples(runs, of), digits);
        vec![
            variant.title.to_owned(),
            format!("{:.2}", variant.bytes()),
            of(&RunResult::load, 3),
            of(&|ran| ran.excess, 4),
            of(&|ran| ran.most, 3),
            of(&|ran| f64::from(ran.longest), 0),
            of(&|ran| ran.spread(0), 3),
        ]
    };
    figure_table(
        "variants",
        "A hundred flows, 2000 round trips",
        &[
            "variant",
            "bytes sent for each",
            "sent over the capacity",
            "mean excess",
            "maximum excess",
            "most successive round trips above",
            "spread of the flows' totals",
        ],
        rows.iter().map(row).collect(),
    )
}
