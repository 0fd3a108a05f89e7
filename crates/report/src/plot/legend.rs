//! The legend of a picture.

mod layout;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::shapes::Shape;
use super::{Look, Plot};
use crate::chart::{Area, DrawingError, INK, color, text_style};

pub(super) use layout::{Layout, column, free_place, rows};

/// The height of a row, and the width of a symbol, in pixels.
const ROW: i32 = 20;
const MARK: i32 = 34;

/// Half of the diagonal of a reference point's diamond, in pixels.
pub(super) const DIAMOND: i32 = 8;

/// An entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) color: RGBColor,
    pub(super) sign: Sign,
}

/// The symbol before the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Curve(Look),
    Band,
    Stated,
}

/// The entries of a picture: its curves, their intervals, and reference points.
pub(super) fn entries(plot: &Plot, shapes: &[Shape]) -> Vec<Entry> {
    let curves = plot.series.iter().enumerate();
    let curves = curves.filter(|(_, series)| !series.name.is_empty());
    let mut entries: Vec<Entry> = curves
        .map(|(n, series)| entry(&series.name, color(n), Sign::Curve(series.look)))
        .collect();
    if shapes
        .iter()
        .any(|s| !s.bands.is_empty() || !s.bars.is_empty())
    {
        entries.push(entry("95 % interval", INK, Sign::Band));
    }
    let (known, unknown): (Vec<_>, Vec<_>) = plot.stated.iter().partition(|stated| {
        stated.of.is_empty() || plot.series.iter().any(|series| series.name == stated.of)
    });
    if let Some(first) = known.first() {
        let first = color_of(plot, &first.of);
        let is_one = known.iter().all(|s| color_of(plot, &s.of) == first);
        entries.push(entry(
            plot.stated_as(),
            if is_one { first } else { INK },
            Sign::Stated,
        ));
    }
    for stated in unknown {
        let entry = entry(
            &plot.name_of(stated),
            color_of(plot, &stated.of),
            Sign::Stated,
        );
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    entries
}

fn entry(name: &str, color: RGBColor, sign: Sign) -> Entry {
    Entry {
        name: name.to_owned(),
        color,
        sign,
    }
}

/// The colour of a curve's reference points; an unused colour for a name without a curve.
pub(super) fn color_of(plot: &Plot, name: &str) -> RGBColor {
    if name.is_empty() {
        return INK;
    }
    let mut names: Vec<&str> = plot.series.iter().map(|s| s.name.as_str()).collect();
    for stated in plot.stated.iter().filter(|stated| !stated.of.is_empty()) {
        if !names.contains(&stated.of.as_str()) {
            names.push(&stated.of);
        }
    }
    let position = names.iter().position(|known| *known == name);
    position.map_or(INK, color)
}

/// Draws entries from a corner on.
pub(super) fn draw(
    area: &Area<'_>,
    entries: &[Entry],
    layout: &Layout,
    corner: (i32, i32),
) -> Result<(), DrawingError> {
    let style = text_style(16).pos(Pos::new(HPos::Left, VPos::Center));
    for (entry, place) in entries.iter().zip(&layout.places) {
        let at = (corner.0 + place.0, corner.1 + place.1 + ROW / 2);
        draw_sign(area, entry, at)?;
        let text = (at.0 + MARK - 6, at.1);
        area.draw_text(&entry.name, &style, text)
            .map_err(DrawingError::new)?;
    }
    Ok(())
}

fn draw_sign(area: &Area<'_>, entry: &Entry, (x, y): (i32, i32)) -> Result<(), DrawingError> {
    let (left, middle, right) = (x, x + 11, x + 22);
    let line =
        |width| PathElement::new(vec![(left, y), (right, y)], entry.color.stroke_width(width));
    let dot = || Circle::new((middle, y), super::draw::DOT, entry.color.filled());
    match entry.sign {
        Sign::Curve(Look::Line) => area.draw(&line(2)).and_then(|()| area.draw(&dot())),
        Sign::Curve(Look::Trace) => area.draw(&line(1)),
        Sign::Curve(Look::Dots | Look::Marks) => area.draw(&dot()),
        Sign::Band => area.draw(&Rectangle::new(
            [(left, y - 6), (right, y + 6)],
            entry.color.mix(super::draw::BAND).filled(),
        )),
        Sign::Stated => area.draw(&PathElement::new(
            super::draw::diamond((middle, y)),
            entry.color.stroke_width(2),
        )),
    }
    .map_err(DrawingError::new)
}
