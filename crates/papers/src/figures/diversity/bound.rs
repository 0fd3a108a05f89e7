//! The union bound (section III).

use polypath_batch::replica_seeds;
use polypath_claims::{
    Figure, FigureTable, Findings, Measurement, Pending, Reason, SEED, Sample, Study,
};

use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::diversity::exposure::{Exposed, bound};
use crate::jobs::diversity::setting::LINKS;

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.bound",
    title: "How often a flow sees a loss, against m p^n",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.union_bound";

/// Windows of 100 packets at a drop probability of a tenth on the paper's four links, which is Fig.
/// 5; and others.
const CASES: [(u32, u32, u32); 5] = [
    (100, 100, LINKS),
    (100, 150, LINKS),
    (20, 100, 2),
    (100, 50, 2),
    (100, 10, 1),
];

/// The union bound of a case.
fn bound_of((window, drop, links): (u32, u32, u32)) -> f64 {
    bound(window, drop, links)
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
        tables: vec![table(&cases)],
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
    let texts = others.map(|(case, samples)| {
        let share = text(samples, 3);
        format!("{share} where m p^n is {:.3}", bound_of(*case))
    });
    Reason {
        claim: CLAIM,
        text: format!(
            "Judged is the case of Fig. 5 alone, in which m p^n is {:.3}, so small that an upper bound is met almost \
             exactly. Elsewhere flows see this share of the bound: {}.",
            bound_of(CASES[0]),
            texts.collect::<Vec<_>>().join("; ")
        ),
    }
}

fn table(cases: &[Vec<Sample>]) -> FigureTable {
    let row = |((window, drop, links), samples): (&(u32, u32, u32), &Vec<Sample>)| {
        let p = f64::from(*drop) / 1000.0;
        let all = p.powi(links.cast_signed());
        let bound = bound(*window, *drop, *links);
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
    figure_table(
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
