//! The pictures of a sweep: each quantity over a parameter.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::super::axes::{Parameter, words};
use super::super::quantities::Quantity;
use super::SweepView;
use crate::network::picture;
use crate::page::PageError;
use crate::page::layout::Picture;
use crate::plot::{Axis, Look, Plot, Point, Series};
use crate::table::shortened;

/// The curves of a picture, at most: each has a colour of its own.
const CURVES: usize = 8;

/// The names with pictures of their own, at most.
const NAMES: usize = 6;

/// The greatest length of a name in a legend and in a title.
const NAME: usize = 34;

/// The pictures of a list, and the sentence above them.
pub(super) struct DrawnList {
    pub(super) pictures: Vec<Picture>,
    pub(super) note: String,
}

/// A curve: a name in the list, and the values of the parameters other than that of the axis.
struct Curve<'a> {
    name: &'a str,
    others: String,
}

/// The pictures of each quantity of a list.
pub(super) fn drawn(
    view: &SweepView<'_>,
    list: &'static str,
    names: &[String],
) -> Result<DrawnList, PageError> {
    let Some(x) = axis_of(&view.parameters) else {
        let note = "A single point: the table has its figures.".to_owned();
        return Ok(DrawnList {
            pictures: Vec::new(),
            note,
        });
    };
    let others: Vec<&Parameter> = view.parameters.iter().filter(|one| *one != x).collect();
    let mut seen = BTreeSet::new();
    let combinations = view.points.iter().map(|point| words(point, &others));
    let combinations: Vec<String> = combinations
        .filter(|words| seen.insert(words.clone()))
        .collect();
    // Groups of flows, and links, can differ by orders of magnitude; schemes cannot.
    let are_alike = list == "schemes" || combinations.len() == 1;
    let is_together = are_alike && names.len() * combinations.len() <= CURVES;
    let shown = &names[..names.len().min(NAMES)];
    let panels: Vec<Vec<&str>> = if is_together {
        vec![names.iter().map(String::as_str).collect()]
    } else {
        shown.iter().map(|name| vec![name.as_str()]).collect()
    };
    let mut pictures = Vec::new();
    for quantity in view.quantities(list) {
        for panel in &panels {
            let curves = panel.iter().flat_map(|name| {
                let others = combinations.iter().take(CURVES);
                others.map(|others| Curve {
                    name,
                    others: others.clone(),
                })
            });
            let is_named = panel.len() > 1;
            let series = curves.map(|curve| series(view, quantity, &curve, x, &others, is_named));
            let series: Vec<Series> = series.collect();
            if series.iter().all(|series| series.points.is_empty()) {
                continue;
            }
            let of = match panel[..] {
                [only] if names.len() > 1 => format!(" of {}", shortened(only, NAME)),
                _ => String::new(),
            };
            pictures.push(picture(&Plot {
                title: format!("{}{of}", quantity.title),
                x: x.axis(),
                y: Axis {
                    label: quantity.label(),
                    unit: quantity.unit.to_owned(),
                    ..Axis::default()
                },
                series,
                ..Plot::default()
            })?);
        }
    }
    let note = note(names.len(), combinations.len(), is_together);
    Ok(DrawnList { pictures, note })
}

/// The note on the curves that are drawn, and on those that are left out.
fn note(names: usize, combinations: usize, is_together: bool) -> String {
    let mut note = "Means with 95 % intervals over the swept parameter.".to_owned();
    if !is_together && names > NAMES {
        let _ = write!(note, " Drawn are the first {NAMES} of {names}.");
    }
    if combinations > CURVES {
        let _ = write!(
            note,
            " Drawn are the first {CURVES} of {combinations} combinations of the other parameters."
        );
    }
    note + " The table has all."
}

/// The parameter of the horizontal axis: the numeric one with the most values, or else the first
/// with the most.
fn axis_of(parameters: &[Parameter]) -> Option<&Parameter> {
    let rank = |one: &&Parameter| (one.is_numeric(), one.values.len());
    parameters.iter().rev().max_by_key(rank)
}

fn series(
    view: &SweepView<'_>,
    quantity: &Quantity,
    curve: &Curve<'_>,
    x: &Parameter,
    others: &[&Parameter],
    is_named: bool,
) -> Series {
    let points = view
        .points
        .iter()
        .filter(|point| words(point, others) == curve.others);
    let point = |point| {
        let value = quantity.at(point, curve.name)?;
        Some(Point {
            x: x.position(point)?,
            y: value.mean,
            ci95: value.ci95,
        })
    };
    let mut points: Vec<Point> = points.filter_map(point).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let name = match (is_named, curve.others.as_str()) {
        (_, "") => curve.name.to_owned(),
        (true, others) => format!("{}, {others}", curve.name),
        (false, others) => others.to_owned(),
    };
    Series {
        // A curve without points is not in the legend, but the others keep their colours.
        name: if points.is_empty() {
            String::new()
        } else {
            shortened(&name, NAME)
        },
        points,
        look: if x.is_numeric() {
            Look::Line
        } else {
            Look::Marks
        },
    }
}
