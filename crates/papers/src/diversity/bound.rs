//! The union bound (section III).

use std::sync::atomic::AtomicU64;

use polypath_batch::replica_seeds;
use polypath_core::rng::Seed;
use polypath_sim::round_model::{Dropping, RoundModel, RoundModelConfig};
use serde::Serialize;

use super::setting::LINKS;
use crate::estimates::text;
use crate::figure::{Figure, Findings, Reason, Sheet};
use crate::measurement::{Measurement, Sample};
use crate::pictures::sheet;
use crate::study::{Job, JobError, Pending, SEED, Study};

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.bound",
    title: "How often a flow sees a loss, against m p^n",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.union_bound";

/// Flows that send `window` packets each over links that drop each copy with probability `drop` per mille, and how many
/// of them lose a packet with all its copies.
#[derive(Clone, Debug, Serialize)]
struct Exposed {
    window: u32,
    drop: u32,
    links: u32,
    rounds: u32,
    seed: u64,
}

/// Flows in one run.
const FLOWS: u32 = 50;

impl Exposed {
    /// Windows of which none grows: each round begins anew.
    fn config(&self) -> RoundModelConfig {
        let sent = self.window * FLOWS;
        RoundModelConfig {
            dropping: Dropping::Independent,
            ..RoundModelConfig::paper(FLOWS, self.links, sent - sent * self.drop / 1000)
        }
    }
}

impl Job for Exposed {
    type Output = f64;

    const KIND: &'static str = "rounds-bound";

    fn cost(&self) -> f64 {
        f64::from(self.rounds) * f64::from(FLOWS) * 4e-8
    }

    /// The share of flows that lost something, over the bound.
    fn run(&self, _: &AtomicU64) -> Result<f64, JobError> {
        let rounds = RoundModel::new(&self.config(), Seed(self.seed));
        let mut rounds = rounds.map_err(|error| JobError::Other(error.to_string()))?;
        let losing = rounds.losing_with(self.window, self.rounds);
        let all = f64::from(self.rounds) * f64::from(FLOWS);
        Ok(losing as f64 / all / bound((self.window, self.drop, self.links)))
    }
}

/// Windows of 100 packets at a drop probability of a tenth on the paper's four links, which is Fig. 5; and others.
const CASES: [(u32, u32, u32); 5] = [
    (100, 100, LINKS),
    (100, 150, LINKS),
    (20, 100, 2),
    (100, 50, 2),
    (100, 10, 1),
];

/// m p^n of a case: its packets, the drop probability per mille, and the links.
fn bound((window, drop, links): (u32, u32, u32)) -> f64 {
    f64::from(window) * (f64::from(drop) / 1000.0).powi(links.cast_signed())
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let (seeds, rounds) = (study.pick(5, 20), study.pick(20_000, 200_000));
    let seeds = replica_seeds(SEED, seeds);
    let mut asked = Vec::new();
    for (window, drop, links) in CASES {
        let job = |&seed: &u64| Exposed {
            window,
            drop,
            links,
            rounds,
            seed,
        };
        asked.push(study.ask_all(seeds.iter().map(job)));
    }
    let mut cases: Vec<Vec<Sample>> = Vec::new();
    for ratios in asked {
        let samples = seeds.iter().zip(ratios?);
        cases.push(
            samples
                .map(|(&seed, value)| Sample { seed, value })
                .collect(),
        );
    }
    Ok(Findings {
        measurements: vec![Measurement::of(
            CLAIM,
            "share of the bound",
            "ratio",
            "windows",
            &cases[0],
        )],
        sheets: vec![table(&cases)],
        caveats: vec![elsewhere(&cases)],
        notes: vec![
            "The bound is an upper one. Where m p^n is not small, flows see fewer losses than it says, which the last \
             rows of the table show; the exact probability is 1 - (1 - p^n)^m."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

/// What the cases say that are not judged.
fn elsewhere(cases: &[Vec<Sample>]) -> Reason {
    let others = CASES.iter().zip(cases).skip(1);
    let told = others.map(|(case, samples)| {
        let share = text(samples, 3);
        format!("{share} where m p^n is {:.3}", bound(*case))
    });
    Reason {
        claim: CLAIM,
        text: format!(
            "Judged is the case of Fig. 5 alone, in which m p^n is {:.3}, so small that an upper bound is met almost \
             exactly. Elsewhere flows see this share of the bound: {}.",
            bound(CASES[0]),
            told.collect::<Vec<_>>().join("; ")
        ),
    }
}

fn table(cases: &[Vec<Sample>]) -> Sheet {
    let row = |((window, drop, links), samples): (&(u32, u32, u32), &Vec<Sample>)| {
        let p = f64::from(*drop) / 1000.0;
        let all = p.powi(links.cast_signed());
        let bound = bound((*window, *drop, *links));
        let exact = 1.0 - (1.0 - all).powi(window.cast_signed());
        vec![
            window.to_string(),
            format!("{p:.3}"),
            links.to_string(),
            format!("{bound:.5}"),
            format!("{:.4}", exact / bound),
            text(samples, 4),
        ]
    };
    sheet(
        "bound",
        "The share of round trips in which a flow sees a loss",
        &[
            "packets m",
            "drop probability p",
            "links n",
            "m p^n",
            "exact, over m p^n",
            "simulated, over m p^n",
        ],
        CASES.iter().zip(cases).map(row).collect(),
    )
}
