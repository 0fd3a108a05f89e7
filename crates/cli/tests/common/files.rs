//! Test files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes `text` to the file `name` in `folder` and returns its path.
pub(crate) fn write_file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, text).expect("it can be written");
    file
}

/// The contents of all files below a folder, by relative name.
pub(crate) fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            let inner = content(&path).into_iter();
            found.extend(inner.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else {
            found.insert(name.into_owned(), fs::read(&path).expect("it can be read"));
        }
    }
    found
}
