//! The report of a media stream: lateness, delay and bytes on the wire by policy.
//!
//! The values of an estimate are those of the runs, each from a seed of its own. All policies have
//! the same seeds, so differences between policies are paired by run.

mod conclusion;
mod csv;
mod figures;
mod json;
mod lab;
mod page;
mod prediction;
mod table;

use std::io;
use std::path::Path;

use polypath_scenario::{MediaPolicy, MediaScenario};
use polypath_sim::MediaOutcome;

pub use figures::{MediaFigures, PathFigures, PolicyFigures, WireFigures};
pub use json::{VERSION, render as json};
pub use lab::{CarrierMeasurement, LabConditions, LabRecord};
pub use prediction::{Prediction, predictions, render_predictions};
pub use table::render;

use crate::record::Mode;
use crate::write::replace_file;

/// A media stream and its results.
#[derive(Clone, Copy, Debug)]
pub struct MediaRecord<'a> {
    /// The scenario that was run.
    pub scenario: &'a MediaScenario,
    /// The seed of each run.
    pub seeds: &'a [u64],
    /// The policies, and in the lab other programs, that carried the stream.
    pub carriers: &'a [CarrierName],
    /// The outcomes of each of these, in the order of the seeds.
    pub outcomes: &'a [Vec<MediaOutcome>],
    /// The measurements that only the lab makes; `None` for a simulated stream.
    pub lab: Option<LabRecord<'a>>,
}

impl MediaRecord<'_> {
    /// Simulated or in the lab.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        match self.lab {
            Some(_) => Mode::Lab,
            None => Mode::Sim,
        }
    }
}

/// The name of what carried a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarrierName {
    /// Unique in the report.
    pub name: String,
    /// The kind of the policy, or the program.
    pub kind: String,
}

impl From<&MediaPolicy> for CarrierName {
    fn from(policy: &MediaPolicy) -> Self {
        Self {
            name: policy.name().to_owned(),
            kind: policy.config().name().to_owned(),
        }
    }
}

/// The names of the files of a report.
pub const FILES: [&str; 6] = [
    "report.json",
    "report.html",
    "runs.csv",
    "late.csv",
    "wire.csv",
    "paths.csv",
];

/// Writes the files of a report ([`FILES`]) into `dir`, which is created if it is missing.
///
/// # Errors
/// If `dir` or a file in it cannot be written; see [`replace_file`].
pub fn write(dir: &Path, record: MediaRecord<'_>, figures: &MediaFigures) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let contents = [
        json(record, figures)?.into_bytes(),
        page::render(record, figures)
            .map_err(io::Error::other)?
            .into_bytes(),
        csv::runs(record)?,
        csv::late(record)?,
        csv::wire(record)?,
        csv::paths(record)?,
    ];
    for (name, content) in FILES.iter().zip(contents) {
        replace_file(&dir.join(name), &content)?;
    }
    Ok(())
}

/// The name of each carrier with its outcomes.
fn named(record: MediaRecord<'_>) -> impl Iterator<Item = (&str, &[MediaOutcome])> {
    let names = record.carriers.iter().map(|carrier| carrier.name.as_str());
    names.zip(record.outcomes.iter().map(Vec::as_slice))
}

#[cfg(test)]
mod tests;
