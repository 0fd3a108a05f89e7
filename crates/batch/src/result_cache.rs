//! A cache of results on disk: a folder with one file per result.
//!
//! Files are replaced atomically. Each contains a *label* that identifies the computation and a
//! digest that detects changes to the result.

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

/// The age after which an unfinished file is taken for that of a killed run.
const ABANDONED: Duration = Duration::from_hours(1);

/// A folder of cached results.
#[derive(Debug)]
pub struct ResultCache {
    folder: PathBuf,
}

/// The outcome of a lookup.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup {
    /// There is no such file.
    Missing,
    /// The file is damaged or has another label.
    Unusable,
    /// The result as JSON text.
    Result(String),
}

/// A file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot read or write {}: {error}; free some space, or choose another folder", .path.display())]
pub struct FileError {
    /// The file or folder.
    pub path: PathBuf,
    /// The cause.
    #[source]
    pub error: io::Error,
}

/// The content of a file.
#[derive(Serialize, Deserialize)]
struct Entry<L> {
    label: L,
    /// The digest of the text of `result`.
    sha256: String,
    result: Box<RawValue>,
}

impl ResultCache {
    /// Opens `folder` and creates it if it does not exist.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn open(folder: PathBuf) -> Result<Self, FileError> {
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
        Ok(Self { folder })
    }

    /// The path of the file of result `name`.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// Stores a result and returns its text. If the file cannot be written but another process has
    /// stored a result with the same label, returns that one.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn store<L>(&self, name: &str, label: &L, result: &Value) -> Result<String, FileError>
    where
        L: Serialize + DeserializeOwned + PartialEq,
    {
        let path = self.path(name);
        let invalid = |error: serde_json::Error| failed(&path, error.into());
        let text = serde_json::to_string_pretty(result).map_err(invalid)?;
        let entry = Entry {
            label,
            sha256: digest(&text),
            result: RawValue::from_string(text.clone()).map_err(invalid)?,
        };
        let file = serde_json::to_string_pretty(&entry).map_err(invalid)? + "\n";
        let Err(error) = put(&path, &file) else {
            return Ok(text);
        };
        match self.lookup(name, label) {
            Ok(Lookup::Result(text)) => Ok(text),
            _ => Err(error),
        }
    }

    /// Returns the result `name` if its label is `label`.
    ///
    /// # Errors
    /// If the file exists but cannot be read.
    pub fn lookup<L>(&self, name: &str, label: &L) -> Result<Lookup, FileError>
    where
        L: DeserializeOwned + PartialEq,
    {
        let path = self.path(name);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Lookup::Missing),
            Err(error) => return Err(failed(&path, error)),
        };
        let entry: Option<Entry<L>> = serde_json::from_slice(&text).ok();
        let has_label = |entry: &Entry<L>| entry.label == *label;
        let is_intact = |entry: &Entry<L>| entry.sha256 == digest(entry.result.get());
        let entry = entry.filter(has_label).filter(is_intact);
        Ok(entry.map_or(Lookup::Unusable, |entry| {
            Lookup::Result(entry.result.get().to_owned())
        }))
    }

    /// Removes unfinished files of killed runs. Files that another process is writing stay.
    pub fn remove_abandoned(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        for draft in paths.filter(|path| is_abandoned(path)) {
            // A file that stays does no harm.
            let _ = fs::remove_file(draft);
        }
    }
}

/// Whether a file is an unfinished one of a killed run.
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
    fn a_result_is_found_by_its_label_unless_it_was_changed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = ResultCache::open(dir.path().join("a/b")).unwrap();
        let label = vec!["one".to_owned()];
        assert_eq!(cache.lookup("x", &label).unwrap(), Lookup::Missing);
        let text = cache.store("x", &label, &json!({ "value": 0.1 })).unwrap();
        assert_eq!(cache.lookup("x", &label).unwrap(), Lookup::Result(text));
        let other = vec!["two".to_owned()];
        assert_eq!(cache.lookup("x", &other).unwrap(), Lookup::Unusable);
        let file = fs::read_to_string(cache.path("x")).unwrap();
        fs::write(cache.path("x"), file.replace("0.1", "0.2")).unwrap();
        assert_eq!(cache.lookup("x", &label).unwrap(), Lookup::Unusable);
    }
}
