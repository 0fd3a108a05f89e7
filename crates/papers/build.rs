//! Computes the digest of the sources on which the results of jobs depend.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// The crates that jobs use.
const FOLDERS: [&str; 7] = [
    "../batch/src",
    "../core/src",
    "../document/src",
    "../link/src",
    "../report/src",
    "../scenario/src",
    "../sim/src",
];
/// The folder of the jobs, the file that lists its modules, the scenario files that jobs embed, and
/// what jobs use of the engine.
const JOBS: [&str; 5] = [
    "src/jobs",
    "src/jobs.rs",
    "../../scenarios",
    "../claims/src/measurement.rs",
    "../claims/src/study.rs",
];

/// The further sources on which measurements in the lab depend.
const LAB: [&str; 5] = [
    "../lab/src",
    "../live/src",
    "../session/src",
    "../claims/src/lab.rs",
    "../cli/src/reproduce/lab.rs",
];

fn main() -> io::Result<()> {
    let jobs: Vec<&str> = FOLDERS.into_iter().chain(JOBS).collect();
    let lab: Vec<&str> = jobs.iter().copied().chain(LAB).collect();
    println!("cargo::rustc-env=JOB_SOURCES={:016x}", digest(&jobs)?);
    println!("cargo::rustc-env=LAB_SOURCES={:016x}", digest(&lab)?);
    Ok(())
}

/// The digest of all files in some folders.
fn digest(folders: &[&str]) -> io::Result<u64> {
    let mut files = Vec::new();
    for path in folders {
        println!("cargo::rerun-if-changed={path}");
        list(Path::new(path), &mut files)?;
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.hash(&mut hasher);
        fs::read(&file)?.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// Appends `path`, or all files below it.
fn list(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            list(&entry?.path(), files)?;
        }
    } else if path
        .extension()
        .is_some_and(|kind| kind == "rs" || kind == "toml")
    {
        files.push(path.to_owned());
    }
    Ok(())
}
