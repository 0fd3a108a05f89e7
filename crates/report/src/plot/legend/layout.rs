//! The layout of a legend, and a position that no curve crosses.

use super::{DIAMOND, Entry, MARK, ROW};
use crate::plot::geometry::{P, Rect};
use crate::plot::shapes::Shape;

/// Between the border of the legend and what is in it, in pixels.
const PAD: i32 = 5;

/// About the width of a letter, in pixels.
const LETTER: f64 = 7.0;

/// The number of legend positions tried in each direction; the corners are tried first.
const STEPS: i32 = 6;

/// The positions of the entries' symbols.
pub(in crate::plot) struct Layout {
    pub(in crate::plot) places: Vec<(i32, i32)>,
    /// Width and height in pixels.
    pub(in crate::plot) size: (i32, i32),
}

/// One entry below another.
pub(in crate::plot) fn column(entries: &[Entry]) -> Layout {
    let rows = 0..i32::try_from(entries.len()).unwrap_or(i32::MAX);
    let width = entries.iter().map(width).max().unwrap_or(0);
    Layout {
        size: (width + 2 * PAD, rows.end * ROW + PAD),
        places: rows.map(|row| (PAD, PAD / 2 + row * ROW)).collect(),
    }
}

/// Rows no wider than `room` pixels.
pub(in crate::plot) fn rows(entries: &[Entry], room: i32) -> Layout {
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

/// The upper left corner of an empty rectangle of this size in a plotting area of `room` pixels.
pub(in crate::plot) fn free_place(
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

/// A rectangle enlarged by the size of a reference point, in relative coordinates.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legend_keeps_clear_of_everything_that_is_drawn() {
        let room = (400, 300);
        let size = (100, 80);
        let corner = |shape: Shape, stated: &[P]| free_place(&[shape], stated, size, room);
        let right = Some((PAD + 400 - 100 - 2 * PAD, PAD));
        assert_eq!(corner(Shape::default(), &[]), right);
        let left = Some((PAD, PAD));
        let line = vec![(0.8, 0.0), (0.9, 1.0)];
        let curve = Shape {
            lines: vec![line.clone()],
            ..Shape::default()
        };
        assert_eq!(corner(curve, &[]), left);
        let band = Shape {
            bands: vec![vec![(0.5, 0.5), (2.0, 0.5), (2.0, 2.0), (0.5, 2.0)]],
            ..Shape::default()
        };
        assert_eq!(corner(band, &[]), left, "it lies within the band");
        let bar = Shape {
            bars: vec![[line[0], line[1]]],
            ..Shape::default()
        };
        assert_eq!(corner(bar, &[]), left);
        assert_eq!(corner(Shape::default(), &[(0.9, 0.9)]), left);
        assert_eq!(free_place(&[], &[], (100, 300), room), None);
    }

    #[test]
    fn rows_break_where_the_room_ends() {
        let entry = Entry {
            name: "a name".to_owned(),
            color: crate::chart::INK,
            sign: super::super::Sign::Band,
        };
        let entries = vec![entry; 3];
        let width = width(&entries[0]);
        let layout = rows(&entries, 2 * width + 4 * PAD);
        let second = PAD + width + 2 * PAD;
        assert_eq!(layout.places, [(PAD, 0), (second, 0), (PAD, ROW)]);
        assert_eq!(layout.size.1, 2 * ROW + PAD);
    }
}
