//! Says of which sources of the simulator a result is.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// The folders, from here, on which the result of a job depends.
const FOLDERS: [&str; 8] = [
    "../batch/src",
    "../core/src",
    "../document/src",
    "../link/src",
    "../report/src",
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
    for file in files {
        let content = fs::read(&file)?;
        if is_source(&file, &content) {
            file.hash(&mut hasher);
            content.hash(&mut hasher);
        }
    }
    println!("cargo::rustc-env=SIMULATOR={:016x}", hasher.finish());
    Ok(())
}

/// What figures are drawn from counts, and not what draws them: that is most of their code, and changes nothing of what
/// jobs give.
fn is_source(file: &Path, content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    let has = |word: &str| text.contains(word);
    let draws = ["Findings", "Plot", "Sheet"].into_iter().any(has);
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("rs") if file.starts_with("src") => has("impl Job for") || !draws,
        Some("rs" | "toml") => true,
        _ => false,
    }
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
