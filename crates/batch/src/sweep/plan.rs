//! The identity of a sweep.

use std::collections::BTreeMap;

use polypath_report::sweep::Kind;
use polypath_report::{json, network};
use serde_json::json;

use super::Point;
use crate::digest::digest;

/// The version of the set of keys in a report. It increases with each new key, so that no sweep
/// mixes points with and without it. The meaning of the keys is versioned by the report itself.
pub(super) const FORM: u32 = 3;

/// The identity of a sweep apart from its points: sweeps with equal plans share their finished
/// points.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The text of the file.
    pub text: &'a str,
    /// The contents of the files that the text names, by name.
    pub files: &'a BTreeMap<String, Vec<u8>>,
    /// The command line arguments that override values of the file.
    pub overrides: Vec<String>,
}

impl Plan<'_> {
    /// Everything that determines the results, as text.
    pub(super) fn describe(&self, points: &[Point], replicas: u32) -> String {
        let files = self.files.iter();
        let digests: BTreeMap<&str, String> = files
            .map(|(name, content)| (name.as_str(), digest(content)))
            .collect();
        let plan = json!({
            "program": env!("CARGO_PKG_VERSION"),
            "report": points.first().map(version),
            "form": FORM,
            "file": self.text,
            "sha256": digests,
            "overrides": self.overrides,
            "seed": points.first().map(|point| point.experiment.seed()),
            "replicas": replicas,
            "points": points.iter().map(Point::words).collect::<Vec<_>>(),
        });
        format!("{plan:#}\n")
    }
}

/// The format version of the point's report.
fn version(point: &Point) -> u32 {
    match point.kind() {
        Kind::Network => network::VERSION,
        Kind::Transfers => json::VERSION,
    }
}
