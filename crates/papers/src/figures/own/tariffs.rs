//! The bytes on paths with a cost and with a quota.

use polypath_claims::{Figure, FigureTable, Findings, Measurement, Pending, Sample, Study};

use super::runs::{self, greatest, least, sampled};
use crate::figures::estimates::text;
use crate::figures::pictures::figure_table;
use crate::jobs::own::files::MediaFile;
use crate::jobs::own::streams::{Carrier, StreamResult};

pub(super) const FIGURE: Figure = Figure {
    id: "own.tariffs",
    title: "Bytes on a path with a cost, and on one with a quota",
    claims: &[SHARE, QUOTA],
    make,
};

const SHARE: &str = "own.costs.share";
const QUOTA: &str = "own.quota.kept";
/// The quota in bytes.
const QUOTA_BYTES: u64 = 4_000_000;

/// A file whose last path has a cost.
struct Costly {
    file: MediaFile,
    /// The setting that gives it one.
    set: &'static str,
    /// The number of paths.
    paths: usize,
}

/// The free paths lose 2 %; or one loses 2 % and one fades.
const COSTLY: [Costly; 2] = [
    Costly {
        file: MediaFile::Random,
        set: "path.path2.tariff={ cost = 1 }",
        paths: 2,
    },
    Costly {
        file: MediaFile::Three,
        set: "path.path3.tariff={ cost = 1 }",
        paths: 3,
    },
];

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let costly = COSTLY.map(|of| {
        let runs = runs::request_one(study, of.file, Carrier::Relaxed, &[of.set]);
        (of, runs)
    });
    let quota = format!("path.path2.tariff={{ cost = 1, quota = \"{QUOTA_BYTES} B\" }}");
    // The first path does not suffice, so the other is used up. Nothing is sent before the stream.
    let sets = [
        "path.path1.link.uplink.loss=0.12",
        "media.warm_up=0 s",
        &quota,
    ];
    let metered = runs::request_one(study, MediaFile::Random, Carrier::Relaxed, &sets);
    let costly = costly.into_iter().map(|(of, runs)| Ok((of, runs?)));
    let costly = costly.collect::<Result<Vec<_>, Pending>>()?;
    let metered = metered?;
    let used = sampled(&metered, |run| {
        Some(run.path_bytes[1] as f64 / QUOTA_BYTES as f64)
    });
    let shares = costly.iter().map(|(of, runs)| (of, share(of, runs)));
    let measured = shares.map(|(of, share)| {
        let quantity = format!("share.{}", of.file.word());
        Measurement::of(SHARE, &quantity, "%", of.file.word(), &share)
    });
    let extremes = [("greatest", greatest(&used)), ("least", least(&used))];
    let kept = extremes.into_iter().filter_map(|(name, sample)| {
        Some(Measurement::of(QUOTA, name, "ratio", "quota", &[sample?]))
    });
    Ok(Findings {
        tables: vec![cost_table(&costly), quota_table(&metered, &used)],
        measurements: measured.chain(kept).collect(),
        parameters: [
            [
                "cost",
                "1 on the last path of the file, the others are free",
            ],
            [
                "quota",
                "4 MB on the second path of scenarios/media-random.toml, the first loses 12 %; \
                 both directions and all headers count",
            ],
        ]
        .map(|of| of.map(ToOwned::to_owned))
        .into(),
        ..Findings::default()
    })
}

/// The share of the costly path in the bytes on the wire, in percent.
fn share(of: &Costly, runs: &[StreamResult]) -> Vec<Sample> {
    sampled(runs, |run| Some(run.share_of_path(of.paths - 1)))
}

fn late(runs: &[StreamResult]) -> String {
    text(&sampled(runs, |run| runs::late(run, Carrier::Relaxed)), 4)
}

fn cost_table(costly: &[(Costly, Vec<StreamResult>)]) -> FigureTable {
    let row = |(of, runs): &(Costly, Vec<StreamResult>)| {
        let name = of.file.word().to_owned();
        vec![name, text(&share(of, runs), 3), late(runs)]
    };
    figure_table(
        "costs",
        "Streams of 5 Mbit/s by in-time, with a cost on the last path",
        &[
            "media-",
            "share of that path, % of the bytes on the wire",
            "late or lost at 200 ms, %",
        ],
        costly.iter().map(row).collect(),
    )
}

fn quota_table(runs: &[StreamResult], used: &[Sample]) -> FigureTable {
    let extreme = |of: fn(&[Sample]) -> Option<Sample>| {
        of(used).map_or_else(String::new, |sample| format!("{:.4}", sample.value))
    };
    figure_table(
        "quota",
        "A stream of 5 Mbit/s by in-time, with a quota of 4 MB on the second path",
        &[
            "bytes on it over the quota",
            "greatest of all runs",
            "least of all runs",
            "late or lost at 200 ms, %",
        ],
        vec![vec![
            text(used, 4),
            extreme(greatest),
            extreme(least),
            late(runs),
        ]],
    )
}
