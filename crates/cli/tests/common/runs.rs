//! A small network and its runs.

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

/// A sweep with six points.
pub(crate) const SWEEP: &str = r#"[sweep]
"tcp.variant" = ["tahoe", "newreno", "sack"]
"link.0.queue" = ["5 packets", "20 packets"]
"#;

/// Simulates `file` with the report in `out` and returns that folder's files.
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

/// Simulates `file` and returns the exit code and standard error.
pub(crate) fn run_for_error(file: &Path, more: &[&str]) -> (Option<i32>, String) {
    let output = polypath().arg("sim").arg(file).args(more).output();
    let output = output.expect("the program runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), stderr)
}
