//! The report of senders that choose among the same paths: does their choice oscillate?
//!
//! The values of an estimate are those of the runs, each from a seed of its own; all settings have
//! the same seeds.

mod conclusion;
mod csv;
mod figures;
mod json;
mod page;
mod pictures;
mod table;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use polypath_scenario::Network;
use polypath_scenario::network::senders::Setting;
use polypath_sim::SendersOutcome;

pub use figures::{PathFigures, SettingFigures, StabilityFigures};
pub use json::{VERSION, render as json};
pub use table::render;

use crate::media::LabConditions;
use crate::write::replace_file;

/// Senders by several settings of their policy, and their results.
#[derive(Clone, Copy, Debug)]
pub struct StabilityRecord<'a> {
    /// The network that was run, with the number of senders.
    pub network: &'a Network,
    /// The settings; not empty.
    pub settings: &'a [Setting],
    /// The seed of each run.
    pub seeds: &'a [u64],
    /// The outcomes of each setting, in the order of the seeds.
    pub outcomes: &'a [Vec<SendersOutcome>],
    /// The conditions of the runs in the lab, if there are any.
    pub lab: Option<LabConditions>,
}

/// The names of the files of a report; the picture of the map exists only with a grid.
pub const FILES: [&str; 5] = [
    "report.json",
    "report.html",
    "runs.csv",
    "history.svg",
    "map.svg",
];

/// Writes the files of a report ([`FILES`]) into `dir`, which is created if it is missing, and returns
/// their names.
///
/// # Errors
/// If `dir` or a file in it cannot be written; see [`replace_file`].
pub fn write(
    dir: &Path,
    record: StabilityRecord<'_>,
    figures: &StabilityFigures,
) -> io::Result<Vec<&'static str>> {
    std::fs::create_dir_all(dir)?;
    let [json_name, page_name, runs, history, map] = FILES;
    let pictures = [
        (history, pictures::history(record)),
        (map, pictures::map(record, figures)),
    ];
    let mut files = vec![
        (json_name, json(record, figures)?.into_bytes()),
        (
            page_name,
            page::render(record, figures)
                .map_err(io::Error::other)?
                .into_bytes(),
        ),
        (runs, csv::runs(record)?),
    ];
    for (name, plot) in pictures {
        if let Some(plot) = plot {
            files.push((name, plot.svg().map_err(io::Error::other)?.into_bytes()));
        }
    }
    for (name, content) in &files {
        replace_file(&dir.join(name), content)?;
    }
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

/// Each setting with its figures and outcomes.
fn settings<'a>(
    record: StabilityRecord<'a>,
    figures: &'a StabilityFigures,
) -> impl Iterator<Item = (&'a Setting, &'a SettingFigures, &'a [SendersOutcome])> {
    let settings = record.settings.iter().zip(&figures.settings);
    let all = settings.zip(record.outcomes);
    all.map(|((setting, figures), outcomes)| (setting, figures, outcomes.as_slice()))
}
