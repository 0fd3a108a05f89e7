//! Says of which sources of the simulator a result is.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// The folders, from here, on which the result of a job depends besides its own code.
const FOLDERS: [&str; 5] = [
    "../core/src",
    "../link/src",
    "../scenario/src",
    "../sim/src",
    "src",
];

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        list(Path::new(folder), &mut files)?;
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files.iter().filter(|file| is_source(file)) {
        file.hash(&mut hasher);
        fs::read(file)?.hash(&mut hasher);
    }
    println!("cargo::rustc-env=SIMULATOR={:016x}", hasher.finish());
    Ok(())
}

/// Of the figures only the networks count: they are code that says more than what jobs give, and have a version of
/// their own, the kind of the job.
fn is_source(file: &Path) -> bool {
    let is_own = file.starts_with("src");
    let extension = if is_own { "toml" } else { "rs" };
    file.extension().is_some_and(|found| found == extension)
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
