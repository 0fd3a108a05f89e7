//! The inequality of the flows' totals (Figs. 6, 7).

use polypath_claims::{ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Study};
use polypath_report::plot::{Plot, Point, Series};

use super::parameters::parameters;
use crate::figures::estimates::text;
use crate::figures::pictures::{axis, figure_table, thin};
use crate::jobs::diversity::run::{RunResult, Runs, STEP, samples};
use crate::jobs::diversity::setting::{LINKS, LONG, ROUNDS, paper};

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.fig6_7",
    title: "Packets of each of five flows",
    claims: &[UNFAIR, LONG_RUN],
    make,
};
const UNFAIR: &str = "diversity.fig6_7.unfair";
const LONG_RUN: &str = "diversity.long_run_fair";
const FLOWS: u32 = 5;
/// The round trips after which the totals should be "basically the same".
const IN_THE_END: u32 = 10_000;
/// Packets per round trip for each flow: the paper's number, half of it, and twice it.
const SHARES: [u32; 3] = [100, 200, 400];
/// The paper's numbers of links in Figs. 6 and 7.
const PAPER: usize = 1;

/// The runs on this number of links with each share.
type Runs3 = [Vec<RunResult>; 3];

fn runs(study: &mut Study<'_>, links: u32) -> Result<Runs3, Pending> {
    let seeds = study.pick(200, 2000);
    let [low, paper, high] = SHARES.map(|share| {
        let runs = Runs {
            rounds: IN_THE_END,
            notes: vec![ROUNDS],
            ..Runs::new(self::paper(FLOWS, links, share, LONG), seeds)
        };
        runs.request(study)
    });
    Ok([low?, paper?, high?])
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let single = runs(study, 1);
    let several = runs(study, LINKS);
    let (single, several) = (single?, several?);
    let of = |claim: &str, quantity: &str, runs: &[RunResult], note: usize| {
        let group = format!("{} runs", quantity.rsplit('.').next().unwrap_or(quantity));
        let group = if claim == LONG_RUN { "runs" } else { &group };
        let samples = samples(runs, |ran| ran.spread(note));
        Measurement::of(claim, quantity, "ratio", group, &samples)
    };
    Ok(Findings {
        plots: vec![
            picture("fig6", "Five flows on one link", &single[PAPER][0]),
            picture("fig7", "Five flows on four links", &several[PAPER][0]),
        ],
        tables: vec![table(&single, &several)],
        measurements: vec![
            of(UNFAIR, "spread.links1", &single[PAPER], 0),
            of(UNFAIR, "spread.links4", &several[PAPER], 0),
            of(UNFAIR, "spread.capacity_low", &several[0], 0),
            of(UNFAIR, "spread.capacity_high", &several[2], 0),
            of(LONG_RUN, "spread.rtt2000", &several[PAPER], 0),
            of(LONG_RUN, "spread.rtt10000", &several[PAPER], 1),
        ],
        reasons: vec![in_the_long_run(&several)],
        parameters: parameters(&paper(FLOWS, LINKS, SHARES[PAPER], LONG)),
        notes: vec![
            "Spread is the difference between the maximum and the minimum of the flows' delivered \
             packets, over the mean. The two compared capacities are half of the paper's 1000 \
             packets per round trip and twice that."
                .to_owned(),
        ],
        ..Findings::default()
    })
}

/// The spread over time.
fn in_the_long_run(several: &Runs3) -> ClaimRemark {
    let falls = SHARES.iter().zip(several).map(|(share, runs)| {
        let [soon, late] = [0, 1].map(|note| text(&samples(runs, |ran| ran.spread(note)), 3));
        format!("{share} packets per flow: {soon} and {late}")
    });
    ClaimRemark {
        claim: LONG_RUN,
        text: format!(
            "The lead of a flow adds up like a random walk, so the spread over the mean falls with \
             the square root of the time: five times as many round trips leave 0.45 of it, about \
             the half of the rule. After 2000 and {IN_THE_END} round trips: {}.",
            falls.collect::<Vec<_>>().join("; ")
        ),
    }
}

fn picture(id: &str, title: &str, ran: &RunResult) -> Plot {
    let within = ran
        .delivered_over_time
        .iter()
        .take((ROUNDS / STEP) as usize);
    let series = |flow: usize| {
        let point = |(number, totals): (usize, &Vec<u64>)| Point {
            x: f64::from(STEP) * (number + 1) as f64,
            y: totals[flow] as f64,
            ci95: None,
        };
        thin(Series {
            name: format!("flow {}", flow + 1),
            points: within.clone().enumerate().map(point).collect(),
            ..Series::default()
        })
    };
    Plot {
        id: id.to_owned(),
        title: title.to_owned(),
        x: axis("round trip", ""),
        y: axis("arrived since the start", "packets"),
        series: (0..FLOWS as usize).map(series).collect(),
        ..Plot::default()
    }
}

fn table(single: &Runs3, several: &Runs3) -> FigureTable {
    let all = [(1, single), (LINKS, several)];
    let rows = all.iter().flat_map(|(links, runs)| {
        SHARES.iter().zip(runs.iter()).map(move |(share, runs)| {
            let spread = |note| text(&samples(runs, |ran| ran.spread(note)), 3);
            vec![
                links.to_string(),
                (share * FLOWS).to_string(),
                spread(0),
                spread(1),
                text(&samples(runs, RunResult::load), 3),
            ]
        })
    });
    figure_table(
        "spread",
        "The spread of five flows' totals over their mean",
        &[
            "links",
            "capacity, packets per round trip",
            "after 2000 round trips",
            "after 10000",
            "packets of 10000 round trips over the capacity",
        ],
        rows.collect(),
    )
}
