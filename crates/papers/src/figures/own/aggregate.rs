//! The goodput of one TCP flow over two paths at once.

use polypath_claims::{
    ClaimRemark, Figure, FigureTable, Findings, Measurement, Pending, SEED, Sample, Study,
};
use polypath_report::plot::{Axis, Look, Plot, Series};

use crate::figures::estimates::{mean, point, text};
use crate::figures::pictures::{axis, figure_table};
use crate::jobs::own::downloads::{DownloadPath, Downloads, DownloadsResult};

pub(super) const FIGURE: Figure = Figure {
    id: "own.aggregate",
    title: "The goodput of a TCP flow over two paths at once",
    claims: &[EQUAL, UNEQUAL, FAST, NEVER_LESS],
    make,
};

const EQUAL: &str = "own.aggregate.equal";
const UNEQUAL: &str = "own.aggregate.unequal";
const FAST: &str = "own.aggregate.fast";
const NEVER_LESS: &str = "own.aggregate.never_less";

/// Two paths, and the claim on their goodput.
struct PathPair {
    claim: &'static str,
    /// The name in quantities.
    name: &'static str,
    title: &'static str,
    paths: [DownloadPath; 2],
}

const fn path(rate: u32, delay: u32, queue: u32) -> DownloadPath {
    DownloadPath { rate, delay, queue }
}

/// The rows of the table in docs/in-time.md, with its queues.
const PAIRS: [PathPair; 4] = [
    PathPair {
        claim: EQUAL,
        name: "equal",
        title: "50 + 50 Mbit/s, 10 ms",
        paths: [path(50, 10, 200), path(50, 10, 200)],
    },
    PathPair {
        claim: UNEQUAL,
        name: "unequal",
        title: "40 + 10, 20 and 60 ms",
        paths: [path(40, 20, 200), path(10, 60, 200)],
    },
    PathPair {
        claim: FAST,
        name: "fast_10_30",
        title: "300 + 80, 10 and 30 ms",
        paths: [path(300, 10, 500), path(80, 30, 500)],
    },
    PathPair {
        claim: FAST,
        name: "fast_5_15",
        title: "300 + 80, 5 and 15 ms",
        paths: [path(300, 5, 500), path(80, 15, 500)],
    },
];

/// The downloads over a pair. Nothing is random but the numbers of the overlay, so that another seed
/// repeats the run: the samples are its downloads, each of which finds the paths as the one before
/// has left them.
struct PairDownloads {
    pair: &'static PathPair,
    result: DownloadsResult,
}

impl PairDownloads {
    fn request(study: &mut Study<'_>, pair: &'static PathPair) -> Result<Self, Pending> {
        let result = study.request(&Downloads {
            paths: pair.paths,
            count: study.pick(5, 20),
            seed: SEED,
        })?;
        Ok(Self { pair, result })
    }

    fn alone(&self) -> Vec<Sample> {
        samples(&self.result.alone)
    }

    fn in_time(&self) -> Vec<Sample> {
        samples(&self.result.in_time)
    }

    fn measurements(&self) -> Vec<Measurement> {
        let PathPair { claim, name, .. } = self.pair;
        let goodput = format!("goodput.{name}");
        let least = samples(&[least_ratio(&self.result)]);
        vec![
            Measurement::of(claim, &goodput, "Mbit/s", name, &self.in_time()),
            Measurement::of(NEVER_LESS, &format!("least.{name}"), "ratio", name, &least),
        ]
    }
}

fn samples(values: &[f64]) -> Vec<Sample> {
    let sample = |&value: &f64| Sample { seed: SEED, value };
    values.iter().map(sample).collect()
}

/// The least ratio of the goodput over both paths to that over the better one alone, transfer by
/// transfer; a transfer that timed out has a ratio of 0.
fn least_ratio(downloads: &DownloadsResult) -> f64 {
    let pairs = downloads.in_time.iter().zip(&downloads.alone);
    let ratios = pairs.map(|(both, alone)| if *both > 0.0 { both / alone } else { 0.0 });
    ratios.fold(f64::INFINITY, f64::min)
}

fn make(study: &mut Study<'_>) -> Result<Findings, Pending> {
    let all: Vec<_> = PAIRS
        .iter()
        .map(|pair| PairDownloads::request(study, pair))
        .collect();
    let all = all.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(Findings {
        plots: vec![picture(&all)],
        tables: vec![table(&all)],
        measurements: all.iter().flat_map(PairDownloads::measurements).collect(),
        parameters: [
            [
                "downloads",
                "scenarios/aggregate.toml: 5 one after another, and 20 with --full, each of what both \
                 paths carry in 16 s; the samples are the downloads, since another seed repeats the same run",
            ],
            [
                "queues of the downloads",
                "200 packets, with 300 + 80 Mbit/s 500, as in docs/in-time.md",
            ],
        ]
        .map(|of| of.map(ToOwned::to_owned))
        .into(),
        reasons: reason(&all).into_iter().collect(),
        ..Findings::default()
    })
}

/// The reason for which the paths of 300 + 80 Mbit/s can have less than their bound.
fn reason(all: &[PairDownloads]) -> Option<ClaimRemark> {
    let named = |name: &str| all.iter().find(|of| of.pair.name == name);
    let (long, short) = (named("fast_10_30")?, named("fast_5_15")?);
    let [first, later @ ..] = &long.result.in_time[..] else {
        return None;
    };
    let most = later.iter().copied().reduce(f64::max)?;
    let least = later.iter().copied().reduce(f64::min)?;
    let text = format!(
        "Over {}, the first download, which begins before the paths are known, has {first:.1} Mbit/s, \
         and the others {least:.1} to {most:.1}. With half of these delays the mean is {:.1} Mbit/s: \
         the goodput falls as the round trips grow.",
        long.pair.title,
        mean(&short.result.in_time)
    );
    Some(ClaimRemark { claim: FAST, text })
}

fn picture(all: &[PairDownloads]) -> Plot {
    let series = |name: &str, beside: f64, of: fn(&PairDownloads) -> Vec<Sample>| Series {
        name: name.to_owned(),
        points: (0..)
            .zip(all)
            .filter_map(|(at, runs)| point(f64::from(at) + beside, &of(runs)))
            .collect(),
        look: Look::Marks,
    };
    Plot {
        id: "aggregate".to_owned(),
        title: "Goodput of one TCP flow".to_owned(),
        x: Axis {
            names: all.iter().map(|of| of.pair.title.to_owned()).collect(),
            ..axis("paths", "")
        },
        y: axis("goodput", "Mbit/s"),
        series: vec![
            series("the better path alone", -0.05, PairDownloads::alone),
            series("in-time over both", 0.05, PairDownloads::in_time),
        ],
        ..Plot::default()
    }
}

fn table(all: &[PairDownloads]) -> FigureTable {
    let row = |of: &PairDownloads| {
        let sum: u32 = of.pair.paths.iter().map(|path| path.rate).sum();
        let share = mean(&of.result.in_time) / f64::from(sum);
        let least = least_ratio(&of.result);
        vec![
            of.pair.title.to_owned(),
            text(&of.alone(), 1),
            text(&of.in_time(), 1),
            format!("{share:.3}"),
            format!("{least:.3}"),
            of.result.in_time.len().to_string(),
        ]
    };
    figure_table(
        "goodput",
        "Goodput in Mbit/s of one TCP flow (cubic)",
        &[
            "paths",
            "the better path alone",
            "in-time",
            "of the sum of the rates",
            "least ratio of a transfer",
            "downloads",
        ],
        all.iter().map(row).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_ratio_compares_transfer_by_transfer() {
        let run = |in_time: &[f64]| DownloadsResult {
            alone: vec![10.0, 20.0, 10.0],
            in_time: in_time.to_vec(),
        };
        let found = [[15.0, 22.0, 30.0], [15.0, 22.0, 0.0]].map(|of| least_ratio(&run(&of)));
        assert!(
            (found[0] - 1.1).abs() < 1e-9 && found[1] == 0.0,
            "{found:?}"
        );
    }
}
