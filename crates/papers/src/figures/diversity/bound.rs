//! The union bound (section III).

use polypath_batch::replica_seeds;
use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, SEED, Sample, Study,
};

use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::diversity::exposure::{ExposedFlows, bound};
use crate::jobs::diversity::setting::LINKS;

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.bound",
    title: "Losses of a flow, relative to m p^n",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.union_bound";

/// Windows of 100 packets at a drop probability of 0.1 on the paper's four links, which is Fig.
/// 5, and other cases.
const CASES: [Case; 5] = [
    Case::new(100, 100, LINKS),
    Case::new(100, 150, LINKS),
    Case::new(20, 100, 2),
    Case::new(100, 50, 2),
    Case::new(100, 10, 1),
];

/// Flows with constant windows.
struct Case {
    /// The packets of a round trip.
    window: u32,
    /// The drop probability of a copy, per mille.
    drop: u32,
    links: u32,
}

impl Case {
    const fn new(window: u32, drop: u32, links: u32) -> Self {
        Self {
            window,
            drop,
            links,
        }
    }

    /// The union bound.
    fn bound(&self) -> f64 {
        bound(self.window, self.drop, self.links)
    }
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let (seeds, rounds) = (study.pick(5, 20), study.pick(20_000, 200_000));
    let seeds = replica_seeds(SEED, seeds);
    let mut asked = Vec::new();
    for case in CASES {
        let job = |&seed: &u64| ExposedFlows {
            window: case.window,
            drop: case.drop,
            links: case.links,
            rounds,
            seed,
        };
        asked.push(study.request_all(seeds.iter().map(job)));
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
            "The bound is an upper bound. If m p^n is not small, flows have fewer losses, as the \
             last rows of the table show; the exact probability is 1 - (1 - p^n)^m."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

/// The results of the cases that are not judged.
fn elsewhere(cases: &[Vec<Sample>]) -> ClaimRemark {
    let others = CASES.iter().zip(cases).skip(1);
    let texts = others.map(|(case, samples)| {
        let share = text(samples, 3);
        format!("{share} where m p^n is {:.3}", case.bound())
    });
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "The verdict is for the case of Fig. 5 alone, in which m p^n is {:.3}, so small that \
             the upper bound is almost exact. In other cases the share of flows with a loss, over \
             the bound, is: {}.",
            CASES[0].bound(),
            texts.collect::<Vec<_>>().join("; ")
        ),
    }
}

fn table(cases: &[Vec<Sample>]) -> FigureTable {
    let row = |(case, samples): (&Case, &Vec<Sample>)| {
        let p = f64::from(case.drop) / 1000.0;
        let all = p.powi(case.links.cast_signed());
        let bound = case.bound();
        let exact = 1.0 - (1.0 - all).powi(case.window.cast_signed());
        vec![
            case.window.to_string(),
            format!("{p:.3}"),
            case.links.to_string(),
            format!("{bound:.5}"),
            format!("{:.4}", exact / bound),
            text(samples, 4),
        ]
    };
    figure_table(
        "bound",
        "The share of round trips in which a flow has a loss",
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
