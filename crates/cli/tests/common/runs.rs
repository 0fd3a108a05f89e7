//! A small network, and runs of it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{polypath, printed};
use crate::files::content;

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
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), stderr)
}
