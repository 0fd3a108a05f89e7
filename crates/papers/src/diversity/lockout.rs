//! A hundredth flow after 8000 round trips (Fig. 8).

use polypath_report::plot::{Plot, Point, Series};
use polypath_report::statistics::quantile;
use polypath_sim::rounds::RoundsConfig;

use super::latecomer::{Late, Latecomer, samples};
use super::readings::READINGS;
use super::setting::{LINKS, LONG, SHARE, SHORT, paper, parameters};
use crate::estimates::text;
use crate::figure::{Figure, Findings, Reason, Sheet};
use crate::measurement::Measurement;
use crate::pictures::{axis, sheet, thin};
use crate::study::{Pending, Study};

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.fig8",
    title: "A hundredth flow that begins after 8000 round trips",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.fig8.lockout";
const FLOWS: u32 = 100;
/// The paper's time.
const BEGIN: u32 = 8000;
const SPAN: u32 = 500;
/// A flow whose share is below is locked out: it is nearer to the half of the paper's one case than to the whole of its
/// other.
const LOCKED_OUT: f64 = 0.75;

fn late(config: RoundsConfig) -> RoundsConfig {
    RoundsConfig {
        late: BEGIN,
        ..config
    }
}

/// What is compared: the paper's setting in each reading, and others.
fn settings() -> Vec<(String, RoundsConfig)> {
    let base = || late(paper(FLOWS, LINKS, SHARE, LONG));
    let readings = READINGS.map(|(name, reading)| (name.to_owned(), reading(base())));
    let named = |name: &str, config: RoundsConfig| (name.to_owned(), late(config));
    let others = [
        named("fades of 0.01 s", paper(FLOWS, LINKS, SHARE, SHORT)),
        named("a single link", paper(FLOWS, 1, SHARE, LONG)),
        named(
            "a single link that does not fade",
            RoundsConfig::paper(FLOWS, 1, SHARE * FLOWS),
        ),
        named("two links", paper(FLOWS, 2, SHARE, LONG)),
        named(
            "with slow start",
            RoundsConfig {
                slow_start: true,
                ..base()
            },
        ),
        named("200 packets a flow", paper(FLOWS, LINKS, 2 * SHARE, LONG)),
    ];
    readings.into_iter().chain(others).collect()
}

struct Row {
    name: String,
    runs: Vec<Latecomer>,
}

fn rows(study: &mut Study<'_>) -> Result<Vec<Row>, Pending> {
    let others = study.pick(30, 100);
    let mut asked = Vec::new();
    for (number, (name, config)) in settings().into_iter().enumerate() {
        // The paper's hundred runs in any case: the claim is of their share.
        let seeds = if number == 0 { 100 } else { others };
        let runs = Late {
            shows: number == 0,
            ..Late::new(config, SPAN, seeds)
        };
        asked.push((name, runs.ask(study)));
    }
    let rows = asked
        .into_iter()
        .map(|(name, runs)| Ok(Row { name, runs: runs? }));
    rows.collect()
}

fn is_below(bound: f64) -> impl Fn(&Latecomer) -> f64 {
    move |late| f64::from(u8::from(late.share < bound))
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let rows = rows(study)?;
    let paper = &rows[0].runs;
    let locked = samples(paper, is_below(LOCKED_OUT));
    let plots = vec![windows(paper), distribution(&rows)];
    Ok(Findings {
        plots,
        sheets: vec![table(&rows)],
        measurements: vec![Measurement::of(
            CLAIM,
            "locked out",
            "ratio",
            "seeds",
            &locked,
        )],
        caveats: vec![definition(&rows)],
        parameters: parameters(&late(self::paper(FLOWS, LINKS, SHARE, LONG))),
        ..Findings::default()
    })
}

fn definition(rows: &[Row]) -> Reason {
    let share = |name: &str, of: &dyn Fn(&Latecomer) -> f64| {
        let row = rows.iter().find(|row| row.name == name);
        row.map_or_else(String::new, |row| text(&samples(&row.runs, of), 2))
    };
    let paper = &rows[0].name;
    let single = "a single link that does not fade";
    Reason {
        claim: CLAIM,
        text: format!(
            "The paper does not say what counts as locked out; it tells a case with half of the average from one without \
             lock-out. Counted is a flow that sends less than {LOCKED_OUT} of the mean of the others in 500 round \
             trips, which is nearer to half than to the whole. Less than a half of it: {}; less than two thirds: {}; a \
             loss before the window comes up to the mean: {}. A late flow begins at 1 on any link: on a single link that \
             does not fade {} send less than {LOCKED_OUT}, on one that fades {}. So not all of it is owed to diversity.",
            share(paper, &is_below(0.5)),
            share(paper, &is_below(2.0 / 3.0)),
            share(paper, &|late| f64::from(u8::from(!late.reached))),
            share(single, &is_below(LOCKED_OUT)),
            share("a single link", &is_below(LOCKED_OUT)),
        ),
    }
}

/// The run whose share is the median of those that are locked out.
fn windows(runs: &[Latecomer]) -> Plot {
    let mut locked: Vec<&Latecomer> = runs.iter().filter(|late| late.share < LOCKED_OUT).collect();
    locked.sort_by(|a, b| a.share.total_cmp(&b.share));
    let shown = locked.get(locked.len() / 2).map_or(&runs[0], |late| late);
    let series = |name: &str, which: usize| {
        let point = |(round, both): (usize, &[f64; 2])| Point {
            x: f64::from(BEGIN) + round as f64,
            y: both[which],
            ci95: None,
        };
        thin(Series {
            name: name.to_owned(),
            points: shown.windows.iter().enumerate().map(point).collect(),
            ..Series::default()
        })
    };
    Plot {
        id: "fig8".to_owned(),
        title: format!(
            "The last flow's window where it is locked out (seed {}, share {:.2})",
            shown.seed, shown.share
        ),
        x: axis("round trip", ""),
        y: axis("window", "packets"),
        series: vec![series("last flow", 0), series("mean of the others", 1)],
        ..Plot::default()
    }
}

fn distribution(rows: &[Row]) -> Plot {
    let series = |row: &Row| {
        let mut shares: Vec<f64> = row.runs.iter().map(|late| late.share).collect();
        shares.sort_by(f64::total_cmp);
        let n = shares.len() as f64;
        let point = |(number, &share): (usize, &f64)| Point {
            x: share,
            y: (number + 1) as f64 / n,
            ci95: None,
        };
        thin(Series {
            name: row.name.clone(),
            points: shares.iter().enumerate().map(point).collect(),
            ..Series::default()
        })
    };
    Plot {
        id: "distribution".to_owned(),
        title: "How many late flows send how little".to_owned(),
        x: axis("what the last flow sends, over the mean of the others", ""),
        y: axis("share of runs with at most that", ""),
        series: rows.iter().map(series).collect(),
        ..Plot::default()
    }
}

fn table(rows: &[Row]) -> Sheet {
    let row = |row: &Row| {
        let of = |of: &dyn Fn(&Latecomer) -> f64| text(&samples(&row.runs, of), 2);
        let shares: Vec<f64> = row.runs.iter().map(|late| late.share).collect();
        let at = |q| quantile(&shares, q).map_or_else(String::new, |share| format!("{share:.2}"));
        vec![
            row.name.clone(),
            row.runs.len().to_string(),
            of(&|late| late.share),
            at(0.05),
            at(0.25),
            at(0.5),
            at(0.75),
            of(&is_below(0.5)),
            of(&is_below(2.0 / 3.0)),
            of(&is_below(LOCKED_OUT)),
            of(&|late| f64::from(u8::from(!late.reached))),
        ]
    };
    sheet(
        "lockout",
        "What the last of a hundred flows sends in its first 500 round trips, over the mean of the others",
        &[
            "setting",
            "runs",
            "mean",
            "5 %",
            "25 %",
            "median",
            "75 %",
            "below 1/2",
            "below 2/3",
            "below 3/4",
            "loses before it reaches the mean",
        ],
        rows.iter().map(row).collect(),
    )
}
