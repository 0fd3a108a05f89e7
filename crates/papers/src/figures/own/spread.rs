//! A media stream that no single path carries.

use polypath_claims::{Figure, Findings, Measurement, Pending, Sample, Study};

use super::runs::{self, sampled};
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::own::files::MediaFile;
use crate::jobs::own::streams::{Carrier, StreamResult};

pub(super) const FIGURE: Figure = Figure {
    id: "own.spread",
    title: "A stream of 6 Mbit/s over two paths of 4 Mbit/s",
    claims: &[LATE],
    make,
};

const LATE: &str = "own.spread.late";

/// The paths of media-random.toml without losses and with 4 Mbit/s each.
pub(super) const SETS: [&str; 5] = [
    "media.rate=6 Mbit/s",
    "path.path1.link.uplink.rate=4 Mbit/s",
    "path.path2.link.uplink.rate=4 Mbit/s",
    "path.path1.link.uplink.loss=0",
    "path.path2.link.uplink.loss=0",
];

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let single = runs::request_one(study, MediaFile::Random, Carrier::SinglePath, &SETS);
    let both = runs::request_one(study, MediaFile::Random, Carrier::Relaxed, &SETS);
    let (single, both) = (single?, both?);
    let row = |name: &str, runs: &[StreamResult]| {
        let delays: Vec<Sample> = sampled(runs, |run| run.delay);
        vec![name.to_owned(), text(&late(runs), 4), text(&delays, 1)]
    };
    Ok(Findings {
        tables: vec![figure_table(
            "spread",
            "A stream of 6 Mbit/s over two paths of 4 Mbit/s",
            &[
                "policy",
                "late or lost at 200 ms, %",
                "99.9th percentile of the delay, ms",
            ],
            vec![row("single-path", &single), row("in-time", &both)],
        )],
        measurements: vec![Measurement::of(LATE, "late", "%", "spread", &late(&both))],
        parameters: vec![["paths of the stream of 6 Mbit/s", SETTING].map(ToOwned::to_owned)],
        ..Findings::default()
    })
}

const SETTING: &str = "scenarios/media-random.toml with 4 Mbit/s and no loss on each path";

fn late(runs: &[StreamResult]) -> Vec<Sample> {
    sampled(runs, |run| runs::late(run, Carrier::Relaxed))
}
