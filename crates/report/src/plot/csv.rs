//! The points of a picture as a sheet.

use super::Plot;
use crate::sheets;

/// `series,x,y,ci95`, in the units of the axes; what is no number is left out.
pub(super) fn csv(plot: &Plot) -> String {
    let head = ["series", "x", "y", "ci95"].map(str::to_owned);
    let curves = plot.series.iter().flat_map(|series| {
        let row = |p: &super::Point| row(series.name.clone(), p.x, p.y, p.ci95);
        series.points.iter().map(row)
    });
    let stated = plot.stated.iter();
    let stated = stated.map(|stated| row(stated.name(), stated.x, stated.y, None));
    let bytes = sheets::write([head].into_iter().chain(curves).chain(stated));
    let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    text.expect("writing rows of one length to memory cannot fail")
}

fn row(series: String, x: f64, y: f64, ci95: Option<f64>) -> [String; 4] {
    let number = |value: f64| {
        let value = value.is_finite().then(|| value.to_string());
        value.unwrap_or_default()
    };
    let ci95 = ci95.map(number).unwrap_or_default();
    [series, number(x), number(y), ci95]
}
