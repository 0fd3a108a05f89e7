//! The bytes of headers and of reports.

use polypath_claims::{Figure, FigureTable, Findings, Measurement, Pending, Sample, Study};

use super::runs::{self, CarriedStreams, sampled};
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::own::files::MediaFile;
use crate::jobs::own::streams::Carrier;

pub(super) const FIGURE: Figure = Figure {
    id: "own.overhead",
    title: "Bytes of headers and of reports",
    claims: &[HEADER, REPORTS, RATE],
    make,
};

const HEADER: &str = "own.overhead.header";
const REPORTS: &str = "own.reports.share";
const RATE: &str = "own.reports.rate";

/// A flow of 50 packets of 1000 bytes a second, as in `make failover`.
const SLOW: [&str; 2] = ["media.rate=400 kbit/s", "media.packet=1000 B"];
/// Its rate in kB/s.
const SLOW_RATE: f64 = 50.0;

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let all = runs::request(study, &MediaFile::BOUNDED, &[Carrier::Relaxed]);
    let slow = runs::request_one(study, MediaFile::Random, Carrier::Relaxed, &SLOW);
    let (all, slow) = (all?, slow?);
    let rate = sampled(&slow, |run| {
        let most = run.reports.iter().copied().fold(0.0, f64::max);
        Some(most * SLOW_RATE)
    });
    let headers = header(&all[0]);
    let shares = all.iter().map(|of| {
        let word = of.file.word();
        Measurement::of(REPORTS, &format!("reports.{word}"), "%", word, &reports(of))
    });
    let others = [
        Measurement::of(HEADER, "header", "B", "random", &headers),
        Measurement::of(RATE, "reports", "kB/s", "slow", &rate),
    ];
    Ok(Findings {
        tables: vec![table(&all), slow_table(&rate)],
        measurements: shares.chain(others).collect(),
        ..Findings::default()
    })
}

/// Reports per byte of payload, in percent.
fn reports(of: &CarriedStreams) -> Vec<Sample> {
    of.samples(|run, _| Some(run.reports.iter().sum::<f64>() * 100.0))
}

/// The bytes that the overlay adds to a packet, by the frame sizes of the simulator.
fn header(of: &CarriedStreams) -> Vec<Sample> {
    of.samples(|run, _| Some(run.header))
}

fn table(all: &[CarriedStreams]) -> FigureTable {
    let row = |of: &CarriedStreams| {
        let file = of.file.word().to_owned();
        vec![file, text(&header(of), 2), text(&reports(of), 3)]
    };
    figure_table(
        "overhead",
        "Streams of 5 Mbit/s by in-time",
        &[
            "media-",
            "bytes beyond each packet of data",
            "reports, % of the payload",
        ],
        all.iter().map(row).collect(),
    )
}

fn slow_table(rate: &[Sample]) -> FigureTable {
    figure_table(
        "slow",
        "Reports of a flow of 50 packets of 1000 B a second",
        &["kB/s on the path with most of them"],
        vec![vec![text(rate, 2)]],
    )
}
