//! Pictures of curves with their confidence, beside points that others state.

mod csv;
mod draw;
mod extent;
mod geometry;
mod legend;
mod panels;
mod shapes;
#[cfg(test)]
mod tests;

use crate::chart::DrawingError;

/// A picture: curves over one axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// Its name in files, such as `fig3`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, each with a colour of its own, by their order.
    pub series: Vec<Series>,
    /// What is stated elsewhere, such as in a paper.
    pub stated: Vec<Stated>,
    /// Smaller pictures, two in a row, each with its title and axes; where there are any, they are all that is drawn.
    pub panels: Vec<Plot>,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What is measured.
    pub label: String,
    /// Its unit; empty for a share or a count.
    pub unit: String,
    /// Whether it is logarithmic.
    pub is_log: bool,
    /// Where it begins and ends; else it holds all points.
    pub range: Option<[f64; 2]>,
}

/// A curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, in the order in which they are joined.
    pub points: Vec<Point>,
    /// How it is drawn.
    pub look: Look,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Its position on the horizontal axis.
    pub x: f64,
    /// Its height.
    pub y: f64,
    /// Half of the 95 % interval of the height, if it comes from several runs.
    pub ci95: Option<f64>,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// A line through marked points, in a band of its 95 % intervals.
    #[default]
    Line,
    /// A thin line without marks.
    Trace,
    /// Small dots of which there are many, that are not joined.
    Dots,
    /// Marked points that are not joined, with bars of their 95 % intervals.
    Marks,
}

/// A point that is stated elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated {
    /// The name of the curve to which it belongs, whose colour it has; none, if empty.
    pub of: String,
    /// Its position on the horizontal axis.
    pub x: f64,
    /// Its height.
    pub y: f64,
}

/// Why a picture could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The range that is given for an axis is none.
    #[error(
        "the axis \"{0}\" cannot go from {1} to {2}: give a range that rises, above 0 on a logarithmic axis"
    )]
    Range(String, f64, f64),
    /// It could not be drawn.
    #[error(transparent)]
    Drawing(#[from] DrawingError),
}

impl Plot {
    /// The picture as SVG: curves in bands of their 95 % intervals, what is stated as hollow diamonds, axes with units,
    /// and a legend. It says below what has no place on the axes.
    ///
    /// # Errors
    /// Where the range that is given for an axis is none.
    pub fn svg(&self) -> Result<String, PlotError> {
        if self.panels.is_empty() {
            return Ok(draw::svg(self, draw::SIZE)?.text);
        }
        panels::svg(self)
    }

    /// The points as a sheet of `series,x,y,ci95`, in the units of the axes; stated ones have the series `paper: NAME`,
    /// or `paper` where they belong to no curve. What is no number is left empty. Series of panels stand behind their
    /// title: `TITLE: NAME`.
    #[must_use]
    pub fn csv(&self) -> String {
        csv::csv(self)
    }
}

impl Stated {
    /// Its name in sheets and legends.
    fn name(&self) -> String {
        if self.of.is_empty() {
            "paper".to_owned()
        } else {
            format!("paper: {}", self.of)
        }
    }
}
