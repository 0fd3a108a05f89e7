//! The legend: its entries, and where no curve runs through it.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::geometry::{P, Rect};
use super::shapes::Shape;
use super::{Look, Plot};
use crate::chart::{Area, DrawingError, INK, color, text_style};

/// The height of a row, the width of what stands before a name, and about that of a letter, in pixels.
pub(super) const ROW: i32 = 19;
const MARK: i32 = 34;
const LETTER: f64 = 6.8;

/// Between the border of the legend and what is in it, in pixels.
const PAD: i32 = 5;

/// Half of the diagonal of a stated point's diamond, in pixels.
pub(super) const DIAMOND: i32 = 7;

/// Where a legend may lie in each direction, from 0 to this number; the corners are tried first.
const STEPS: i32 = 6;

/// An entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) color: RGBColor,
    pub(super) sign: Sign,
}

/// What stands before the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Curve(Look),
    Band,
    Stated,
}

/// The entries of a picture: its curves, their intervals, and what is stated.
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
            "paper",
            if is_one { first } else { INK },
            Sign::Stated,
        ));
    }
    for stated in unknown {
        let entry = entry(&stated.name(), color_of(plot, &stated.of), Sign::Stated);
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

/// The colour of what is stated of a curve; of a name that no curve has, one that is left.
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

/// Where the entries lie, each with the place of its sign.
pub(super) struct Layout {
    pub(super) places: Vec<(i32, i32)>,
    /// Width and height in pixels.
    pub(super) size: (i32, i32),
}

/// One entry below another.
pub(super) fn column(entries: &[Entry]) -> Layout {
    let rows = 0..i32::try_from(entries.len()).unwrap_or(i32::MAX);
    let width = entries.iter().map(width).max().unwrap_or(0);
    Layout {
        size: (width + 2 * PAD, rows.end * ROW + PAD),
        places: rows.map(|row| (PAD, PAD / 2 + row * ROW)).collect(),
    }
}

/// Rows no wider than `room` pixels.
pub(super) fn rows(entries: &[Entry], room: i32) -> Layout {
    let (mut x, mut y) = (PAD, 0);
    let mut places = Vec::new();
    for entry in entries {
        if x > PAD && x + width(entry) > room {
            (x, y) = (PAD, y + ROW);
        }
        places.push((x, y));
        x += width(entry) + 2 * PAD;
    }
    Layout {
        places,
        size: (room, y + ROW + PAD),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a name has far less than 2^31 letters"
)]
fn width(entry: &Entry) -> i32 {
    MARK + (entry.name.chars().count() as f64 * LETTER).ceil() as i32
}

/// The upper left corner of a place of this size where nothing is drawn, in a plotting area of `room` pixels.
pub(super) fn free_place(
    shapes: &[Shape],
    stated: &[P],
    size: (i32, i32),
    room: (u32, u32),
) -> Option<(i32, i32)> {
    let room = (room.0.cast_signed(), room.1.cast_signed());
    let left = (room.0 - size.0 - 2 * PAD, room.1 - size.1 - 2 * PAD);
    if left.0 < 0 || left.1 < 0 {
        return None;
    }
    let all = (0..=STEPS).flat_map(|y| (0..=STEPS).map(move |x| (STEPS - x, y)));
    let is_corner = |&(x, y): &(i32, i32)| x % STEPS == 0 && y % STEPS == 0;
    let corners = all.clone().filter(is_corner);
    let mut places = corners.chain(all).map(|(x, y)| {
        let at = |step: i32, left: i32| PAD + left * step / STEPS;
        (at(x, left.0), at(y, left.1))
    });
    places.find(|at| is_free(shapes, stated, &around(*at, size, room)))
}

/// A place with what a stated point takes around it, in shares of the axes.
fn around(at: (i32, i32), size: (i32, i32), room: (i32, i32)) -> Rect {
    let share = |pixel: i32, of: i32| f64::from(pixel) / f64::from(of);
    Rect {
        left: share(at.0 - DIAMOND, room.0),
        right: share(at.0 + size.0 + DIAMOND, room.0),
        low: 1.0 - share(at.1 + size.1 + DIAMOND, room.1),
        high: 1.0 - share(at.1 - DIAMOND, room.1),
    }
}

fn is_free(shapes: &[Shape], stated: &[P], place: &Rect) -> bool {
    let is_free_of = |shape: &Shape| {
        let crosses = |ends: &[P]| place.part_of_line(ends[0], ends[1]).is_some();
        let mut lines = shape.lines.iter().flat_map(|line| line.windows(2));
        !lines.any(crosses)
            && !shape.bars.iter().any(|bar| crosses(bar))
            && !shape.dots.iter().any(|dot| place.holds(*dot))
            && shape
                .bands
                .iter()
                .all(|band| place.part_of_area(band).is_empty())
    };
    shapes.iter().all(is_free_of) && !stated.iter().any(|at| place.holds(*at))
}

/// Draws entries from a corner on.
pub(super) fn draw(
    area: &Area<'_>,
    entries: &[Entry],
    layout: &Layout,
    corner: (i32, i32),
) -> Result<(), DrawingError> {
    let style = text_style(15).pos(Pos::new(HPos::Left, VPos::Center));
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
        Sign::Curve(Look::Dots) => area.draw(&dot()),
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
