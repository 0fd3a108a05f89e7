//! The pictures: the share of each path over time, and the map over the settings of a grid.

use polypath_core::time::Duration;
use polypath_scenario::network::senders::GridPoint;

use super::figures::{SettingFigures, StabilityFigures};
use super::{StabilityRecord, settings};
use crate::plot::{Axis, Look, Plot, Point, Series, Stated};
use crate::statistics::Estimate;

/// The largest number of settings whose history is drawn.
const HISTORIES: usize = 8;

/// The share of each path over time in the first run of each setting that is no point of a grid;
/// `None` if there is none.
pub(super) fn history(record: StabilityRecord<'_>) -> Option<Plot> {
    let run = record.network.run;
    let names: Vec<String> = record
        .network
        .senders()?
        .paths()
        .into_iter()
        .map(|p| p.name)
        .collect();
    let panels = record.settings.iter().zip(record.outcomes);
    let panels = panels.filter(|(setting, _)| setting.point.is_none());
    let panels = panels.take(HISTORIES).filter_map(|(setting, outcomes)| {
        let of_run = outcomes.first()?;
        let start = run.warm_up.as_secs_f64();
        let series = names.iter().zip(&of_run.paths).map(|(name, path)| {
            let step = of_run.measured.as_secs_f64() / path.history.len().max(1) as f64;
            let points = path.history.iter().zip(0_u32..);
            Series {
                name: name.clone(),
                points: points
                    .map(|(share, n)| point(start + f64::from(n) * step, 100.0 * share, None))
                    .collect(),
                look: Look::Trace,
            }
        });
        Some(Plot {
            id: "history".to_owned(),
            title: setting.name.clone(),
            x: axis("time", "s"),
            y: Axis {
                range: Some([0.0, 100.0]),
                ..axis("senders on the path", "%")
            },
            series: series.collect(),
            ..Plot::default()
        })
    });
    let panels: Vec<Plot> = panels.collect();
    (!panels.is_empty()).then(|| Plot {
        id: "history".to_owned(),
        title: "Share of the senders on each path in the first run".to_owned(),
        panels,
        ..Plot::default()
    })
}

/// The share of unstable runs, the switch rate and the 99th percentile of the delay over the
/// hysteresis: a row of panels for each heartbeat interval, a curve for each guard time, with the
/// recommended setting; `None` without a grid.
pub(super) fn map(record: StabilityRecord<'_>, figures: &StabilityFigures) -> Option<Plot> {
    let points: Vec<(GridPoint, &SettingFigures)> = settings(record, figures)
        .filter_map(|(setting, of, _)| Some((setting.point?, of)))
        .collect();
    let quantities: [Quantity; 3] = [
        Quantity {
            label: "unstable runs",
            unit: "%",
            value: |of| {
                let mean = 100.0 * of.unstable_share()?;
                Some(Estimate {
                    mean,
                    ci95: None,
                    n: of.runs,
                })
            },
        },
        Quantity {
            label: "switches of a sender",
            unit: "1/s",
            value: |of| of.switch_rate,
        },
        Quantity {
            label: "p99 of the delay",
            unit: "ms",
            value: |of| Some(of.delay[2]?.scaled(1e3)),
        },
    ];
    let recommended = figures
        .recommended
        .map(|position| &figures.settings[position]);
    let heartbeats = distinct(points.iter().map(|(point, _)| point.heartbeat));
    let panels = heartbeats.iter().flat_map(|heartbeat| {
        let here: Vec<_> = points
            .iter()
            .filter(|(point, _)| point.heartbeat == *heartbeat)
            .collect();
        let panel = move |quantity: &Quantity| Plot {
            id: "map".to_owned(),
            title: format!("heartbeats every {heartbeat}"),
            x: axis("hysteresis or threshold", "ms"),
            y: axis(quantity.label, quantity.unit),
            series: curves(&here, quantity),
            stated: mark(&here, recommended, quantity).into_iter().collect(),
            stated_as: Some("recommended"),
            ..Plot::default()
        };
        quantities.each_ref().map(panel)
    });
    let panels: Vec<Plot> = panels.collect();
    (!panels.is_empty()).then(|| Plot {
        id: "map".to_owned(),
        title:
            "Unstable runs, switches and delay over hysteresis, guard time and heartbeat interval"
                .to_owned(),
        panels,
        columns: Some(quantities.len()),
        ..Plot::default()
    })
}

/// A quantity of the map.
struct Quantity {
    label: &'static str,
    unit: &'static str,
    value: fn(&SettingFigures) -> Option<Estimate>,
}

/// The recommended setting, if it is one of `points`.
fn mark(
    points: &[&(GridPoint, &SettingFigures)],
    recommended: Option<&SettingFigures>,
    quantity: &Quantity,
) -> Option<Stated> {
    let recommended = recommended?;
    let (at, of) = points
        .iter()
        .find(|(_, of)| std::ptr::eq(*of, recommended))?;
    Some(Stated {
        of: name(at.guard_time),
        x: at.hysteresis.as_secs_f64() * 1e3,
        y: (quantity.value)(of)?.mean,
    })
}

/// The name of the curve of a guard time.
fn name(guard_time: Duration) -> String {
    match guard_time {
        Duration::ZERO => "no guard time".to_owned(),
        guard_time => format!("guard time {guard_time}"),
    }
}

/// A curve over the hysteresis for each guard time.
fn curves(points: &[&(GridPoint, &SettingFigures)], quantity: &Quantity) -> Vec<Series> {
    let guard_times = distinct(points.iter().map(|(point, _)| point.guard_time));
    let curve = |guard_time: &Duration| {
        let here = points
            .iter()
            .filter(|(point, _)| point.guard_time == *guard_time);
        Series {
            name: name(*guard_time),
            points: here
                .filter_map(|(at, of)| {
                    let Estimate { mean, ci95, .. } = (quantity.value)(of)?;
                    Some(point(at.hysteresis.as_secs_f64() * 1e3, mean, ci95))
                })
                .collect(),
            look: Look::Line,
        }
    };
    guard_times.iter().map(curve).collect()
}

fn distinct(values: impl Iterator<Item = Duration>) -> Vec<Duration> {
    let mut values: Vec<Duration> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn axis(label: &str, unit: &str) -> Axis {
    Axis {
        label: label.to_owned(),
        unit: unit.to_owned(),
        ..Axis::default()
    }
}

fn point(x: f64, y: f64, ci95: Option<f64>) -> Point {
    Point { x, y, ci95 }
}
