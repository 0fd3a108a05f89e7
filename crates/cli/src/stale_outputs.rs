//! Files of an earlier run of another kind, which stay beside a new report.

use std::path::Path;

use polypath_batch::POINTS;
use polypath_report::sweep::Kind;
use polypath_report::{network, write};

use crate::failure::print_message;

/// What the reports of transfers, of networks and of sweeps leave in their folders, each once.
fn known() -> Vec<&'static str> {
    let reports = write::FILES.into_iter().chain(network::FILES);
    let sweeps = Kind::ALL.into_iter().flat_map(Kind::files);
    let mut known = Vec::new();
    for name in reports.chain(sweeps).chain([POINTS]) {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known
}

/// Says which files in `folder` are not of the report that has `written` its own there.
pub(crate) fn report_stale(folder: &Path, written: &[&str]) {
    let is_other = |name: &&str| !written.contains(name) && folder.join(name).exists();
    let others: Vec<&str> = known().into_iter().filter(is_other).collect();
    if !others.is_empty() {
        print_message(&format!(
            "of another run, not of this one, are in {}: {}; remove them, or choose another folder with --out",
            folder.display(),
            others.join(", ")
        ));
    }
}
