//! Values with their intervals in rows, one below the other: room for long names.

use plotters::prelude::*;

use super::{Axis, DrawingError, Frame, Scale, color, draw, elements, line};
use crate::statistics::Estimate;
use crate::table::shortened;

/// The width of a picture, and the height of a row and of everything else, in pixels.
const WIDTH: u32 = 540;
const ROW: u32 = 24;
const AROUND: u32 = 96;

/// The greatest length of a name in characters, and about the width of one in pixels.
const NAME: usize = 30;
const LETTER: f64 = 7.4;

/// Half of the height of the ends of an interval, in rows.
const END: f64 = 0.16;

/// The colour of the values.
const COLOR: usize = 2;

/// Ticks of the axis, at most.
const TICKS: usize = 7;

/// A row: its name, and its value in the unit of the axis.
pub(crate) struct DotRow {
    pub(crate) name: String,
    pub(crate) value: Option<Estimate>,
}

/// The rows as SVG, the first above; `label` names the axis with its unit. No interval is drawn
/// above `most`, the greatest possible value.
pub(crate) fn svg(
    title: &str,
    label: &str,
    most: f64,
    rows: &[DotRow],
) -> Result<String, DrawingError> {
    let values = || rows.iter().filter_map(|row| row.value);
    let ends = values().flat_map(|value| value.interval().unwrap_or([value.mean; 2]));
    let ends = ends.map(|end| end.min(most));
    let finite = ends
        .chain(values().map(|value| value.mean))
        .filter(|end| end.is_finite());
    let (low, high) = finite.fold((0.0_f64, 0.0_f64), |(low, high), end| {
        (low.min(end), high.max(end))
    });
    // An interval alone does not extend the axis of a non-negative quantity below 0.
    let is_signed = values().any(|value| value.mean < 0.0);
    let low = if is_signed { low * 1.04 } else { 0.0 };
    let high = if high > low { high * 1.04 } else { 1.0 };
    let names: Vec<String> = rows
        .iter()
        .rev()
        .map(|row| shortened(&row.name, NAME))
        .collect();
    let frame = Frame {
        size: (WIDTH, AROUND + ROW * count(rows.len())),
        caption: title,
        x: Axis {
            label,
            scale: Scale::linear(low..high, TICKS),
        },
        y: Axis {
            label: "",
            scale: Scale::named(names.iter().cloned()),
        },
        foot: 0,
        y_labels: width(&names),
    };
    draw(&frame, |canvas, _| {
        let style = color(COLOR);
        for (row, at) in rows.iter().rev().zip(0_u32..) {
            let at = f64::from(at);
            let Some(value) = row.value.filter(|value| value.mean.is_finite()) else {
                continue;
            };
            if let Some([from, to]) = value.interval() {
                let (from, to) = (from.max(low), to.min(high.min(most)));
                line(canvas, [(from, at), (to, at)], style.stroke_width(2))?;
                for end in [from, to] {
                    line(
                        canvas,
                        [(end, at - END), (end, at + END)],
                        style.stroke_width(2),
                    )?;
                }
            }
            elements(canvas, [Circle::new((value.mean, at), 4, style.filled())])?;
        }
        Ok(())
    })
}

fn count(rows: usize) -> u32 {
    u32::try_from(rows.max(1)).unwrap_or(u32::MAX / ROW / 2)
}

/// The width that the names need, in pixels.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a name has at most NAME letters"
)]
fn width(names: &[String]) -> u32 {
    let longest = names.iter().map(|name| name.chars().count()).max();
    (longest.unwrap_or(0) as f64 * LETTER) as u32 + 14
}
