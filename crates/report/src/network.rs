//! The report of a simulated network: its flows and links, with confidence intervals.
//!
//! For a single run the values of an estimate are the means of its spans (batch means); for several
//! replicas they are the means of the replicas, each from a seed of its own.

mod conclusion;
mod csv;
pub mod events;
mod figures;
mod json;
mod page;
mod table;

use std::io;
use std::path::Path;

use polypath_scenario::Network;
use polypath_sim::NetworkOutcome;

pub use figures::{
    FileCounts, FileFigures, FlowCounts, FlowFigures, FlowMeans, GroupFigures, LinkCounts,
    LinkFigures, NetworkFigures, PercentileFigures, Transport, TransportFigures, jain_index,
};
pub use json::VERSION;
pub(crate) use page::picture;

use crate::write::replace_file;

/// A network and its results.
#[derive(Clone, Copy, Debug)]
pub struct NetworkRecord<'a> {
    /// The network that was run.
    pub network: &'a Network,
    /// The outcome of each replica, by its seed.
    pub replicas: &'a [(u64, NetworkOutcome)],
}

/// The names of the files of a report.
pub const FILES: [&str; 4] = ["report.json", "report.html", "flows.csv", "links.csv"];

/// The figures as tables, each mean with half of its 95 % confidence interval.
#[must_use]
pub fn render(record: NetworkRecord<'_>, figures: &NetworkFigures) -> String {
    table::render(record, figures)
}

/// The content of `report.json`.
///
/// # Errors
/// Never in practice: the figures are numbers and text.
pub fn json(record: NetworkRecord<'_>, figures: &NetworkFigures) -> serde_json::Result<String> {
    json::render(record, figures)
}

/// Writes `report.json`, `report.html`, `flows.csv` and `links.csv` into `dir`, which is created if
/// it is missing.
///
/// # Errors
/// If `dir` or a file in it cannot be written; see [`replace_file`].
pub fn write(dir: &Path, record: NetworkRecord<'_>, figures: &NetworkFigures) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let contents = [
        json::render(record, figures)?.into_bytes(),
        page::render(record, figures)
            .map_err(io::Error::other)?
            .into_bytes(),
        csv::flows(record)?,
        csv::links(record)?,
    ];
    for (name, content) in FILES.iter().zip(contents) {
        replace_file(&dir.join(name), &content)?;
    }
    Ok(())
}
