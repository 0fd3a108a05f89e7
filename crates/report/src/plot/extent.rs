//! The ranges of the axes.

use std::ops::Range;

use super::{Axis, Plot, PlotError, Point};
use crate::chart::Scale;

/// Ticks of an axis, at most.
const TICKS: [usize; 2] = [8, 7];

/// The margin around the points, as a share of the axis.
const PAD: f64 = 0.04;

/// Both axes of a picture.
pub(super) struct Scales {
    pub(super) x: Scale,
    pub(super) y: Scale,
}

/// The axes of a picture; `None` if it has no point that can be drawn.
pub(super) fn scales(plot: &Plot) -> Result<Option<Scales>, PlotError> {
    let points = || plot.series.iter().flat_map(|series| &series.points);
    let stated = || plot.stated.iter().map(|stated| (stated.x, stated.y));
    let all = || points().map(|p| (p.x, p.y)).chain(stated());
    let drawn = || all().filter(|p| plot.x.has_place(p.0) && plot.y.has_place(p.1));
    let Some(across) = span(&plot.x, drawn().map(|p| p.0), false)? else {
        return Ok(None);
    };
    let is_within = |x: f64| across.contains(&x) || x.total_cmp(&across.end).is_eq();
    let heights = drawn().filter(|p| is_within(p.0)).map(|p| p.1);
    let least = heights.clone().fold(f64::INFINITY, f64::min);
    let bands = points().filter(|p| is_within(p.x)).flat_map(ends_of_band);
    // An interval alone does not extend the axis of a non-negative quantity below 0.
    let bands = bands.filter(|y| plot.y.has_place(*y) && (*y >= 0.0 || least < 0.0));
    let Some(up) = span(&plot.y, heights.chain(bands), true)? else {
        return Ok(None);
    };
    Ok(Some(Scales {
        x: scale(&plot.x, across, TICKS[0]),
        y: scale(&plot.y, up, TICKS[1]),
    }))
}

/// The ends of the 95 % interval of a point.
fn ends_of_band(point: &Point) -> impl Iterator<Item = f64> + use<> {
    let (y, half) = (point.y, point.ci95.filter(|half| half.is_finite()));
    half.into_iter().flat_map(move |half| [y - half, y + half])
}

fn scale(axis: &Axis, span: Range<f64>, most: usize) -> Scale {
    if !axis.names.is_empty() {
        Scale::named(axis.names.iter().cloned())
    } else if axis.is_log {
        Scale::log(span, most)
    } else {
        Scale::linear(span, most)
    }
}

/// The range of an axis for some values, from 0 if `from_zero` and none is negative; `None` without
/// values.
fn span(
    axis: &Axis,
    values: impl Iterator<Item = f64>,
    from_zero: bool,
) -> Result<Option<Range<f64>>, PlotError> {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = values.fold(none, |(low, high), y| (low.min(y), high.max(y)));
    if low > high {
        return Ok(None);
    }
    if let Some([start, end]) = axis.range {
        let is_right = axis.has_place(start) && axis.has_place(end) && start < end;
        let wrong = || PlotError::Range(axis.name(), start, end);
        return is_right.then_some(Some(start..end)).ok_or_else(wrong);
    }
    Ok(Some(if axis.is_log {
        around_log(low, high)
    } else {
        around(low, high, from_zero)
    }))
}

fn around_log(low: f64, high: f64) -> Range<f64> {
    let pad = (high / low).powf(PAD);
    let pad = if pad > 1.0 + 1e-9 { pad } else { 2.0 };
    low / pad..high * pad
}

fn around(low: f64, high: f64, from_zero: bool) -> Range<f64> {
    if low >= 0.0 && (from_zero || low <= PAD * high) {
        return 0.0..if high > 0.0 { high * (1.0 + PAD) } else { 1.0 };
    }
    let width = high - low;
    let greatest = low.abs().max(high.abs());
    let pad = if width > 1e-9 * greatest {
        PAD * width
    } else {
        0.1 * greatest
    };
    low - pad..high + pad
}

impl Axis {
    /// Whether a value has a position on this kind of axis: it is a number, and above 0 on a
    /// logarithmic one.
    pub(super) fn has_place(&self, value: f64) -> bool {
        value.abs() < 1e300 && (!self.is_log || value > 1e-300)
    }

    /// Its label with the unit.
    pub(crate) fn name(&self) -> String {
        if self.unit.is_empty() {
            self.label.clone()
        } else {
            format!("{} ({})", self.label, self.unit)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Series;

    fn plot(points: &[(f64, f64, f64)], is_log: bool) -> Plot {
        let point = |&(x, y, half): &(f64, f64, f64)| Point {
            x,
            y,
            ci95: Some(half),
        };
        Plot {
            y: Axis {
                is_log,
                ..Axis::default()
            },
            series: vec![Series {
                points: points.iter().map(point).collect(),
                ..Series::default()
            }],
            ..Plot::default()
        }
    }

    fn up(plot: &Plot) -> Range<f64> {
        let scales = scales(plot).unwrap().unwrap();
        scales.y.span().clone()
    }

    #[test]
    fn the_axis_holds_all_points_and_intervals_and_zero() {
        assert_eq!(
            up(&plot(&[(0.0, 3.0, 1.0), (1.0, 20.0, 5.0)], false)),
            0.0..26.0
        );
        let log = up(&plot(&[(0.0, 3.0, 1.0), (1.0, 20.0, 5.0)], true));
        assert!(
            log.start < 2.0 && log.start > 1.5 && log.end > 25.0,
            "{log:?}"
        );
        let signed = up(&plot(&[(0.0, -3.0, 1.0), (1.0, 6.0, 0.0)], false));
        assert!((signed.start + 4.4).abs() < 1e-9, "{signed:?}");
    }

    #[test]
    fn an_interval_below_zero_does_not_move_the_axis_there() {
        assert_eq!(up(&plot(&[(0.0, 1.0, 3.0)], false)), 0.0..4.16);
    }

    #[test]
    fn equal_points_get_an_axis_around_them() {
        assert_eq!(up(&plot(&[(1.0, 0.0, 0.0); 3], false)), 0.0..1.0);
        assert_eq!(up(&plot(&[(1.0, -5.0, 0.0); 3], false)), -5.5..-4.5);
        assert_eq!(up(&plot(&[(1.0, 5.0, 0.0); 3], true)), 2.5..10.0);
    }

    #[test]
    fn reference_points_count_unless_outside_a_given_range() {
        let mut picture = plot(&[(0.0, 1.0, 0.0), (5.0, 100.0, 0.0)], false);
        picture.x.range = Some([0.0, 2.0]);
        picture.stated.push(crate::plot::Stated {
            of: String::new(),
            x: 1.0,
            y: 50.0,
        });
        assert_eq!(up(&picture), 0.0..52.0);
    }

    #[test]
    fn an_empty_range_is_an_error_and_without_points_there_is_no_axis() {
        assert!(scales(&plot(&[], false)).unwrap().is_none());
        assert!(scales(&plot(&[(0.0, 0.0, 1.0)], true)).unwrap().is_none());
        let mut picture = plot(&[(0.0, 1.0, 0.0)], true);
        picture.y.range = Some([0.0, 1.0]);
        picture.y.label = "time".to_owned();
        let error = scales(&picture).err().unwrap().to_string();
        assert!(
            error.contains("time") && error.contains("0 to 1"),
            "{error}"
        );
    }
}
