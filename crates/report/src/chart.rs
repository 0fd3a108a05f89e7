//! Charts in one common style: axes, lines and marks.

pub(crate) mod dots;
mod scale;

use plotters::coord::Shift;
use plotters::element::{Drawable, PointCollection};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub(crate) use scale::Scale;

/// Colours for any colour vision (Okabe and Ito), with enough contrast on white.
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

/// The colour of text and axes.
pub(crate) const INK: RGBColor = RGBColor(60, 60, 60);
const GRID: RGBColor = RGBColor(225, 225, 225);
const FAINT: RGBColor = RGBColor(242, 242, 242);

/// The height of a caption line and the approximate width of one letter, in pixels.
const CAPTION_LINE: u32 = 22;
const CAPTION_LETTER: f64 = 7.8;

/// The margins around the plotting area, in pixels.
const MARGIN: u32 = 8;
const RIGHT_MARGIN: u32 = 18;
const BELOW_X: u32 = 48;
/// The width of the labels of a vertical axis with numbers, in pixels.
pub(crate) const Y_LABELS: u32 = 68;

/// The colour of the n-th scheme, path or curve.
pub(crate) fn color(n: usize) -> RGBColor {
    PALETTE[n % PALETTE.len()]
}

/// The drawing failed.
#[derive(Debug, thiserror::Error)]
#[error("a picture could not be drawn: {0}")]
pub struct DrawingError(String);

impl DrawingError {
    pub(crate) fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// A picture's size, title and axes.
pub(crate) struct Frame<'a> {
    /// Width and height in pixels, without the footer.
    pub(crate) size: (u32, u32),
    pub(crate) caption: &'a str,
    pub(crate) x: Axis<'a>,
    pub(crate) y: Axis<'a>,
    /// The height of the footer below the axes, in pixels.
    pub(crate) foot: u32,
    /// The width of the labels of the vertical axis, in pixels.
    pub(crate) y_labels: u32,
}

/// An axis with its label, which includes the unit.
pub(crate) struct Axis<'a> {
    pub(crate) label: &'a str,
    pub(crate) scale: Scale,
}

/// A chart that is being drawn.
pub(crate) type Canvas<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Scale, Scale>>;

/// A region of a picture, in pixels.
pub(crate) type Area<'b> = DrawingArea<SVGBackend<'b>, Shift>;

impl Frame<'_> {
    /// Width and height of the plotting area, between the axes, in pixels.
    pub(crate) fn inner_size(&self) -> (u32, u32) {
        let across = MARGIN + self.y_labels + RIGHT_MARGIN;
        let down = self.header() + 2 * MARGIN + BELOW_X;
        (
            self.size.0.saturating_sub(across),
            self.size.1.saturating_sub(down),
        )
    }

    /// The lines of the caption.
    fn caption_lines(&self) -> Vec<String> {
        caption_lines(self.caption, self.size.0)
    }

    fn header(&self) -> u32 {
        caption_height(&self.caption_lines())
    }
}

/// Wraps text into lines of at most the given number of letters; a longer word gets its own line.
pub(crate) fn wrap(text: &str, letters: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if ((line.chars().count() + 1 + word.chars().count()) as f64) <= letters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Draws one picture as SVG: `content` draws between the axes and into the footer.
pub(crate) fn draw(
    frame: &Frame<'_>,
    content: impl FnOnce(&mut Canvas<'_, '_>, &Area<'_>) -> Result<(), DrawingError>,
) -> Result<String, DrawingError> {
    let mut svg = String::new();
    let size = (frame.size.0, frame.size.1 + frame.foot);
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    draw_on(&area, frame, content)?;
    drop(area);
    Ok(svg)
}

/// A title wrapped to a width in pixels, as SVG, and its height.
pub(crate) fn heading(text: &str, width: u32) -> Result<(String, u32), DrawingError> {
    let lines = caption_lines(text, width);
    let height = caption_height(&lines) + MARGIN;
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
    area.fill(&WHITE).map_err(DrawingError::new)?;
    draw_caption(&area, &lines, width)?;
    area.present().map_err(DrawingError::new)?;
    drop(area);
    Ok((svg, height))
}

/// The lines of a caption wrapped to a width in pixels.
fn caption_lines(caption: &str, width: u32) -> Vec<String> {
    wrap(caption, f64::from(width) / CAPTION_LETTER)
}

#[expect(clippy::cast_possible_truncation, reason = "a caption has a few lines")]
fn caption_height(lines: &[String]) -> u32 {
    lines.len() as u32 * CAPTION_LINE
}

fn draw_caption(area: &Area<'_>, lines: &[String], width: u32) -> Result<(), DrawingError> {
    let style = text_style(18).pos(Pos::new(HPos::Center, VPos::Top));
    for (row, line) in (0..).zip(lines) {
        let at = (
            (width / 2).cast_signed(),
            6 + row * CAPTION_LINE.cast_signed(),
        );
        area.draw_text(line, &style, at)
            .map_err(DrawingError::new)?;
    }
    Ok(())
}

fn draw_on(
    area: &Area<'_>,
    frame: &Frame<'_>,
    content: impl FnOnce(&mut Canvas<'_, '_>, &Area<'_>) -> Result<(), DrawingError>,
) -> Result<(), DrawingError> {
    area.fill(&WHITE).map_err(DrawingError::new)?;
    let (header, body) = area.split_vertically(frame.header());
    draw_caption(&header, &frame.caption_lines(), frame.size.0)?;
    let (body, foot) = body.split_vertically(frame.size.1.saturating_sub(frame.header()));
    let mut canvas = axes(frame, &body)?;
    content(&mut canvas, &foot)?;
    area.present().map_err(DrawingError::new)
}

fn axes<'a, 'b>(frame: &Frame<'_>, area: &'a Area<'b>) -> Result<Canvas<'a, 'b>, DrawingError> {
    let (x, y) = (&frame.x.scale, &frame.y.scale);
    let mut canvas = ChartBuilder::on(area)
        .margin(MARGIN)
        .margin_right(RIGHT_MARGIN)
        .x_label_area_size(BELOW_X)
        .y_label_area_size(frame.y_labels)
        .build_cartesian_2d(x.clone(), y.clone())
        .map_err(DrawingError::new)?;
    let (x_text, y_text) = (|at: &f64| x.text(*at), |at: &f64| y.text(*at));
    let mut mesh = canvas.configure_mesh();
    mesh.x_desc(frame.x.label)
        .y_desc(frame.y.label)
        .label_style(text_style(16))
        .axis_desc_style(text_style(17))
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(FAINT)
        .x_label_formatter(&x_text)
        .y_label_formatter(&y_text);
    if x.has_names() {
        mesh.disable_x_mesh();
    }
    if y.has_names() {
        mesh.disable_y_mesh();
    }
    mesh.draw().map_err(DrawingError::new)?;
    Ok(canvas)
}

/// Text of a height in plotters' pixels, which are a fifth smaller than a browser's.
pub(crate) fn text_style(size: i32) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&INK)
}

/// A line through points.
pub(crate) fn line(
    canvas: &mut Canvas<'_, '_>,
    points: impl IntoIterator<Item = (f64, f64)>,
    style: impl Into<ShapeStyle>,
) -> Result<(), DrawingError> {
    elements(canvas, LineSeries::new(points, style))
}

/// Any plotters element between the axes.
pub(crate) fn elements<'b, E>(
    canvas: &mut Canvas<'_, 'b>,
    elements: impl IntoIterator<Item = E>,
) -> Result<(), DrawingError>
where
    E: Drawable<SVGBackend<'b>>,
    for<'e> &'e E: PointCollection<'e, (f64, f64)>,
{
    let drawn = canvas.draw_series(elements);
    drawn.map(drop).map_err(DrawingError::new)
}

/// A mark for a point in time, on the upper edge.
pub(crate) fn mark(
    canvas: &mut Canvas<'_, '_>,
    at: f64,
    top: f64,
    color: RGBColor,
) -> Result<(), DrawingError> {
    line(canvas, [(at, 0.92 * top), (at, top)], color.stroke_width(2))
}
