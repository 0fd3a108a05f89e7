//! The points of a picture as CSV.

use super::Plot;
use crate::sheets;

/// `series,x,y,ci95`, in the units of the axes; values that are not numbers are empty.
pub(super) fn csv(plot: &Plot) -> String {
    let head = ["series", "x", "y", "ci95"].map(str::to_owned);
    let panels = plot.panels.iter();
    let panels = panels.flat_map(|panel| rows(panel, &format!("{}: ", panel.title)));
    let rows = rows(plot, "").into_iter().chain(panels);
    let bytes = sheets::write([head].into_iter().chain(rows));
    let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    text.expect("writing rows of one length to memory cannot fail")
}

/// The points of a picture, each with the prefix of its series.
fn rows(plot: &Plot, before: &str) -> Vec<[String; 4]> {
    let named = |name: &str| format!("{before}{name}");
    let curves = plot.series.iter().flat_map(|series| {
        let row = |p: &super::Point| row(named(&series.name), p.x, p.y, p.ci95);
        series.points.iter().map(row)
    });
    let stated = plot.stated.iter();
    let stated = stated.map(|stated| row(named(&plot.name_of(stated)), stated.x, stated.y, None));
    curves.chain(stated).collect()
}

fn row(series: String, x: f64, y: f64, ci95: Option<f64>) -> [String; 4] {
    let number = |value: f64| {
        let value = value.is_finite().then(|| value.to_string());
        value.unwrap_or_default()
    };
    let ci95 = ci95.map(number).unwrap_or_default();
    [series, number(x), number(y), ci95]
}
