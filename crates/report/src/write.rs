//! The folder of a report, and the replacement of files as a whole.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use polypath_document::{PUBLIC_MODE, create_draft};

use crate::figures::Figures;
use crate::record::ExperimentRecord;
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

/// Writes a report into `dir`, which is created if it is missing; files of an earlier report are
/// replaced.
///
/// # Errors
/// If `dir` or a file in it cannot be written; see [`replace_file`].
pub fn write(dir: &Path, experiment: &ExperimentRecord, figures: &Figures) -> io::Result<Written> {
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
        replace_file(path, &content)?;
    }
    let [json, page, sheets @ ..] = paths;
    Ok(Written {
        text,
        json,
        page,
        sheets: sheets.into(),
    })
}

/// Replaces a file as a whole: writes a draft in the same folder and renames it. A path that is not
/// a regular file, such as a pipe, is written directly.
///
/// # Errors
/// If the draft cannot be written or renamed; an earlier file is then unchanged.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|of| !of.is_file()) {
        return fs::write(path, content);
    }
    let (draft, mut file) = create_draft(path, PUBLIC_MODE)?;
    let moved = file
        .write_all(content)
        .and_then(|()| fs::rename(&draft, path));
    if moved.is_err() {
        // If it cannot be removed either, the first error is the cause.
        let _ = fs::remove_file(&draft);
    }
    moved
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

    #[test]
    fn a_file_is_replaced_whole_and_a_pipe_is_written_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let (file, other, link) = ["file", "other", "link"].map(|n| dir.path().join(n)).into();
        fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        replace_file(&file, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::read(&other).unwrap(), b"kept");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        replace_file(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_no_draft() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("folder")).unwrap();
        assert!(replace_file(&dir.path().join("folder"), b"new").is_err());
        assert!(replace_file(&dir.path().join("nowhere/file"), b"new").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
