//! Axes, lines and marks of one look.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::PageError;

/// Colours that are told apart with any colour vision (Okabe and Ito), dark enough on white.
const PALETTE: [RGBColor; 8] = [
    RGBColor(0, 0, 0),
    RGBColor(230, 159, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
    RGBColor(153, 136, 0),
];

const INK: RGBColor = RGBColor(60, 60, 60);
const GRID: RGBColor = RGBColor(225, 225, 225);

/// The colour of the n-th scheme or path.
pub(super) fn color(n: usize) -> RGBColor {
    PALETTE[n % PALETTE.len()]
}

/// A picture's size, title and axes.
pub(super) struct Frame<'a> {
    pub(super) size: (u32, u32),
    pub(super) caption: &'a str,
    pub(super) x: Axis<'a>,
    pub(super) y: Axis<'a>,
}

/// An axis with its unit.
pub(super) struct Axis<'a> {
    pub(super) label: &'a str,
    pub(super) range: Range<f64>,
    /// The names of the positions 0, 1, ... where the axis has names instead of numbers.
    pub(super) names: Option<Vec<String>>,
}

/// A chart that is being drawn.
pub(super) type Canvas<'a, 'b> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Draws one picture, as SVG.
pub(super) fn draw(
    frame: &Frame<'_>,
    content: impl FnOnce(&mut Canvas<'_, '_>) -> Result<(), PageError>,
) -> Result<String, PageError> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, frame.size).into_drawing_area();
    let mut canvas = axes(frame, &area)?;
    content(&mut canvas)?;
    area.present().map_err(drawing)?;
    drop(canvas);
    drop(area);
    Ok(scalable(&svg))
}

fn axes<'a, 'b>(
    frame: &Frame<'_>,
    area: &'a DrawingArea<SVGBackend<'b>, Shift>,
) -> Result<Canvas<'a, 'b>, PageError> {
    let mut builder = ChartBuilder::on(area);
    builder
        .margin(8)
        .margin_right(18)
        .x_label_area_size(44)
        .y_label_area_size(58);
    if !frame.caption.is_empty() {
        builder.caption(frame.caption, ("sans-serif", 17).into_font().color(&INK));
    }
    let mut canvas = builder
        .build_cartesian_2d(frame.x.range.clone(), frame.y.range.clone())
        .map_err(drawing)?;
    let names = frame.x.names.as_deref();
    let x_text = |value: &f64| match names {
        Some(names) => name_at(*value, names),
        None => number(*value),
    };
    let mut mesh = canvas.configure_mesh();
    mesh.x_desc(frame.x.label)
        .y_desc(frame.y.label)
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .axis_desc_style(("sans-serif", 14).into_font().color(&INK))
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&x_text)
        .y_label_formatter(&|value| number(*value))
        .x_labels(names.map_or(8, |names| 2 * names.len() + 1))
        .y_labels(7);
    if names.is_some() {
        mesh.disable_x_mesh();
    }
    mesh.draw().map_err(drawing)?;
    Ok(canvas)
}

/// The name of a whole position; nothing beside it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a negative position saturates to 0, whose distance then fails the test"
)]
fn name_at(value: f64, names: &[String]) -> String {
    let nearest = value.round();
    let near = (value - nearest).abs() < 0.01 && nearest >= 0.0;
    let name = names.get(nearest as usize).filter(|_| near);
    name.cloned().unwrap_or_default()
}

/// A number with as many digits as a label needs.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned()
}

/// A line through points.
pub(super) fn line(
    canvas: &mut Canvas<'_, '_>,
    points: impl IntoIterator<Item = (f64, f64)>,
    style: impl Into<ShapeStyle>,
) -> Result<(), PageError> {
    let series = LineSeries::new(points, style);
    canvas.draw_series(series).map(drop).map_err(drawing)
}

/// A mark of a point in time, on the upper edge.
pub(super) fn mark(
    canvas: &mut Canvas<'_, '_>,
    at: f64,
    top: f64,
    color: RGBColor,
) -> Result<(), PageError> {
    line(canvas, [(at, 0.92 * top), (at, top)], color.stroke_width(2))
}

pub(super) fn drawing(error: impl std::fmt::Display) -> PageError {
    PageError::Drawing(error.to_string())
}

/// The picture in the width that the page gives it.
fn scalable(svg: &str) -> String {
    match svg.find("<svg") {
        Some(start) => svg[start..].to_owned(),
        None => String::new(),
    }
}
