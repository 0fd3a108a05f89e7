//! The bytes of repairs and copies, compared with the budget.

use polypath_claims::{Figure, Findings, Measurement, Pending, Sample, Study};

use super::runs::{self, CarriedStreams, greatest};
use super::spread::SETS;
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::own::files::MediaFile;
use crate::jobs::own::streams::Carrier;

pub(super) const FIGURE: Figure = Figure {
    id: "own.budget",
    title: "Bytes of repairs and copies over those that the budget allows",
    claims: &[NEVER_EXCEEDED],
    make,
};

const NEVER_EXCEEDED: &str = "own.budget.never_exceeded";

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let files = [MediaFile::BOUNDED, MediaFile::OTHERS].concat();
    let all = runs::request(study, &files, &[Carrier::Relaxed, Carrier::Tight]);
    let wide = runs::request_one(study, MediaFile::Random, Carrier::Relaxed, &SETS);
    let (all, wide) = (all?, wide?);
    let wide = CarriedStreams {
        file: MediaFile::Random,
        carrier: Carrier::Relaxed,
        runs: wide,
    };
    let named = |streams: &CarriedStreams| {
        let name = format!("media-{}.toml", streams.file.word());
        (name, streams.samples(|run, _| run.spent))
    };
    let mut spent: Vec<(String, Vec<Sample>)> = all.iter().map(named).collect();
    spent.push(("6 Mbit/s over two paths of 4".to_owned(), named(&wide).1));
    let carriers = all.iter().chain([&wide]).map(|streams| streams.carrier);
    let rows = spent
        .iter()
        .zip(carriers)
        .map(|((name, samples), carrier)| {
            let setting = match carrier {
                Carrier::Tight => "first deadline, .2",
                _ => "second deadline, .1",
            };
            let greatest = greatest(samples).map_or(0.0, |sample| sample.value);
            let setting = setting.to_owned();
            vec![
                name.clone(),
                setting,
                text(samples, 3),
                format!("{greatest:.3}"),
            ]
        });
    let tables = vec![figure_table(
        "spent",
        "The share of the budget that repairs and copies took in a stream",
        &["stream", "in-time", "mean", "greatest of all runs"],
        rows.collect(),
    )];
    let every: Vec<Sample> = spent
        .iter()
        .flat_map(|(_, samples)| samples)
        .copied()
        .collect();
    let measured = greatest(&every)
        .map(|sample| Measurement::of(NEVER_EXCEEDED, "greatest", "ratio", "budget", &[sample]));
    Ok(Findings {
        tables,
        measurements: measured.into_iter().collect(),
        notes: vec![format!(
            "The claim is judged by the stream that spent most, of {}. A property test bounds every \
             prefix of a stream, too (`the_share_is_never_exceeded` in core/src/repair/budget.rs).",
            every.len()
        )],
        ..Findings::default()
    })
}
