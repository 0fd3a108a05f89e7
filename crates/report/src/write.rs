//! The report's folder: the one place here that touches files.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::figures::Figures;
use crate::record::Experiment;
use crate::{json, page, sheets};

/// The names of the files of a report; those from the third on are its sheets.
pub const FILES: [&str; 6] = [
    "report.json",
    "report.html",
    "transfers.csv",
    "paths.csv",
    "playable.csv",
    "prebuffer.csv",
];

/// The files of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The content of `report.json`.
    pub text: String,
    /// The figures for programs, `report.json`.
    pub json: PathBuf,
    /// The page with the pictures, `report.html`.
    pub page: PathBuf,
    /// The sheets: `transfers.csv`, `paths.csv`, `playable.csv`, `prebuffer.csv`.
    pub sheets: Vec<PathBuf>,
}

/// Writes a report into `dir`, which is made where it is missing; files of an earlier report are replaced.
///
/// Fails where `dir` or a file in it cannot be written.
pub fn write(dir: &Path, experiment: &Experiment, figures: &Figures) -> io::Result<Written> {
    fs::create_dir_all(dir)?;
    let text = json::render(experiment, figures)?;
    let page = page::render(experiment, figures).map_err(io::Error::other)?;
    let contents = [
        text.clone().into_bytes(),
        page.into_bytes(),
        sheets::transfers(experiment)?,
        sheets::paths(experiment)?,
        sheets::playable(experiment)?,
        sheets::prebuffer(experiment, figures)?,
    ];
    let paths = FILES.map(|name| dir.join(name));
    for (path, content) in paths.iter().zip(contents) {
        fs::write(path, content)?;
    }
    let [json, page, sheets @ ..] = paths;
    Ok(Written {
        text,
        json,
        page,
        sheets: sheets.into(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fixture::experiment;

    #[test]
    fn a_report_is_whole_and_the_same_twice() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("a/b"), dir.path().join("c"));
        let experiment = experiment();
        let figures = Figures::of(&experiment);
        let written = write(&first, &experiment, &figures).unwrap();
        write(&second, &experiment, &figures).unwrap();
        assert_eq!(fs::read_to_string(&written.json).unwrap(), written.text);
        let files = [&written.json, &written.page]
            .into_iter()
            .chain(&written.sheets);
        for file in files {
            let again = second.join(file.file_name().unwrap());
            assert_eq!(
                fs::read(file).unwrap(),
                fs::read(again).unwrap(),
                "{file:?}"
            );
        }
        let left = fs::read_dir(&first).unwrap();
        let left: BTreeSet<_> = left.map(|file| file.unwrap().file_name()).collect();
        assert_eq!(left, FILES.map(Into::into).into());
    }
}
