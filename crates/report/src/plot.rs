//! Charts of curves with confidence bands, and of reference points from elsewhere.

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
    /// The title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, each with a colour of its own, by their order.
    pub series: Vec<Series>,
    /// Reference points.
    pub stated: Vec<Stated>,
    /// The name of the reference points; by default they are those of the paper.
    pub stated_as: Option<&'static str>,
    /// Smaller pictures, each with its title and axes; if there are any, only they are drawn.
    pub panels: Vec<Plot>,
    /// The number of panels in a row; two by default.
    pub columns: Option<usize>,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// The measured quantity.
    pub label: String,
    /// Its unit; empty for a share or a count.
    pub unit: String,
    /// Whether it is logarithmic.
    pub is_log: bool,
    /// Its range; by default it contains all points.
    pub range: Option<[f64; 2]>,
    /// The names of the positions 0, 1, ...; a numeric axis has none.
    pub names: Vec<String>,
}

/// A curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, in the order in which they are joined.
    pub points: Vec<Point>,
    /// The style in which it is drawn.
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

/// The style of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// A line through marked points, in a band of its 95 % intervals.
    #[default]
    Line,
    /// A thin line without marks.
    Trace,
    /// Many small dots, not joined.
    Dots,
    /// Marked points that are not joined, with bars of their 95 % intervals.
    Marks,
}

/// A reference point.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated {
    /// The name of the curve whose colour it has; no curve if empty.
    pub of: String,
    /// Its position on the horizontal axis.
    pub x: f64,
    /// Its height.
    pub y: f64,
}

/// An error in drawing a picture.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The given range of an axis is empty.
    #[error(
        "the axis \"{0}\" cannot go from {1} to {2}: give a range that rises, above 0 on a logarithmic axis"
    )]
    Range(String, f64, f64),
    /// It could not be drawn.
    #[error(transparent)]
    Drawing(#[from] DrawingError),
}

impl Plot {
    /// The picture as SVG: curves in bands of their 95 % intervals, reference points as hollow
    /// diamonds, axes with units, and a legend. Values outside the axes are listed below.
    ///
    /// # Errors
    /// If the given range of an axis is empty.
    pub fn svg(&self) -> Result<String, PlotError> {
        if self.panels.is_empty() {
            return Ok(draw::svg(self, draw::SIZE)?.text);
        }
        panels::svg(self)
    }

    /// The points as CSV, `series,x,y,ci95`, in the units of the axes; reference points have the
    /// series `paper: NAME`, or `paper` without a curve, or another name in place of `paper`.
    /// Values that are not numbers are empty. Series of panels follow their title: `TITLE: NAME`.
    #[must_use]
    pub fn csv(&self) -> String {
        csv::csv(self)
    }
}

impl Plot {
    /// The name of all reference points in CSV files and legends.
    fn stated_as(&self) -> &'static str {
        self.stated_as.unwrap_or("paper")
    }

    /// The origin of the reference points, in a sentence.
    fn reference(&self) -> String {
        let named = self.stated_as.map(|name| format!("\"{name}\""));
        named.unwrap_or_else(|| "the paper".to_owned())
    }

    /// The name of a reference point in CSV files and legends.
    fn name_of(&self, stated: &Stated) -> String {
        let all = self.stated_as();
        if stated.of.is_empty() {
            all.to_owned()
        } else {
            format!("{all}: {}", stated.of)
        }
    }
}
