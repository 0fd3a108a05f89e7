//! The pictures of a network.

use std::fmt::Write as _;

use polypath_link::Counters;
use polypath_sim::{FlowCounters, FlowOutcome, NetworkOutcome};

use super::super::NetworkRecord;
use super::super::figures::{FlowFigures, GroupFigures, LinkFigures, NetworkFigures};
use crate::chart::dots::{DotRow, svg};
use crate::conclusion::numbers::{range_of, with_interval};
use crate::page::PageError;
use crate::page::layout::Picture;
use crate::plot::{Axis, Look, Plot, Point, Series};
use crate::statistics::Estimate;
use crate::table::shortened;

/// The curves of a picture, at most: each has a colour of its own.
const CURVES: usize = 6;

/// The rows of a picture, at most.
const ROWS: usize = 40;

/// The greatest length of a name in a legend.
const NAME: usize = 24;

/// A curve over the spans of a run: its name and, for each span, the value in each replica.
struct Curve<'a> {
    name: &'a str,
    values: Vec<Vec<f64>>,
}

/// The sentence above the pictures about what they show of `all`.
pub(super) fn note(record: NetworkRecord<'_>, all: usize, ranked: &str) -> String {
    let spans = spans(record.replicas);
    let over_time = if record.replicas.len() > 1 {
        "Over time: the mean of the replicas in each span, in the band of its 95 % interval."
            .to_owned()
    } else {
        format!("Over time: the mean of each of the {spans} spans of the run.")
    };
    let some = if all > CURVES {
        format!(" The curves are those of the {CURVES} {ranked}, of {all}.")
    } else {
        String::new()
    };
    format!("{over_time}{some} Dots with bars are means of the run with 95 % intervals.")
}

/// The goodput and the delay of the groups.
pub(super) fn flows(
    record: NetworkRecord<'_>,
    figures: &NetworkFigures,
) -> Result<Vec<Picture>, PageError> {
    let groups = &figures.groups;
    let shown = ranked(groups, |group| group.means.goodput);
    let seconds = span_seconds(record);
    let curves = |value: &dyn Fn(&FlowCounters) -> Option<f64>| -> Vec<Curve<'_>> {
        let curve = |number: &usize| Curve {
            name: &groups[*number].name,
            values: of_group(record, groups, *number, value),
        };
        shown.iter().map(curve).collect()
    };
    let goodput = |counters: &FlowCounters| Some(counters.goodput as f64 * 8e-6 / seconds);
    let delay = |counters: &FlowCounters| Some(counters.delays.mean()? * 1e3);
    let mut pictures = Vec::new();
    pictures.extend(over_time(record, ["Goodput", "Mbit/s"], curves(&goodput))?);
    pictures.extend(over_time(record, ["One-way delay", "ms"], curves(&delay))?);
    let rows = |value: fn(&GroupFigures) -> Option<Estimate>, scale| {
        let groups = groups.iter().take(ROWS);
        groups
            .map(|group| row(&group.name, value(group), scale))
            .collect::<Vec<_>>()
    };
    let of_goodput = rows(|group| group.means.goodput, 1e-6);
    pictures.push(dots(["Goodput", "Mbit/s"], &of_goodput)?);
    let of_delay = rows(|group| group.means.delay, 1e3);
    pictures.push(dots(["One-way delay", "ms"], &of_delay)?);
    Ok(pictures)
}

/// The load, the loss and the queue of the links.
pub(super) fn links(
    record: NetworkRecord<'_>,
    figures: &NetworkFigures,
    shown: &[&LinkFigures],
) -> Result<Vec<Picture>, PageError> {
    let seconds = span_seconds(record);
    let busiest = ranked(shown, |link| link.load);
    let number_of = |name: &str| figures.links.iter().position(|link| link.name == name);
    let curves = |value: &dyn Fn(&LinkFigures, &Counters) -> Option<f64>| -> Vec<Curve<'_>> {
        let curve = |position: &usize| {
            let link = shown[*position];
            let number = number_of(&link.name)?;
            let values = (0..spans(record.replicas)).map(|span| {
                let runs = record.replicas.iter();
                runs.filter_map(|(_, run)| value(link, run.links.get(number)?.spans.get(span)?))
                    .collect()
            });
            Some(Curve {
                name: &link.name,
                values: values.collect(),
            })
        };
        busiest.iter().filter_map(curve).collect()
    };
    let load = |link: &LinkFigures, c: &Counters| Some(100.0 * c.load(link.rate, seconds));
    let waiting = |_: &LinkFigures, c: &Counters| Some(c.mean_waiting(seconds));
    let loss = |_: &LinkFigures, c: &Counters| {
        (c.packets_in > 0).then(|| 100.0 * c.packets_dropped() as f64 / c.packets_in as f64)
    };
    let mut pictures = Vec::new();
    pictures.extend(over_time(record, ["Load", "%"], curves(&load))?);
    pictures.extend(over_time(
        record,
        ["Packets that wait", "packets"],
        curves(&waiting),
    )?);
    pictures.extend(over_time(record, ["Loss", "%"], curves(&loss))?);
    let rows = |value: fn(&LinkFigures) -> Option<Estimate>, scale| {
        let links = shown.iter().take(ROWS);
        links
            .map(|link| row(&link.name, value(link), scale))
            .collect::<Vec<_>>()
    };
    pictures.push(dots(["Load", "%"], &rows(|link| link.load, 100.0))?);
    pictures.push(dots(["Loss", "%"], &rows(|link| link.loss, 100.0))?);
    pictures.push(dots(
        ["Packets that wait", "packets"],
        &rows(|link| link.waiting, 1.0),
    )?);
    Ok(pictures)
}

/// The goodput of every flow: by name, or by rank if there are many.
pub(super) fn single_flows(figures: &NetworkFigures) -> Result<Picture, PageError> {
    let flows = &figures.flows;
    if flows.len() <= ROWS {
        let of_flow = |flow: &FlowFigures| row(&flow.name, flow.means.goodput, 1e-6);
        let rows: Vec<DotRow> = flows.iter().map(of_flow).collect();
        return dots(["Goodput of each flow", "Mbit/s"], &rows);
    }
    let mut begin = 0;
    let mut series = Vec::new();
    for group in &figures.groups {
        let members = &flows[begin..begin + group.count];
        begin += group.count;
        let mut values: Vec<Estimate> = members.iter().filter_map(|f| f.means.goodput).collect();
        values.sort_by(|a, b| b.mean.total_cmp(&a.mean));
        let point = |(rank, value): (u32, Estimate)| Point {
            x: f64::from(rank),
            y: value.mean * 1e-6,
            ci95: None,
        };
        series.push(Series {
            name: shortened(&group.name, NAME),
            points: (1..).zip(values).map(point).collect(),
            look: Look::Trace,
        });
    }
    let cut = series.len().saturating_sub(CURVES);
    series.truncate(CURVES);
    let title = match cut {
        0 => "Goodput of each flow by its rank in its group".to_owned(),
        cut => format!("Goodput of each flow by its rank; {cut} groups are not drawn"),
    };
    let plot = Plot {
        title,
        x: axis("rank of the flow in its group", ""),
        y: axis("goodput", "Mbit/s"),
        series,
        ..Plot::default()
    };
    picture(&plot)
}

/// The positions of the greatest, at most [`CURVES`] of them, in their order.
fn ranked<T>(all: &[T], value: impl Fn(&T) -> Option<Estimate>) -> Vec<usize> {
    let mean = |number: &usize| value(&all[*number]).map_or(0.0, |value| value.mean);
    let mut numbers: Vec<usize> = (0..all.len()).collect();
    numbers.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
    numbers.truncate(CURVES);
    numbers.sort_unstable();
    numbers
}

/// The values of a group in each span and replica.
fn of_group(
    record: NetworkRecord<'_>,
    groups: &[GroupFigures],
    number: usize,
    value: &dyn Fn(&FlowCounters) -> Option<f64>,
) -> Vec<Vec<f64>> {
    let begin: usize = groups[..number].iter().map(|group| group.count).sum();
    let members = begin..begin + groups[number].count;
    let in_span = |span: usize| {
        let sum = |flows: &[FlowOutcome]| -> FlowCounters {
            flows
                .iter()
                .filter_map(|flow| flow.spans.get(span).copied())
                .sum()
        };
        let runs = record.replicas.iter();
        runs.filter_map(|(_, run)| value(&sum(run.flows.get(members.clone())?)))
            .collect()
    };
    (0..spans(record.replicas)).map(in_span).collect()
}

fn spans(replicas: &[(u64, NetworkOutcome)]) -> usize {
    let first = replicas.first().and_then(|(_, run)| run.flows.first());
    first.map_or(0, |flow| flow.spans.len())
}

fn span_seconds(record: NetworkRecord<'_>) -> f64 {
    record
        .replicas
        .first()
        .map_or(1.0, |(_, run)| run.span.as_secs_f64())
}

/// Curves over the spans; `None` without a value.
fn over_time(
    record: NetworkRecord<'_>,
    [what, unit]: [&str; 2],
    curves: Vec<Curve<'_>>,
) -> Result<Option<Picture>, PageError> {
    let half = span_seconds(record) / 2.0;
    let at = |span: usize| {
        let begin = record.replicas.first().map(|(_, run)| run.begin_of(span));
        begin.map_or(0.0, |begin| begin.as_secs_f64() + half)
    };
    let series = curves.into_iter().map(|curve| {
        let spans = curve.values.iter().enumerate();
        let points = spans.filter_map(|(span, values)| {
            let Estimate { mean, ci95, .. } = Estimate::of(values)?;
            Some(Point {
                x: at(span),
                y: mean,
                ci95,
            })
        });
        let points: Vec<Point> = points.collect();
        // A curve without points is not in the legend, but the others keep their colours.
        let name = if points.is_empty() { "" } else { curve.name };
        Series {
            name: shortened(name, NAME),
            points,
            look: Look::Line,
        }
    });
    let series: Vec<Series> = series.collect();
    if series.iter().all(|series| series.points.is_empty()) {
        return Ok(None);
    }
    let plot = Plot {
        title: format!("{what} over time"),
        x: axis("time", "s"),
        y: axis(&what.to_lowercase(), unit),
        series,
        ..Plot::default()
    };
    picture(&plot).map(Some)
}

fn axis(label: &str, unit: &str) -> Axis {
    Axis {
        label: label.to_owned(),
        // The unit of a count is its label.
        unit: if label.starts_with(unit) {
            String::new()
        } else {
            unit.to_owned()
        },
        ..Axis::default()
    }
}

/// A plot with its text: the range of each curve.
pub(crate) fn picture(plot: &Plot) -> Result<Picture, PageError> {
    let mut alt = format!("Chart: {}, in {}", plot.title, plot.y.unit);
    if plot.y.unit.is_empty() {
        alt = format!("Chart: {}", plot.title);
    }
    for series in plot
        .series
        .iter()
        .filter(|series| !series.points.is_empty())
    {
        let heights = || series.points.iter().map(|point| point.y);
        let (low, high) = (
            heights().fold(f64::INFINITY, f64::min),
            heights().fold(f64::NEG_INFINITY, f64::max),
        );
        let name = &series.name;
        let count = series.points.len();
        let _ = write!(alt, "; {name}: {count} points from {low:.3} to {high:.3}");
    }
    Ok(Picture {
        svg: plot.svg()?,
        alt,
    })
}

fn row(name: &str, value: Option<Estimate>, scale: f64) -> DotRow {
    DotRow {
        name: name.to_owned(),
        value: value.map(|value| value.scaled(scale)),
    }
}

/// Rows of means with intervals, and their text.
fn dots([what, unit]: [&str; 2], rows: &[DotRow]) -> Result<Picture, PageError> {
    let mut alt = format!("Chart: {what} with 95 % intervals");
    for row in rows {
        let value = row
            .value
            .map_or_else(|| "none".to_owned(), |v| with_interval(v, unit));
        let _ = write!(alt, "; {}: {value}", row.name);
    }
    let label = axis(&what.to_lowercase(), unit).name();
    Ok(Picture {
        svg: svg(what, &label, range_of(unit)[1], rows)?,
        alt,
    })
}
