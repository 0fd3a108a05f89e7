//! Transfer times as plots and tables.

use polypath_claims::FigureTable;
use polypath_report::plot::{Look, Plot, Point, Series, Stated};
use polypath_report::statistics::{Estimate, quantile};
use polypath_scenario::Scheme;

use super::plan::{LoadPoint, title};
use crate::figures::estimates::{estimate, mean, shown};
use crate::figures::pictures::axis;
use crate::jobs::ppd::calibration::Loads;
use crate::jobs::ppd::transfers::SchemeResult;

/// The mean transfer times over the measured load, with a curve for each scheme: as the paper draws
/// them, and with a logarithmic axis, which separates curves that are close together. `load_of` is
/// the load at which a run is drawn.
pub(super) fn times_plots(
    id: &str,
    title: &str,
    rows: &[LoadPoint],
    load_of: fn(&SchemeResult) -> f64,
    stated: Vec<Stated>,
) -> Vec<Plot> {
    let linear = Plot {
        stated,
        ..times_plot(id, title, rows, load_of)
    };
    let mut log = Plot {
        id: format!("{id}-log"),
        title: format!("{title}, logarithmic"),
        ..linear.clone()
    };
    log.y.is_log = true;
    vec![linear, log]
}

/// The load of the first path in a run, as the mean of both directions.
pub(super) fn path_load(run: &SchemeResult) -> f64 {
    mean(&run.loads[0])
}

fn times_plot(
    id: &str,
    heading: &str,
    rows: &[LoadPoint],
    load_of: fn(&SchemeResult) -> f64,
) -> Plot {
    let curve = |scheme: Scheme| Series {
        name: title(scheme).to_owned(),
        points: rows
            .iter()
            .filter_map(|row| point(row, scheme, load_of))
            .collect(),
        look: Look::Line,
    };
    Plot {
        id: id.to_owned(),
        title: heading.to_owned(),
        x: axis("average network path load", ""),
        y: axis("average transmission time", "s"),
        series: Scheme::ALL.map(curve).to_vec(),
        stated: Vec::new(),
        ..Plot::default()
    }
}

fn point(row: &LoadPoint, scheme: Scheme, load_of: fn(&SchemeResult) -> f64) -> Option<Point> {
    let time = estimate(&row.times(scheme))?;
    let loads: Vec<f64> = row.of(scheme).iter().map(load_of).collect();
    Some(Point {
        x: mean(&loads),
        y: time.mean,
        ci95: time.ci95,
    })
}

/// The same as a table, with timeouts and other totals.
pub(super) fn times_table(id: &str, rows: &[LoadPoint]) -> FigureTable {
    let columns = [
        "load",
        "scheme",
        "mean s",
        "half-width %",
        "TCP / scheme",
        "median s",
        "95 % within s",
        "longest s",
        "transfers",
        "given up",
        "switches",
        "bytes on the wire a byte",
        "load of path 1 there, back",
        "load of path 2 there, back",
        "lost on path 1 there, back %",
    ];
    let lines = rows.iter().flat_map(|row| {
        let schemes = row.schemes.iter();
        schemes.map(|(scheme, runs)| line(row, *scheme, runs))
    });
    FigureTable {
        id: format!("{id}-times"),
        title: "Transfer times, with 95 % intervals of the means of replicas".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: lines.collect(),
    }
}

fn line(row: &LoadPoint, scheme: Scheme, runs: &[SchemeResult]) -> Vec<String> {
    let times: Vec<f64> = runs
        .iter()
        .flat_map(|run| run.times.iter().copied())
        .collect();
    let at = |q| quantile(&times, q).map_or("-".to_owned(), |time| format!("{time:.2}"));
    let sum = |of: fn(&SchemeResult) -> u64| runs.iter().map(of).sum::<u64>();
    let [loads1, loads2] = [0, 1].map(|path| {
        let both = [0, 1].map(|direction| mean(&each(runs, |loads| loads[path][direction])));
        format!("{:.3}, {:.3}", both[0], both[1])
    });
    let time = estimate(&row.times(scheme));
    let share = time.and_then(|time| Some(format!("{:.1}", 100.0 * time.ci95? / time.mean)));
    let share = share.unwrap_or_else(|| "-".to_owned());
    let overhead = sum(|run| run.bytes[1]) as f64 / sum(|run| run.bytes[0]).max(1) as f64;
    vec![
        format!("{:.3}", row.load),
        title(scheme).to_owned(),
        shown(time, 2),
        share,
        shown(ratio(row, scheme), 2),
        at(0.5),
        at(0.95),
        at(1.0),
        times.len().to_string(),
        sum(|run| run.timed_out.into()).to_string(),
        sum(|run| run.switches.into()).to_string(),
        format!("{overhead:.3}"),
        loads1,
        loads2,
        lost(runs),
    ]
}

/// The transfer time of plain TCP over that of a scheme, over all replicas; `None` if plain TCP
/// had other replicas.
pub(super) fn ratio(row: &LoadPoint, scheme: Scheme) -> Option<Estimate> {
    let (plain, times) = (row.times(Scheme::Tcp), row.times(scheme));
    let pairs = plain.iter().zip(&times);
    let pairs: Vec<(f64, f64)> = pairs.map(|(tcp, other)| (tcp.value, other.value)).collect();
    (plain.len() == times.len())
        .then(|| Estimate::of_ratio(&pairs))
        .flatten()
}

fn each(runs: &[SchemeResult], of: impl Fn(&Loads) -> f64) -> Vec<f64> {
    runs.iter().map(|run| of(&run.loads)).collect()
}

fn lost(runs: &[SchemeResult]) -> String {
    let share = [0, 1].map(|direction| {
        let frames = runs.iter().map(|run| run.frames[0][direction]);
        let (lost, sent) = frames.fold((0, 0), |(a, b), (lost, sent)| (a + lost, b + sent));
        100.0 * lost as f64 / sent.max(1) as f64
    });
    format!("{:.1}, {:.1}", share[0], share[1])
}
