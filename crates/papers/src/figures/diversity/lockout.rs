//! A hundredth flow after 8000 round trips (Fig. 8).

use polypath_claims::{ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, Study};
use polypath_report::plot::{Plot, Point, Series};
use polypath_report::statistics::quantile;
use polypath_sim::round_model::RoundModelConfig;

use super::parameters::parameters;
use super::readings::READINGS;
use crate::figures::estimates::text;
use crate::figures::pictures::{axis, figure_table, thin};
use crate::jobs::diversity::latecomer::{Latecomer, LatecomerRuns, samples};
use crate::jobs::diversity::setting::{LINKS, LONG, SHARE, SHORT, paper};

pub(super) const FIGURE: Figure = Figure {
    id: "diversity.fig8",
    title: "A hundredth flow that starts after 8000 round trips",
    claims: &[CLAIM],
    make,
};
const CLAIM: &str = "diversity.fig8.lockout";
const FLOWS: u32 = 100;
/// The paper's time.
const BEGIN: u32 = 8000;
const SPAN: u32 = 500;
/// The share below which a flow is locked out: its share is about a half, and at most a quarter
/// more than that.
pub(super) const LOCKED_OUT: f64 = 0.625;
const SLOW_START: &str = "with slow start";
const SINGLE: &str = "a single link";
const UNFADED: &str = "a single link that does not fade";

fn late(config: RoundModelConfig) -> RoundModelConfig {
    RoundModelConfig {
        late: BEGIN,
        ..config
    }
}

/// The compared settings: the paper's in each interpretation, and others.
fn settings() -> Vec<(String, RoundModelConfig)> {
    let base = || late(paper(FLOWS, LINKS, SHARE, LONG));
    let readings = READINGS.map(|(name, reading)| (name.to_owned(), reading(base())));
    let named = |name: &str, config: RoundModelConfig| (name.to_owned(), late(config));
    let others = [
        named("fades of 0.01 s", paper(FLOWS, LINKS, SHARE, SHORT)),
        named(SINGLE, paper(FLOWS, 1, SHARE, LONG)),
        named(UNFADED, RoundModelConfig::paper(FLOWS, 1, SHARE * FLOWS)),
        named("two links", paper(FLOWS, 2, SHARE, LONG)),
        named(
            SLOW_START,
            RoundModelConfig {
                slow_start: true,
                ..base()
            },
        ),
        named("200 packets a flow", paper(FLOWS, LINKS, 2 * SHARE, LONG)),
    ];
    readings.into_iter().chain(others).collect()
}

struct LateFlowRuns {
    name: String,
    runs: Vec<Latecomer>,
}

/// The rows of the requested settings, by their names.
fn rows(
    study: &mut Study<'_>,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<LateFlowRuns>, Pending> {
    let others = study.pick(30, 100);
    let mut asked = Vec::new();
    let settings = settings().into_iter().enumerate();
    for (number, (name, config)) in settings.filter(|(_, setting)| is_wanted(&setting.0)) {
        // Always the paper's 100 runs, since the claim is on a share of them.
        let seeds = if number == 0 { 100 } else { others };
        let runs = LatecomerRuns {
            shows: number == 0,
            ..LatecomerRuns::new(config, SPAN, seeds)
        };
        asked.push((name, runs.request(study)));
    }
    let rows = asked
        .into_iter()
        .map(|(name, runs)| Ok(LateFlowRuns { name, runs: runs? }));
    rows.collect()
}

/// The late flows of the paper's setting, and with slow start.
///
/// # Errors
/// If results are missing.
pub(super) fn late_flows(study: &mut Study<'_>) -> Result<[Vec<Latecomer>; 2], Pending> {
    let wanted = [READINGS[0].0, SLOW_START];
    let mut rows = rows(study, |name| wanted.contains(&name))?.into_iter();
    let mut next = || rows.next().map_or_else(Vec::new, |row| row.runs);
    Ok([next(), next()])
}

pub(super) fn is_below(bound: f64) -> impl Fn(&Latecomer) -> f64 {
    move |late| f64::from(u8::from(late.share < bound))
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let rows = rows(study, |_| true)?;
    let paper = &rows[0].runs;
    let locked = samples(paper, is_below(LOCKED_OUT));
    let shown = shown(paper);
    let (readings, others) = rows.split_at(READINGS.len());
    let readings: Vec<&LateFlowRuns> = readings.iter().collect();
    let elsewhere: Vec<&LateFlowRuns> = readings.iter().take(1).copied().chain(others).collect();
    Ok(Findings {
        plots: vec![
            windows(shown),
            distribution("distribution", "in readings of the paper", &readings),
            distribution("elsewhere", "in other settings", &elsewhere),
        ],
        tables: vec![table(&rows)],
        measurements: vec![Measurement::of(
            CLAIM,
            "locked out",
            "ratio",
            "seeds",
            &locked,
        )],
        caveats: vec![definition(&rows)],
        reasons: vec![reason(&rows)],
        notes: vec![format!(
            "The plot of windows shows the run with seed {}.",
            shown.seed
        )],
        parameters: parameters(&late(self::paper(FLOWS, LINKS, SHARE, LONG))),
        ..Findings::default()
    })
}

/// The share of runs of a setting for which `is` holds.
fn part_of(rows: &[LateFlowRuns], name: &str, of: &dyn Fn(&Latecomer) -> f64) -> String {
    let row = rows.iter().find(|row| row.name == name);
    row.map_or_else(String::new, |row| text(&samples(&row.runs, of), 2))
}

fn definition(rows: &[LateFlowRuns]) -> ClaimRemark {
    let part = |of: &dyn Fn(&Latecomer) -> f64| part_of(rows, &rows[0].name, of);
    let widest = |name| part_of(rows, name, &is_below(0.75));
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "The paper does not define lock-out; in its one case a flow gets \"only half of the \
             average level\". Here a flow counts as locked out if it sends less than {LOCKED_OUT} \
             of the mean of the others in 500 round trips: a half, plus a quarter of that. Below \
             1/2 are {}, below 2/3 {}, below 3/4 {} of the runs; {} have a loss before the window \
             reaches the mean. The bound was chosen after all of these were known. Only 3/4, which \
             is nearer to half of the mean than to all of it, gives the paper's number, and it does \
             not indicate diversity: a flow starts at 1 on any link, and below 3/4 are {} on a \
             single link that does not fade, {} on one that fades, and {} on four with slow start.",
            part(&is_below(0.5)),
            part(&is_below(2.0 / 3.0)),
            part(&is_below(0.75)),
            part(&|late| f64::from(u8::from(!late.reached))),
            widest(UNFADED),
            widest(SINGLE),
            widest(SLOW_START),
        ),
    }
}

fn reason(rows: &[LateFlowRuns]) -> ClaimRemark {
    let half = |name| part_of(rows, name, &is_below(LOCKED_OUT));
    ClaimRemark {
        claim: CLAIM,
        text: format!(
            "A flow that grows by 1 per round trip and restarts after each of k losses sends at \
             least 250/(k + 1) packets per round trip in its 500; to get half of a mean of about \
             100 it must have four losses. Less than {LOCKED_OUT} of the mean is the share of {} of \
             the flows on four links, and of {} on a single link that does not fade.",
            half(&rows[0].name),
            half(UNFADED),
        ),
    }
}

/// The run with the median share of those locked out, or the one with the minimum share if none is.
fn shown(runs: &[Latecomer]) -> &Latecomer {
    let mut by_share: Vec<&Latecomer> = runs.iter().collect();
    by_share.sort_by(|a, b| a.share.total_cmp(&b.share));
    let locked = by_share.partition_point(|late| late.share < LOCKED_OUT);
    by_share[locked / 2]
}

fn windows(shown: &Latecomer) -> Plot {
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
            "The window of the last flow in the run in which its share of the mean is {:.2}",
            shown.share
        ),
        x: axis("round trip", ""),
        y: axis("window", "packets"),
        series: vec![series("last flow", 0), series("mean of the others", 1)],
        ..Plot::default()
    }
}

fn distribution(id: &str, of: &str, rows: &[&LateFlowRuns]) -> Plot {
    let series = |row: &&LateFlowRuns| {
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
        id: id.to_owned(),
        title: format!("The distribution of the share of late flows, {of}"),
        x: axis("packets of the last flow over the mean of the others", ""),
        y: axis("share of runs with at most this value", ""),
        series: rows.iter().map(series).collect(),
        ..Plot::default()
    }
}

fn table(rows: &[LateFlowRuns]) -> FigureTable {
    let row = |row: &LateFlowRuns| {
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
            of(&is_below(LOCKED_OUT)),
            of(&is_below(2.0 / 3.0)),
            of(&is_below(0.75)),
            of(&|late| f64::from(u8::from(!late.reached))),
        ]
    };
    figure_table(
        "lockout",
        "Packets of the last of a hundred flows in its first 500 round trips, over the mean of the \
         others",
        &[
            "setting",
            "runs",
            "mean",
            "5 %",
            "25 %",
            "median",
            "75 %",
            "below 1/2",
            "below 5/8",
            "below 2/3",
            "below 3/4",
            "loses before it reaches the mean",
        ],
        rows.iter().map(row).collect(),
    )
}
