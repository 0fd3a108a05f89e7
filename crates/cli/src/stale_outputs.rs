//! Output files of an earlier run of another kind in the folder of a new report.

use std::path::Path;

use polypath_batch::POINTS;
use polypath_report::sweep::Kind;
use polypath_report::{media, network, stability, write};

use crate::failure::print_message;

/// The names of all files that reports of transfers, media streams, networks, senders and sweeps
/// consist of, without duplicates.
fn known_outputs() -> Vec<&'static str> {
    let reports = write::FILES.into_iter().chain(media::FILES);
    let reports = reports.chain(network::FILES).chain(stability::FILES);
    let sweeps = Kind::ALL.into_iter().flat_map(Kind::files);
    let mut known = Vec::new();
    for name in reports.chain(sweeps).chain([POINTS]) {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known
}

/// Prints which output files in `folder` are not part of the new report, whose files are `written`.
pub(crate) fn report_stale(folder: &Path, written: &[&str]) {
    let is_other = |name: &&str| !written.contains(name) && folder.join(name).exists();
    let others: Vec<&str> = known_outputs().into_iter().filter(is_other).collect();
    if !others.is_empty() {
        print_message(&format!(
            "files of another run are in {}: {}; remove them, or choose another folder with --out",
            folder.display(),
            others.join(", ")
        ));
    }
}
