//! A small network, and runs of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{polypath, printed};

/// A small network.
pub(crate) const NETWORK: &str = r#"schema = 1
name = "small"
run = { duration = "3 s", warm_up = "1 s" }
[[link]]
name = "bottleneck"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "5 ms"
queue = "10 packets"
[[flow]]
name = "bulk"
count = 2
from = "a"
to = "b"
start_spread = "500 ms"
traffic = { kind = "ftp" }
"#;

/// Six combinations of it.
pub(crate) const SWEEP: &str = r#"[sweep]
"tcp.variant" = ["tahoe", "newreno", "sack"]
"link.0.queue" = ["5 packets", "20 packets"]
"#;

/// The file `name` in `folder`, which now holds `text`.
pub(crate) fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, text).expect("it can be written");
    file
}

/// The files of a folder and those below it, by their names.
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

/// Runs `file` into `out` and gives what that folder then holds.
pub(crate) fn run(file: &Path, out: &Path, more: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let mut command = polypath();
    command
        .arg("sim")
        .arg(file)
        .arg("--out")
        .arg(out)
        .args(more);
    printed(&command.output().expect("the program runs"));
    content(out)
}

/// Runs `file` and gives the exit code and what it says on standard error.
pub(crate) fn refused(file: &Path, more: &[&str]) -> (Option<i32>, String) {
    let output = polypath().arg("sim").arg(file).args(more).output();
    let output = output.expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}
