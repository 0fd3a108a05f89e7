//! Tables with coloured cells of sweeps over two parameters.

use super::super::SweepPoint;
use super::super::axes::value;
use super::super::quantities::{Quantity, entry};
use super::SweepView;
use crate::page::layout::{HeatCell, HeatMap, HeatRow};
use crate::table::dash;

/// The values of each parameter from which on a table shows more than lines, and the maps, at most.
const VALUES: usize = 3;
const MAPS: usize = 4;

/// The colours of the least and of the greatest value: one hue, in steps of lightness.
const LIGHT: [f64; 3] = [247.0, 251.0, 255.0];
const DARK: [f64; 3] = [107.0, 174.0, 214.0];

/// The value of a cell, and its text.
struct MapValue {
    mean: f64,
    text: String,
}

/// The main quantity of a list over both parameters, for each name; none unless two parameters
/// have several values.
pub(super) fn maps(view: &SweepView<'_>, list: &'static str, names: &[String]) -> Vec<HeatMap> {
    let [rows, columns] = &view.parameters[..] else {
        return Vec::new();
    };
    let quantity = view.quantities(list).next();
    let is_wide = rows.values.len() >= VALUES && columns.values.len() >= VALUES;
    let Some(quantity) = quantity.filter(|_| is_wide) else {
        return Vec::new();
    };
    let map = |name: &String| {
        let at = |row: &str, column: &str| {
            let is_here = |point: &&SweepPoint| {
                value(point, &rows.key) == row && value(point, &columns.key) == column
            };
            let report = view.points.iter().find(is_here)?.report.as_ref().ok()?;
            let entry = entry(report, quantity.list, name)?;
            Some(MapValue {
                mean: quantity.value(entry)?.mean,
                text: quantity.cell(entry),
            })
        };
        let cells: Vec<Vec<Option<MapValue>>> = rows
            .values
            .iter()
            .map(|row| {
                columns
                    .values
                    .iter()
                    .map(|column| at(row, column))
                    .collect()
            })
            .collect();
        let lines = rows.values.iter().zip(colored(&cells));
        HeatMap {
            caption: caption(quantity, name),
            corner: format!("{} \\ {}", rows.key, columns.key),
            columns: columns.values.clone(),
            rows: lines
                .map(|(name, cells)| HeatRow {
                    name: name.clone(),
                    cells,
                })
                .collect(),
        }
    };
    names.iter().take(MAPS).map(map).collect()
}

fn caption(quantity: &Quantity, name: &str) -> String {
    let unit = match quantity.unit {
        "" => String::new(),
        unit => format!(" in {unit}"),
    };
    format!(
        "{} of {name}{unit}: the darker, the greater",
        quantity.title
    )
}

fn colored(cells: &[Vec<Option<MapValue>>]) -> Vec<Vec<HeatCell>> {
    let means = || cells.iter().flatten().flatten().map(|value| value.mean);
    let low = means().fold(f64::INFINITY, f64::min);
    let width = means().fold(f64::NEG_INFINITY, f64::max) - low;
    let cell = |value: &Option<MapValue>| HeatCell {
        text: value.as_ref().map_or_else(dash, |value| value.text.clone()),
        color: match value {
            Some(value) if width > 0.0 => color((value.mean - low) / width),
            _ => color(0.0),
        },
    };
    cells
        .iter()
        .map(|row| row.iter().map(cell).collect())
        .collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between two colours"
)]
fn color(share: f64) -> String {
    let mix = |n: usize| (LIGHT[n] + share * (DARK[n] - LIGHT[n])).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}
