//! A picture as SVG.

use plotters::prelude::*;

use super::extent::{Scales, scales};
use super::geometry::{P, UNIT};
use super::legend::{self, DIAMOND, Entry};
use super::shapes::{Shape, missing};
use super::{Look, Plot, PlotError};
use crate::chart::{
    Area, Axis, Canvas, DrawingError, Frame, Scale, Y_LABELS, color, draw, elements, line,
    text_style, wrap,
};

/// Width and height of a picture in pixels, without the footer.
pub(super) const SIZE: (u32, u32) = (540, 360);

/// The radius of a curve's mark, in pixels.
pub(super) const DOT: i32 = 3;

/// The radius of a small dot in pixels, and its opacity: dense regions are darker.
const SMALL_DOT: i32 = 2;
const THIN: f64 = 0.5;

/// The opacity of a band.
pub(super) const BAND: f64 = 0.18;

/// The height of a footer line and the approximate width of its letters, in pixels.
const NOTE: i32 = 18;
const NOTE_LETTER: f64 = 6.6;

/// The text in a picture without points.
const EMPTY: &str = "no points";

/// The shapes and their axes.
struct Content<'a> {
    plot: &'a Plot,
    scales: Scales,
    shapes: Vec<Shape>,
    /// Reference points with their colours.
    stated: Vec<(P, RGBColor)>,
}

/// The legend and the footer.
struct Words {
    entries: Vec<Entry>,
    /// The legend's corner within the plotting area; `None` if it is below the axes.
    corner: Option<(i32, i32)>,
    notes: Vec<String>,
    /// The width of the footer, in pixels.
    width: u32,
}

/// A rendered picture.
pub(super) struct Drawn {
    pub(super) text: String,
    /// Its height in pixels, with the footer.
    pub(super) height: u32,
}

/// A picture as SVG, with its width and height in pixels without the footer.
pub(super) fn svg(plot: &Plot, size: (u32, u32)) -> Result<Drawn, PlotError> {
    let scales = scales(plot)?;
    let mut notes = missing(plot, scales.as_ref());
    if scales.is_none() {
        notes.insert(0, format!("There are {EMPTY}."));
    }
    let content = Content::of(plot, scales);
    let (x, y) = (plot.x.name(), plot.y.name());
    let axis = |label, scale: &Scale| Axis {
        label,
        scale: scale.clone(),
    };
    let mut frame = Frame {
        size,
        caption: &plot.title,
        x: axis(&x, &content.scales.x),
        y: axis(&y, &content.scales.y),
        foot: 0,
        y_labels: Y_LABELS,
    };
    let words = Words::of(&content, &notes, &frame);
    frame.foot = words.foot();
    let text = draw(&frame, |canvas, foot| {
        content.draw(canvas)?;
        words.draw(canvas, foot)
    })?;
    let height = size.1 + frame.foot;
    Ok(Drawn { text, height })
}

impl<'a> Content<'a> {
    fn of(plot: &'a Plot, scales: Option<Scales>) -> Self {
        let Some(scales) = scales else {
            return Self {
                plot,
                scales: Scales {
                    x: Scale::blank(),
                    y: Scale::blank(),
                },
                shapes: Vec::new(),
                stated: Vec::new(),
            };
        };
        let stated = plot.stated.iter().filter_map(|stated| {
            let at = (scales.x.share(stated.x)?, scales.y.share(stated.y)?);
            Some((at, legend::color_of(plot, &stated.of)))
        });
        Self {
            plot,
            shapes: plot.series.iter().map(|s| Shape::of(s, &scales)).collect(),
            stated: stated.filter(|(at, _)| UNIT.holds(*at)).collect(),
            scales,
        }
    }

    /// Bands first, then curves, then reference points, so that none hides the next.
    fn draw(&self, canvas: &mut Canvas<'_, '_>) -> Result<(), DrawingError> {
        for (n, shape) in self.shapes.iter().enumerate() {
            let areas = shape.bands.iter().map(|area| self.places(area));
            let style = color(n).mix(BAND).filled();
            elements(canvas, areas.map(|area| Polygon::new(area, style)))?;
        }
        for (n, (shape, series)) in self.shapes.iter().zip(&self.plot.series).enumerate() {
            let width = if series.look == Look::Trace { 1 } else { 2 };
            for part in &shape.lines {
                line(canvas, self.places(part), color(n).stroke_width(width))?;
            }
            for bar in &shape.bars {
                line(canvas, self.places(bar), color(n).mix(0.6).stroke_width(1))?;
            }
            let dots = self.places(&shape.dots).into_iter();
            let (radius, share) = if series.look == Look::Dots {
                (SMALL_DOT, THIN)
            } else {
                (DOT, 1.0)
            };
            let style = color(n).mix(share).filled();
            elements(canvas, dots.map(|at| Circle::new(at, radius, style)))?;
        }
        for (at, color) in &self.stated {
            // A white border lifts it off the curves.
            for style in [WHITE.stroke_width(5), color.stroke_width(2)] {
                let outline = PathElement::new(diamond((0, 0)), style);
                elements(canvas, [EmptyElement::at(self.place(*at)) + outline])?;
            }
        }
        Ok(())
    }

    fn place(&self, (x, y): P) -> P {
        (self.scales.x.value(x), self.scales.y.value(y))
    }

    fn places(&self, shares: &[P]) -> Vec<P> {
        shares.iter().map(|at| self.place(*at)).collect()
    }
}

/// The outline of a reference point.
pub(super) fn diamond((x, y): (i32, i32)) -> Vec<(i32, i32)> {
    let corners = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, 0)];
    let corners = corners.map(|(dx, dy)| (x + dx * DIAMOND, y + dy * DIAMOND));
    corners.to_vec()
}

impl Words {
    fn of(content: &Content<'_>, notes: &[String], frame: &Frame<'_>) -> Self {
        let entries = legend::entries(content.plot, &content.shapes);
        let size = legend::column(&entries).size;
        let stated: Vec<P> = content.stated.iter().map(|stated| stated.0).collect();
        let (width, room) = (frame.size.0, frame.inner_size());
        let letters = f64::from(width) / NOTE_LETTER;
        Self {
            corner: legend::free_place(&content.shapes, &stated, size, room),
            entries,
            notes: notes.iter().flat_map(|note| wrap(note, letters)).collect(),
            width,
        }
    }

    /// The height of the legend below the picture, in pixels.
    fn legend_foot(&self) -> i32 {
        if self.corner.is_some() || self.entries.is_empty() {
            return 0;
        }
        legend::rows(&self.entries, self.width.cast_signed()).size.1
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "a picture has a few lines of notes"
    )]
    fn foot(&self) -> u32 {
        (self.legend_foot() + NOTE * self.notes.len() as i32) as u32
    }

    fn draw(&self, canvas: &Canvas<'_, '_>, foot: &Area<'_>) -> Result<(), DrawingError> {
        let column = legend::column(&self.entries);
        if self.entries.is_empty() {
            // Without names there is no legend.
        } else if let Some(corner) = self.corner {
            let inside = canvas.plotting_area().strip_coord_spec();
            let end = (corner.0 + column.size.0, corner.1 + column.size.1);
            let ground = Rectangle::new([corner, end], WHITE.mix(0.85).filled());
            inside.draw(&ground).map_err(DrawingError::new)?;
            legend::draw(&inside, &self.entries, &column, corner)?;
        } else {
            let rows = legend::rows(&self.entries, self.width.cast_signed());
            legend::draw(foot, &self.entries, &rows, (0, 0))?;
        }
        for (row, note) in (0..).zip(&self.notes) {
            let at = (8, self.legend_foot() + row * NOTE);
            let drawn = foot.draw_text(note, &text_style(15), at);
            drawn.map_err(DrawingError::new)?;
        }
        Ok(())
    }
}
