//! What makes two sweeps the same.

use std::collections::BTreeMap;

use polypath_report::sweep::Kind;
use polypath_report::{json, network};
use serde_json::json;

use super::Point;
use crate::digest::digest;

/// The number of the set of keys that reports have: it is raised with each key that they gain, so that no sweep mixes
/// points with it and points without it. What a key means has a version of its own, that of the report.
pub(super) const FORM: u32 = 2;

/// What makes two sweeps the same, besides their points.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The text of the file.
    pub text: &'a str,
    /// The contents of the files that it names, by their names.
    pub files: &'a BTreeMap<String, Vec<u8>>,
    /// The arguments that change values of the file.
    pub overrides: Vec<String>,
}

impl Plan<'_> {
    /// All that the results follow from, as text.
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

/// The version of the form of its report.
fn version(point: &Point) -> u32 {
    match point.kind() {
        Kind::Network => network::VERSION,
        Kind::Transfers => json::VERSION,
    }
}
