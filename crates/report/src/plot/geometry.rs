//! Clipping of lines and areas to a rectangle.

/// A point.
pub(super) type P = (f64, f64);

/// A rectangle with its sides along the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The plotting area, in relative coordinates.
pub(super) const UNIT: Rect = Rect {
    left: 0.0,
    right: 1.0,
    low: 0.0,
    high: 1.0,
};

impl Rect {
    /// Whether a point lies in it or on its border.
    pub(super) fn holds(&self, (x, y): P) -> bool {
        (self.left..=self.right).contains(&x) && (self.low..=self.high).contains(&y)
    }

    /// The part of a line between two points that lies in it (Liang and Barsky, ACM Trans. Graphics
    /// 3(1), 1984).
    pub(super) fn part_of_line(&self, a: P, b: P) -> Option<[P; 2]> {
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let (mut from, mut to) = (0.0_f64, 1.0_f64);
        let sides = [
            (-dx, a.0 - self.left),
            (dx, self.right - a.0),
            (-dy, a.1 - self.low),
            (dy, self.high - a.1),
        ];
        for (outwards, room) in sides {
            if outwards < 0.0 {
                from = from.max(room / outwards);
            } else if outwards > 0.0 {
                to = to.min(room / outwards);
            } else if room < 0.0 {
                return None;
            }
        }
        let at = |part: f64| (a.0 + part * dx, a.1 + part * dy);
        (from <= to).then(|| [at(from), at(to)])
    }

    /// The lines through points that lie in it.
    pub(super) fn parts_of_path(&self, path: &[P]) -> Vec<Vec<P>> {
        let mut parts: Vec<Vec<P>> = Vec::new();
        let mut is_open = false;
        for ends in path.windows(2) {
            let Some([from, to]) = self.part_of_line(ends[0], ends[1]) else {
                is_open = false;
                continue;
            };
            match parts.last_mut() {
                Some(part) if is_open => part.push(to),
                _ => parts.push(vec![from, to]),
            }
            is_open = self.holds(ends[1]);
        }
        parts
    }

    /// The part of an area that lies in it (Sutherland and Hodgman, Comm. ACM 17(1), 1974); empty
    /// if there is none.
    pub(super) fn part_of_area(&self, corners: &[P]) -> Vec<P> {
        let inwards: [&dyn Fn(P) -> f64; 4] = [
            &|p| p.0 - self.left,
            &|p| self.right - p.0,
            &|p| p.1 - self.low,
            &|p| self.high - p.1,
        ];
        let mut area = corners.to_vec();
        for inwards in inwards {
            area = half(&area, inwards);
        }
        area
    }
}

/// The part of an area where a linear function is not negative.
fn half(corners: &[P], inwards: &dyn Fn(P) -> f64) -> Vec<P> {
    let mut kept = Vec::with_capacity(corners.len() + 2);
    let Some(mut before) = corners.last().copied() else {
        return kept;
    };
    for &corner in corners {
        let (was, is) = (inwards(before), inwards(corner));
        if (was < 0.0) != (is < 0.0) {
            let part = was / (was - is);
            let between = |a: f64, b: f64| a + part * (b - a);
            kept.push((between(before.0, corner.0), between(before.1, corner.1)));
        }
        if is >= 0.0 {
            kept.push(corner);
        }
        before = corner;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_slope_where_it_leaves() {
        let part = UNIT.part_of_line((0.5, 0.5), (1.5, 1.0)).unwrap();
        assert_eq!(part, [(0.5, 0.5), (1.0, 0.75)]);
        assert_eq!(UNIT.part_of_line((-1.0, 0.5), (0.5, 2.5)), None);
        assert_eq!(UNIT.part_of_line((2.0, 0.5), (2.0, 0.7)), None);
    }

    #[test]
    fn a_path_that_leaves_and_comes_back_has_two_parts() {
        let path = [(0.0, 0.5), (0.25, 0.5), (0.5, 2.5), (0.75, 0.5), (1.0, 0.5)];
        let parts = UNIT.parts_of_path(&path);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0], [(0.0, 0.5), (0.25, 0.5), (0.3125, 1.0)]);
        assert_eq!(parts[1], [(0.6875, 1.0), (0.75, 0.5), (1.0, 0.5)]);
    }

    #[test]
    fn an_area_is_cut_at_the_border() {
        let area = [(0.5, -1.0), (2.0, -1.0), (2.0, 0.5), (0.5, 0.5)];
        let part = UNIT.part_of_area(&area);
        let corners = [(0.5, 0.0), (1.0, 0.0), (1.0, 0.5), (0.5, 0.5)];
        assert!(
            corners.iter().all(|corner| part.contains(corner)),
            "{part:?}"
        );
        assert!(
            UNIT.part_of_area(&area.map(|(x, y)| (x + 2.0, y)))
                .is_empty()
        );
    }
}
