//! The shapes of a picture's points, in relative coordinates.

use super::extent::Scales;
use super::geometry::{P, UNIT};
use super::{Axis, Look, Plot, Point, Series};

/// A share of an axis smaller than a pixel.
const UNSEEN: f64 = 1.0 / 1024.0;

/// The shapes of a curve.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Shape {
    /// The line, split where it leaves the axes.
    pub(super) lines: Vec<Vec<P>>,
    /// The areas of its 95 % intervals.
    pub(super) bands: Vec<Vec<P>>,
    /// The 95 % intervals of isolated points.
    pub(super) bars: Vec<[P; 2]>,
    /// Its points.
    pub(super) dots: Vec<P>,
}

impl Shape {
    /// The shapes of a curve on these axes.
    pub(super) fn of(series: &Series, scales: &Scales) -> Self {
        let mut shape = Self::default();
        for mut run in runs(series, scales) {
            if series.look == Look::Trace {
                thin(&mut run);
            }
            let path: Vec<P> = run.iter().map(|place| place.at).collect();
            if series.look != Look::Trace || path.len() == 1 {
                let seen = path.iter().filter(|at| UNIT.holds(**at));
                shape.dots.extend(seen);
            }
            if matches!(series.look, Look::Dots | Look::Marks) {
                shape.bars.extend(run.iter().filter_map(PlottedPoint::bar));
                continue;
            }
            shape.lines.extend(UNIT.parts_of_path(&path));
            for part in run.chunk_by(|a, b| a.band.is_some() && b.band.is_some()) {
                shape.add_band(part);
            }
        }
        shape
    }

    fn add_band(&mut self, run: &[PlottedPoint]) {
        if let [alone] = run {
            self.bars.extend(alone.bar());
            return;
        }
        if run.iter().all(PlottedPoint::is_exact) {
            return;
        }
        let side =
            |which: usize| move |place: &PlottedPoint| Some((place.at.0, place.band?[which]));
        let low = run.iter().filter_map(side(0));
        let high = run.iter().rev().filter_map(side(1));
        let area = UNIT.part_of_area(&low.chain(high).collect::<Vec<P>>());
        self.bands.extend((!area.is_empty()).then_some(area));
    }
}

/// The position of a point, with the ends of its interval.
struct PlottedPoint {
    at: P,
    band: Option<[f64; 2]>,
}

impl PlottedPoint {
    fn of(point: &Point, scales: &Scales) -> Option<Self> {
        let at = (scales.x.share(point.x)?, scales.y.share(point.y)?);
        let half = point.ci95.filter(|half| half.is_finite() && *half >= 0.0);
        let band = half.and_then(|half| {
            // On a logarithmic axis, an interval down to 0 extends to the start of the axis.
            let low = scales.y.share(point.y - half).unwrap_or(0.0).max(0.0);
            Some([low, scales.y.share(point.y + half)?])
        });
        Some(Self { at, band })
    }

    /// Whether its interval has no length: a band narrows to it, and it has no bar.
    fn is_exact(&self) -> bool {
        self.band.is_none_or(|[low, high]| low >= high)
    }

    fn bar(&self) -> Option<[P; 2]> {
        let [low, high] = self.band.filter(|_| !self.is_exact())?;
        UNIT.part_of_line((self.at.0, low), (self.at.0, high))
    }
}

/// The points of a curve that have positions, split where others lie between them.
fn runs(series: &Series, scales: &Scales) -> Vec<Vec<PlottedPoint>> {
    let places: Vec<_> = series
        .points
        .iter()
        .map(|p| PlottedPoint::of(p, scales))
        .collect();
    let mut runs: Vec<Vec<PlottedPoint>> = vec![Vec::new()];
    for place in places {
        match (place, runs.last_mut()) {
            (Some(place), Some(run)) => run.push(place),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// Removes invisible points: those nearer than [`UNSEEN`] to the previous one, except the last.
fn thin(run: &mut Vec<PlottedPoint>) {
    let last = run.pop();
    run.dedup_by(|next, kept| {
        let (dx, dy) = (next.at.0 - kept.at.0, next.at.1 - kept.at.1);
        dx.abs() < UNSEEN && dy.abs() < UNSEEN
    });
    run.extend(last);
}

/// Sentences about values that are not drawn, and why.
pub(super) fn missing(plot: &Plot, scales: Option<&Scales>) -> Vec<String> {
    let has_place = |x: f64, y: f64| plot.x.has_place(x) && plot.y.has_place(y);
    let of_series = plot.series.iter().map(|series| {
        let lost = series
            .points
            .iter()
            .filter(|p| !has_place(p.x, p.y))
            .count();
        (series.name.as_str(), lost)
    });
    let lost = plot.stated.iter().filter(|s| !has_place(s.x, s.y)).count();
    let reference = plot.reference();
    let all = of_series.chain([(reference.as_str(), lost)]);
    let why = why_without_place(&plot.x, &plot.y);
    let lines = all.filter(|(_, lost)| *lost > 0);
    let mut lines: Vec<String> = lines
        .map(|(name, lost)| format!("Not drawn: {} of {name}, {why}.", points(lost)))
        .collect();
    let beyond = scales.map_or(0, |scales| beyond(plot, scales));
    if beyond > 0 {
        let beyond = points(beyond);
        lines.push(format!("Beyond the axes: {beyond} of {reference}."));
    }
    lines
}

fn points(n: usize) -> String {
    format!("{n} point{}", if n == 1 { "" } else { "s" })
}

fn why_without_place(x: &Axis, y: &Axis) -> &'static str {
    if x.is_log || y.is_log {
        "not a number above 0 on a logarithmic axis"
    } else {
        "not a number"
    }
}

/// The number of reference points outside axes with a given range.
fn beyond(plot: &Plot, scales: &Scales) -> usize {
    let places = plot.stated.iter().filter_map(|stated| {
        let (x, y) = (scales.x.share(stated.x)?, scales.y.share(stated.y)?);
        Some((x, y))
    });
    places.filter(|at| !UNIT.holds(*at)).count()
}
