//! Results that outlast the program: a folder with a file for each.
//!
//! A file appears whole or not at all, says what it is the result of (its *label*), and carries a digest, so that a
//! changed digit is not taken for a result.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use polypath_report::replace_file;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::digest::digest;

/// A draft that nobody has touched for so long is of a run that was killed.
const ABANDONED: Duration = Duration::from_hours(1);

/// A folder of results.
#[derive(Debug)]
pub struct Shelf {
    folder: PathBuf,
}

/// What there is of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// Nothing.
    Missing,
    /// A file that is damaged, or has another label.
    Unusable,
    /// The result, as JSON text.
    Result(String),
}

/// A file can be neither read nor written.
#[derive(Debug, thiserror::Error)]
#[error("cannot read or write {}: {error}; make room for it, or choose another folder", .path.display())]
pub struct FileError {
    /// The file or folder.
    pub path: PathBuf,
    /// Why not.
    #[source]
    pub error: io::Error,
}

/// The file of a result.
#[derive(Serialize, Deserialize)]
struct Kept<L> {
    label: L,
    /// The digest of the result as it stands there.
    sha256: String,
    result: Box<RawValue>,
}

impl Shelf {
    /// The folder, which is made if there is none.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn open(folder: PathBuf) -> Result<Self, FileError> {
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
        Ok(Self { folder })
    }

    /// The file of this name.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// Keeps a result; one that another process has kept meanwhile under the same label is kept already. Gives its text.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn keep<L>(&self, name: &str, label: &L, result: &Value) -> Result<String, FileError>
    where
        L: Serialize + DeserializeOwned + PartialEq,
    {
        let path = self.path(name);
        let invalid = |error: serde_json::Error| failed(&path, error.into());
        let text = serde_json::to_string_pretty(result).map_err(invalid)?;
        let kept = Kept {
            label,
            sha256: digest(&text),
            result: RawValue::from_string(text.clone()).map_err(invalid)?,
        };
        let file = serde_json::to_string_pretty(&kept).map_err(invalid)? + "\n";
        let Err(error) = put(&path, &file) else {
            return Ok(text);
        };
        match self.look(name, label) {
            Ok(Found::Result(text)) => Ok(text),
            _ => Err(error),
        }
    }

    /// What there is of the result of this name with this label.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn look<L>(&self, name: &str, label: &L) -> Result<Found, FileError>
    where
        L: DeserializeOwned + PartialEq,
    {
        let path = self.path(name);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Missing),
            Err(error) => return Err(failed(&path, error)),
        };
        let kept: Option<Kept<L>> = serde_json::from_slice(&text).ok();
        let is_it = |kept: &Kept<L>| kept.label == *label;
        let is_whole = |kept: &Kept<L>| kept.sha256 == digest(kept.result.get());
        let kept = kept.filter(is_it).filter(is_whole);
        Ok(kept.map_or(Found::Unusable, |kept| {
            Found::Result(kept.result.get().to_owned())
        }))
    }

    /// Removes what was being written when an earlier run was killed; what another run writes now it leaves.
    pub fn tidy(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        for draft in paths.filter(|path| is_abandoned(path)) {
            // It is of no use to anybody, and in nobody's way.
            let _ = fs::remove_file(draft);
        }
    }
}

/// Whether a file is a draft that nobody writes any more.
fn is_abandoned(path: &Path) -> bool {
    let is_draft = path
        .extension()
        .is_some_and(|extension| extension == "draft");
    let written = || fs::metadata(path)?.modified();
    let age = || written().ok()?.elapsed().ok();
    is_draft && age().is_some_and(|age| age > ABANDONED)
}

pub(crate) fn put(path: &Path, text: &str) -> Result<(), FileError> {
    replace_file(path, text.as_bytes()).map_err(|error| failed(path, error))
}

pub(crate) fn failed(path: &Path, error: io::Error) -> FileError {
    let path = path.to_owned();
    FileError { path, error }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_found_again_by_its_label_and_not_once_it_is_changed() {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(dir.path().join("a/b")).unwrap();
        let label = vec!["one".to_owned()];
        assert_eq!(shelf.look("x", &label).unwrap(), Found::Missing);
        let text = shelf.keep("x", &label, &json!({ "value": 0.1 })).unwrap();
        assert_eq!(shelf.look("x", &label).unwrap(), Found::Result(text));
        let other = vec!["two".to_owned()];
        assert_eq!(shelf.look("x", &other).unwrap(), Found::Unusable);
        let file = fs::read_to_string(shelf.path("x")).unwrap();
        fs::write(shelf.path("x"), file.replace("0.1", "0.2")).unwrap();
        assert_eq!(shelf.look("x", &label).unwrap(), Found::Unusable);
    }
}
