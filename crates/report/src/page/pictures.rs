//! The pictures of the page.

use std::ops::Range;

use plotters::prelude::*;

use crate::chart::{
    Axis, Canvas, DrawingError, Frame, Scale, Y_LABELS, color, draw, elements, line, mark,
};
use crate::figures::{Figures, SchemeFigures};
use crate::playout::{Curve, mean_playable};
use crate::record::{ExperimentRecord, SchemeRecord};

/// Points of a drawn curve.
const POINTS: u32 = 240;

/// Steps of a faint curve; more would not be visible.
const FAINT_STEPS: usize = 120;

/// Ticks of an axis, at most.
const TICKS: usize = 8;

/// The colour of the first path, so that paths are not mistaken for schemes.
const FIRST_PATH: usize = 5;

/// The colours of the schemes, each with its name.
pub(super) fn scheme_legend(experiment: &ExperimentRecord) -> Vec<(String, String)> {
    let names = experiment.schemes.iter().map(|scheme| &scheme.name);
    (0..)
        .zip(names)
        .map(|(n, name)| (hex(n), name.clone()))
        .collect()
}

/// The colours of the paths, each with its name.
pub(super) fn path_legend(experiment: &ExperimentRecord) -> Vec<(String, String)> {
    let paths = experiment
        .schemes
        .first()
        .map(|scheme| &scheme.overlay.paths);
    let names = paths.into_iter().flatten().map(|path| &path.name);
    (FIRST_PATH..)
        .zip(names)
        .map(|(n, name)| (hex(n), name.clone()))
        .collect()
}

fn hex(n: usize) -> String {
    let RGBColor(r, g, b) = color(n);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The playable size over time (PPD paper, Fig. 5): the mean, and each transfer faint; none where
/// no byte arrived.
pub(super) fn playable(
    experiment: &ExperimentRecord,
    figures: &Figures,
) -> Result<Option<String>, DrawingError> {
    let curves = || figures.schemes.iter().flat_map(|scheme| &scheme.curves);
    if curves().all(|curve| curve.steps().is_empty()) {
        return Ok(None);
    }
    let end = greatest(curves().map(Curve::end));
    let transfers = experiment
        .schemes
        .iter()
        .flat_map(|scheme| &scheme.transfers);
    let size = greatest(transfers.map(|transfer| transfer.size.0 as f64 / 1e3));
    let frame = Frame {
        size: (540, 380),
        caption: "",
        x: numbers("time since the start of the transfer (s)", end),
        y: numbers("playable size (kB)", size),
        foot: 0,
        y_labels: Y_LABELS,
    };
    draw(&frame, |canvas, _| {
        for (n, scheme) in figures.schemes.iter().enumerate() {
            for curve in &scheme.curves {
                line(canvas, faint(curve), color(n).mix(0.2))?;
            }
        }
        for (n, scheme) in figures.schemes.iter().enumerate() {
            let mean = |at| mean_playable(&scheme.curves, at).map(|bytes| (at, bytes / 1e3));
            line(canvas, grid(end).filter_map(mean), color(n).stroke_width(2))?;
        }
        Ok(())
    })
    .map(Some)
}

/// Every transfer time as a dot, and the mean of each scheme with its interval.
pub(super) fn times(
    experiment: &ExperimentRecord,
    figures: &Figures,
) -> Result<String, DrawingError> {
    let seconds = |scheme: &SchemeRecord| -> Vec<(f64, bool)> {
        let timeout = experiment.timeout;
        let time = |t: &crate::Transfer| {
            (
                t.duration.unwrap_or(timeout).as_secs_f64(),
                t.duration.is_some(),
            )
        };
        scheme.transfers.iter().map(time).collect()
    };
    let dots: Vec<Vec<(f64, bool)>> = experiment.schemes.iter().map(seconds).collect();
    let ends = figures.schemes.iter().filter_map(|scheme| scheme.transfer);
    let ends = ends.map(|transfer| transfer.mean + transfer.ci95.unwrap_or(0.0));
    let top = greatest(dots.iter().flatten().map(|(time, _)| *time).chain(ends));
    let names = experiment.schemes.iter().map(|s| s.name.clone());
    let frame = Frame {
        size: (540, 380),
        caption: "",
        x: Axis {
            label: "scheme",
            scale: Scale::named(names),
        },
        y: numbers("transfer time (s)", top),
        foot: 0,
        y_labels: Y_LABELS,
    };
    draw(&frame, |canvas, _| {
        for (n, (dots, figures)) in dots.iter().zip(&figures.schemes).enumerate() {
            let marks = dots.iter().enumerate().map(|(round, (time, done))| {
                let style = color(n).mix(0.45);
                let style = if *done {
                    style.filled()
                } else {
                    color(n).stroke_width(1)
                };
                Circle::new((n as f64 + spread(round, dots.len()), *time), 3, style)
            });
            elements(canvas, marks)?;
            draw_mean(canvas, n, figures)?;
        }
        Ok(())
    })
}

fn draw_mean(
    canvas: &mut Canvas<'_, '_>,
    n: usize,
    figures: &SchemeFigures,
) -> Result<(), DrawingError> {
    let Some(transfer) = figures.transfer else {
        return Ok(());
    };
    let (at, half) = (n as f64, transfer.ci95.unwrap_or(0.0));
    let (low, high) = ((transfer.mean - half).max(0.0), transfer.mean + half);
    let style = color(n).stroke_width(2);
    line(canvas, [(at, low), (at, high)], style)?;
    for level in [low, high] {
        line(canvas, [(at - 0.06, level), (at + 0.06, level)], style)?;
    }
    line(
        canvas,
        [(at - 0.22, transfer.mean), (at + 0.22, transfer.mean)],
        color(n).stroke_width(3),
    )
}

/// The pre-buffer over the rate of the playout; none where no transfer completed.
pub(super) fn prebuffer(figures: &Figures) -> Result<Option<String>, DrawingError> {
    if figures.rates.is_empty() {
        return Ok(None);
    }
    let curve = |scheme: &SchemeFigures| -> Vec<(f64, f64)> {
        let wait = |rate: &f64| Some((rate * 8.0 / 1e3, scheme.prebuffer_at(*rate)?));
        figures.rates.iter().filter_map(wait).collect()
    };
    let curves: Vec<Vec<(f64, f64)>> = figures.schemes.iter().map(curve).collect();
    let points = || curves.iter().flatten();
    let frame = Frame {
        size: (1080, 320),
        caption: "",
        x: numbers(
            "rate of the playout (kbit/s)",
            greatest(points().map(|(rate, _)| *rate)),
        ),
        y: numbers(
            "pre-buffer d(r) (s)",
            greatest(points().map(|(_, wait)| *wait)),
        ),
        foot: 0,
        y_labels: Y_LABELS,
    };
    draw(&frame, |canvas, _| {
        for (n, curve) in curves.into_iter().enumerate() {
            line(canvas, curve, color(n).stroke_width(2))?;
        }
        Ok(())
    })
    .map(Some)
}

/// For each scheme the bytes that each path delivered to the client per second, and the switches;
/// no picture if nothing arrived.
pub(super) fn throughput(experiment: &ExperimentRecord) -> Result<Vec<String>, DrawingError> {
    let paths = || {
        experiment
            .schemes
            .iter()
            .flat_map(|scheme| &scheme.overlay.paths)
    };
    let bins = || paths().flat_map(|path| &path.forward.arrivals);
    if bins().all(|bytes| bytes.0 == 0) {
        return Ok(Vec::new());
    }
    let top = greatest(bins().map(|bytes| bytes.0 as f64 * 8.0 / 1e3));
    let end = greatest(paths().map(|path| path.forward.arrivals.len() as f64));
    let span = first_second(experiment).min(end - 1.0).max(0.0)..end;
    let schemes = experiment.schemes.iter();
    schemes
        .map(|scheme| throughput_of(scheme, span.clone(), top))
        .collect()
}

/// The second in which the first transfer began: before it there was the warm-up.
pub(super) fn first_second(experiment: &ExperimentRecord) -> f64 {
    let transfers = experiment.schemes.iter().flat_map(|s| &s.transfers);
    let first = transfers.map(|transfer| transfer.started).min();
    first.map_or(0.0, |started| started.as_secs_f64().floor())
}

fn throughput_of(
    scheme: &SchemeRecord,
    span: Range<f64>,
    top: f64,
) -> Result<String, DrawingError> {
    let frame = Frame {
        size: (540, 270),
        caption: &scheme.name,
        x: Axis {
            label: "time (s)",
            scale: Scale::linear(span.clone(), TICKS),
        },
        y: numbers("arrived (kbit/s)", top * 1.1),
        foot: 0,
        y_labels: Y_LABELS,
    };
    draw(&frame, |canvas, _| {
        let switches = scheme.overlay.server_switches();
        for switch in switches.filter(|switch| switch.at.as_secs_f64() >= span.start) {
            let color = color(FIRST_PATH + switch.to.index());
            mark(
                canvas,
                switch.at.as_secs_f64(),
                frame.y.scale.span().end,
                color,
            )?;
        }
        for (n, path) in scheme.overlay.paths.iter().enumerate() {
            let color = color(FIRST_PATH + n);
            let bins = path.forward.arrivals.iter().enumerate();
            let points =
                bins.map(|(second, bytes)| (second as f64 + 0.5, bytes.0 as f64 * 8.0 / 1e3));
            let points = points.filter(|(at, _)| *at >= span.start);
            line(canvas, points, color.stroke_width(1))?;
        }
        Ok(())
    })
}

/// A curve as steps in seconds and kilobytes, thinned where there are too many.
fn faint(curve: &Curve) -> impl Iterator<Item = (f64, f64)> {
    let stride = curve.steps().len().div_ceil(FAINT_STEPS).max(1);
    let last = curve.steps().last().copied();
    let steps = curve.steps().iter().copied().step_by(stride).chain(last);
    let mut before = 0.0;
    steps.flat_map(move |(at, bytes)| {
        let corner = (at, before);
        before = bytes / 1e3;
        [corner, (at, before)]
    })
}

fn grid(end: f64) -> impl Iterator<Item = f64> {
    (0..=POINTS).map(move |n| end * f64::from(n) / f64::from(POINTS))
}

/// The horizontal offset of a round's dot from its scheme's position.
fn spread(round: usize, rounds: usize) -> f64 {
    if rounds < 2 {
        return 0.0;
    }
    0.6 * (round as f64 / (rounds - 1) as f64 - 0.5)
}

fn numbers(label: &str, greatest: f64) -> Axis<'_> {
    Axis {
        label,
        scale: Scale::linear(0.0..greatest * 1.04, TICKS),
    }
}

/// The maximum of positive values, 1 if there are none.
fn greatest(values: impl Iterator<Item = f64>) -> f64 {
    let greatest = values.fold(0.0, f64::max);
    if greatest > 0.0 { greatest } else { 1.0 }
}
