//! The packets that all flows send, relative to the capacity (Figs. 3 to 5).

use polypath_claims::{ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Study};
use polypath_report::plot::{Plot, Point, Series};
use polypath_sim::round_model::RoundModelConfig;

use super::load::load_over_time;
use super::parameters::parameters;
use super::readings::READINGS;
use crate::figures::estimates::text;
use crate::figures::pictures::{axis, figure_table, thin};
use crate::jobs::diversity::run::{RunResult, Runs, samples};
use crate::jobs::diversity::setting::{LINKS, ROUNDS, SHARE, SHORT, paper};

pub(super) const SINGLE: Figure = Figure {
    id: "diversity.fig3",
    title: "Five flows on a single link: packets in a round trip",
    claims: &[SINGLE_LINK],
    make: single,
};
pub(super) const SEVERAL: Figure = Figure {
    id: "diversity.fig4_5",
    title: "Five and a hundred flows on four links: packets in a round trip",
    claims: &[TOTAL_OF_5, TOTAL_OF_100, EXCESS],
    make: several,
};
const SINGLE_LINK: &str = "diversity.fig3.single_link";
const TOTAL_OF_5: &str = "diversity.fig4.total";
const TOTAL_OF_100: &str = "diversity.fig5.total";
const EXCESS: &str = "diversity.fig5.excess";

fn seeds(study: &Study<'_>) -> u32 {
    study.pick(10, 100)
}

fn single(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let config = paper(5, 1, SHARE, SHORT);
    let runs = Runs::new(config.clone(), seeds(study)).request(study)?;
    let first = &runs[0];
    let mut measurements = vec![Measurement::exact(
        SINGLE_LINK,
        "capacity",
        "packets",
        config.packets() as f64,
    )];
    measurements.extend(first.totals.iter().enumerate().map(|(round, &total)| {
        let sample = polypath_claims::Sample {
            seed: first.seed,
            value: total as f64,
        };
        Measurement::of(SINGLE_LINK, "total", "packets", "first run", &[sample]).over(
            "round trip",
            "",
            round as f64,
        )
    }));
    Ok(Findings {
        plots: vec![picture("fig3", "Five flows, one link", &config, first)],
        tables: vec![longest(&runs)],
        measurements,
        caveats: vec![ClaimRemark {
            claim: SINGLE_LINK,
            text: format!(
                "The verdict is for the first run, by round trip; over all {} runs the longest time \
                 above the capacity is {} round trips.",
                runs.len(),
                runs.iter().map(|ran| ran.longest).max().unwrap_or(0)
            ),
        }],
        parameters: parameters(&config),
        ..Findings::default()
    })
}

fn longest(runs: &[RunResult]) -> FigureTable {
    let row = |ran: &RunResult| {
        vec![
            ran.seed.to_string(),
            ran.longest.to_string(),
            format!("{:.4}", ran.most),
            format!("{:.3}", ran.load()),
        ]
    };
    figure_table(
        "runs",
        "Run by run",
        &[
            "seed",
            "most successive round trips above the capacity",
            "maximum excess over the capacity",
            "packets of 2000 round trips over the capacity",
        ],
        runs.iter().map(row).collect(),
    )
}

/// Five and a hundred flows in each interpretation.
type Rows = Vec<(&'static str, [Vec<RunResult>; 2])>;

fn rows(study: &mut Study<'_>) -> Result<Rows, Pending> {
    let seeds = seeds(study);
    let mut asked = Vec::new();
    for (name, reading) in READINGS {
        let both = [5, 100].map(|flows| {
            let config = reading(paper(flows, LINKS, SHARE, SHORT));
            Runs::new(config, seeds).request(study)
        });
        asked.push((name, both));
    }
    let rows = asked
        .into_iter()
        .map(|(name, [five, hundred])| Ok((name, [five?, hundred?])));
    rows.collect()
}

fn several(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let rows = rows(study)?;
    let [five, hundred] = &rows[0].1;
    let sent = |runs: &[RunResult]| samples(runs, |ran| ran.sent as f64);
    let of = |claim: &str, quantity: &str, unit: &str, samples: &[_]| {
        Measurement::of(claim, quantity, unit, quantity, samples)
    };
    let configs = [5, 100].map(|flows| paper(flows, LINKS, SHARE, SHORT));
    let names = ["Five flows, four links", "A hundred flows, four links"];
    Ok(Findings {
        plots: vec![
            picture("fig4", names[0], &configs[0], &five[0]),
            picture("fig5", names[1], &configs[1], &hundred[0]),
        ],
        tables: vec![table(&rows)],
        measurements: vec![
            of(TOTAL_OF_5, "sent by 5", "packets", &sent(five)),
            of(TOTAL_OF_100, "sent by 100", "packets", &sent(hundred)),
            of(
                EXCESS,
                "maximum excess",
                "ratio",
                &samples(hundred, |ran| ran.most),
            ),
        ],
        caveats: vec![in_a_row(five), reading_judged(&rows)],
        parameters: parameters(&configs[0]),
        ..Findings::default()
    })
}

/// The time for which five flows exceed the capacity, which the value of the claim does not
/// include.
fn in_a_row(five: &[RunResult]) -> ClaimRemark {
    let longest = |ran: &RunResult| f64::from(ran.longest);
    let least = five.iter().map(|ran| ran.longest).min().unwrap_or(0);
    let most = five.iter().map(|ran| ran.longest).max().unwrap_or(0);
    ClaimRemark {
        claim: TOTAL_OF_5,
        text: format!(
            "The verdict is for the number of packets alone. It does not include \"exceeded for \
             many RTTs in a row\": the longest time above the capacity in 2000 round trips is {} \
             round trips, in {} runs {least} to {most}.",
            text(&samples(five, longest), 1),
            five.len(),
        ),
    }
}

fn reading_judged(rows: &Rows) -> ClaimRemark {
    let sent = |runs: &[RunResult]| text(&samples(runs, |ran| ran.sent as f64 / 1e6), 2);
    let (_, [_, share]) = &rows[1];
    ClaimRemark {
        claim: TOTAL_OF_100,
        text: format!(
            "The verdict is for a fading link that loses all packets of the round trip, as the \
             paper states. If it loses its share of them, a hundred flows send {} million packets. \
             The maximum excess occurs when all flows have grown from 1 together and none has had a \
             loss.",
            sent(share)
        ),
    }
}

fn table(rows: &Rows) -> FigureTable {
    let row = |(name, [five, hundred]): &(&str, [Vec<RunResult>; 2])| {
        let mut row = vec![(*name).to_owned()];
        for runs in [five, hundred] {
            let of = |of: &dyn Fn(&RunResult) -> f64, digits| text(&samples(runs, of), digits);
            row.push(of(&|ran| ran.sent as f64, 0));
            row.push(of(&|ran| ran.load(), 3));
            row.push(of(&|ran| ran.most, 3));
            row.push(of(&|ran| ran.excess, 4));
            row.push(of(&|ran| f64::from(ran.longest), 1));
        }
        row
    };
    let heads = ["5 flows", "100 flows"].map(|flows| {
        [
            format!("{flows}: packets sent"),
            format!("{flows}: over the capacity"),
            format!("{flows}: maximum excess"),
            format!("{flows}: mean excess"),
            format!("{flows}: most successive round trips above"),
        ]
    });
    let heads: Vec<&str> = std::iter::once("reading")
        .chain(heads.iter().flatten().map(String::as_str))
        .collect();
    figure_table(
        "readings",
        "2000 round trips on four links, for each interpretation of what the paper leaves open",
        &heads,
        rows.iter().map(row).collect(),
    )
}

fn picture(id: &str, title: &str, config: &RoundModelConfig, ran: &RunResult) -> Plot {
    let capacity = config.packets() as f64;
    let ends = [0.0, f64::from(ROUNDS)].map(|x| Point {
        x,
        y: capacity,
        ci95: None,
    });
    let line = thin(Series {
        name: "capacity".to_owned(),
        points: ends.to_vec(),
        ..Series::default()
    });
    Plot {
        id: id.to_owned(),
        title: title.to_owned(),
        x: axis("round trip", ""),
        y: axis("sent by all flows in a round trip", "packets"),
        series: vec![load_over_time(ran, "sent"), line],
        ..Plot::default()
    }
}
