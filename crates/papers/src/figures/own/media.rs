//! Media within its deadline, over paths with losses, fades, outages and congestion.

use polypath_claims::{Figure, Findings, Measurement, Pending, Study};

use super::runs::{self, CarriedStreams, late, plots, table, wire};
use crate::jobs::own::files::MediaFile;
use crate::jobs::own::streams::Carrier;

pub(super) const FIGURE: Figure = Figure {
    id: "own.media",
    title: "Media in time: late packets, bytes and delays",
    claims: &[
        LATE_200,
        WIRE_200,
        LATE_100,
        DELAY_100,
        GAP_100,
        WIRE_100,
        BEATS_SINGLE_PATH,
        BEATS_DUPLICATE_ALL,
        EIGHTH,
    ],
    make,
};

const LATE_200: &str = "own.media.late_200";
const WIRE_200: &str = "own.media.wire_200";
const LATE_100: &str = "own.media.late_100";
const DELAY_100: &str = "own.media.delay_100";
const GAP_100: &str = "own.media.gap_100";
const WIRE_100: &str = "own.media.wire_100";
const BEATS_SINGLE_PATH: &str = "own.media.beats_single_path";
const BEATS_DUPLICATE_ALL: &str = "own.media.beats_duplicate_all";
const EIGHTH: &str = "own.media.eighth";

const CARRIERS: [Carrier; 4] = [
    Carrier::SinglePath,
    Carrier::DuplicateAll,
    Carrier::Relaxed,
    Carrier::Tight,
];

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let all = runs::request(study, &MediaFile::BOUNDED, &CARRIERS)?;
    Ok(Findings {
        plots: plots("media", &all, &MediaFile::BOUNDED),
        tables: vec![table("streams", &all)],
        measurements: measurements(&all),
        parameters: parameters(),
        ..Findings::default()
    })
}

fn measurements(all: &[CarriedStreams]) -> Vec<Measurement> {
    let of = |carrier| all.iter().filter(move |streams| streams.carrier == carrier);
    let mut found = Vec::new();
    for (claim, carrier) in [(LATE_200, Carrier::Relaxed), (LATE_100, Carrier::Tight)] {
        found.extend(of(carrier).map(|streams| streams.measure(claim, "late", "%", late)));
    }
    for (claim, carrier) in [(WIRE_200, Carrier::Relaxed), (WIRE_100, Carrier::Tight)] {
        found.extend(of(carrier).map(|streams| streams.measure(claim, "wire", "ratio", wire)));
    }
    for streams in of(Carrier::Tight) {
        found.push(streams.measure(DELAY_100, "delay", "ms", |run, _| run.delay));
        found.push(streams.measure(GAP_100, "gap", "ms", |run, _| Some(run.gap)));
    }
    for streams in of(Carrier::Relaxed) {
        found.push(streams.measure(BEATS_SINGLE_PATH, "late", "%", late));
        found.push(streams.measure(BEATS_DUPLICATE_ALL, "late", "%", late));
        found.push(streams.measure(EIGHTH, "wire", "ratio", wire));
    }
    for streams in of(Carrier::SinglePath) {
        found.push(streams.measure(BEATS_SINGLE_PATH, "late", "%", late));
    }
    for streams in of(Carrier::DuplicateAll) {
        found.push(streams.measure(BEATS_DUPLICATE_ALL, "late", "%", late));
        found.push(streams.measure(EIGHTH, "wire", "ratio", wire));
    }
    found
}

fn parameters() -> Vec<[String; 2]> {
    let of = |name: &str, value: &str| [name.to_owned(), value.to_owned()];
    vec![
        of(
            "scenarios",
            "scenarios/media-*.toml as they are; 40 runs each, and 400 with --full, with the seeds \
             of `polypath sim`",
        ),
        of(
            "in-time",
            "the second deadline of the file (200 ms, media-far 500 ms) with a redundancy of .1, \
             and the first (100 ms, 300 ms) with .2",
        ),
    ]
}
