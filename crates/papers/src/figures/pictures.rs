//! The axes and tables of the figures.

use polypath_claims::FigureTable;
use polypath_report::plot::{Axis, Look, Series, Stated};

/// A rate axis.
pub(crate) fn mbits(label: &str) -> Axis {
    axis(label, "Mb/s")
}

/// An axis of shares from 0 to 1.
pub(crate) fn share(label: &str) -> Axis {
    Axis {
        range: Some([0.0, 1.0]),
        ..axis(label, "")
    }
}

/// An axis of seconds since the start.
pub(crate) fn seconds() -> Axis {
    axis("time", "s")
}

pub(crate) fn axis(label: &str, unit: &str) -> Axis {
    Axis {
        label: label.to_owned(),
        unit: unit.to_owned(),
        ..Axis::default()
    }
}

/// The curve as a thin line.
pub(crate) fn thin(series: Series) -> Series {
    Series {
        look: Look::Trace,
        ..series
    }
}

/// A reference point from the paper.
pub(crate) fn stated(of: &str, x: f64, y: f64) -> Stated {
    Stated {
        of: of.to_owned(),
        x,
        y,
    }
}

/// A table.
pub(crate) fn figure_table(
    id: &str,
    title: &str,
    columns: &[&str],
    rows: Vec<Vec<String>>,
) -> FigureTable {
    FigureTable {
        id: id.to_owned(),
        title: title.to_owned(),
        columns: columns.iter().map(ToString::to_string).collect(),
        rows,
    }
}
