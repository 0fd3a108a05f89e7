//! Several pictures in one.

use super::draw::{Drawn, svg as drawn};
use super::{Plot, PlotError};
use crate::chart::heading;

/// The number of panels in a row by default.
const IN_A_ROW: usize = 2;

/// Width and height of each in pixels, without the footer.
const SIZE: (u32, u32) = (440, 310);

/// The panels of a picture as SVG, below its title.
pub(super) fn svg(plot: &Plot) -> Result<String, PlotError> {
    let panels = plot.panels.iter().map(|panel| drawn(panel, SIZE));
    let panels = panels.collect::<Result<Vec<Drawn>, _>>()?;
    let in_a_row = plot.columns.unwrap_or(IN_A_ROW).max(1);
    let columns = u32::try_from(panels.len().min(in_a_row)).unwrap_or(1);
    let width = columns * SIZE.0;
    let title = heading(&plot.title, width)?;
    let mut inside = placed(&title.0, (0, 0));
    let mut top = title.1;
    for row in panels.chunks(in_a_row) {
        for (column, panel) in (0..).zip(row) {
            inside += &placed(&panel.text, (column * SIZE.0, top));
        }
        top += row.iter().map(|panel| panel.height).max().unwrap_or(0);
    }
    let head = format!(
        "<svg width=\"{width}\" height=\"{top}\" viewBox=\"0 0 {width} {top}\" xmlns=\"http://www.w3.org/2000/svg\">\n"
    );
    Ok(head + &inside + "</svg>\n")
}

/// A picture embedded in another.
fn placed(svg: &str, (x, y): (u32, u32)) -> String {
    svg.replacen("<svg ", &format!("<svg x=\"{x}\" y=\"{y}\" "), 1)
}
