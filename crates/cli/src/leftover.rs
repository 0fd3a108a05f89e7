//! Files of an earlier run of another kind, which stay beside a new report.

use std::path::Path;

use crate::failure::tell;

/// What the reports of networks, of transfers and of sweeps leave in their folders.
const KNOWN: [&str; 12] = [
    "report.json",
    "report.html",
    "flows.csv",
    "links.csv",
    "transfers.csv",
    "paths.csv",
    "playable.csv",
    "prebuffer.csv",
    "sweep.csv",
    "sweep-links.csv",
    "sweep.json",
    "points",
];

/// Says which files in `folder` are not of the report that has `written` its own there.
pub(crate) fn tell_of_others(folder: &Path, written: &[&str]) {
    let is_other = |name: &&str| !written.contains(name) && folder.join(name).exists();
    let others: Vec<&str> = KNOWN.into_iter().filter(is_other).collect();
    if !others.is_empty() {
        tell(&format!(
            "of another run, not of this one, are in {}: {}; remove them, or choose another folder with --out",
            folder.display(),
            others.join(", ")
        ));
    }
}
