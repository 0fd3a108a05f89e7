//! Files that are played during their transfer: runs, plots and tables.

use polypath_claims::{FigureTable, Pending, Sample, Study};
use polypath_core::units::Bytes;
use polypath_report::playout::Curve;
use polypath_report::plot::{Look, Plot, Point, Series};
use polypath_report::statistics::{Estimate, quantile};
use polypath_scenario::Scheme;

use super::plan::{Size, seeds, title};
use crate::figures::estimates::{estimate, mean, shown};
use crate::figures::pictures::axis;
use crate::jobs::ppd::setting::{Setting, Topology, Traffic};
use crate::jobs::ppd::transfers::{Playback, Played, RATES, Transfers};

/// "The total file size corresponds to 1000 TCP data packets each of size 1000 Byte" (5.1).
pub(super) const FILE: u64 = 1_000_000;

/// The results of the schemes in each replica.
pub(super) struct Runs {
    /// The seeds of the replicas.
    pub(super) seeds: Vec<u64>,
    pub(super) schemes: Vec<(Scheme, Vec<Played>)>,
}

impl Runs {
    pub(super) fn of(&self, scheme: Scheme) -> &[Played] {
        let found = self.schemes.iter().find(|(known, _)| *known == scheme);
        found.map_or(&[], |(_, runs)| runs)
    }

    /// A quantity of each replica with a value.
    pub(super) fn each(&self, scheme: Scheme, of: impl Fn(&Played) -> Option<f64>) -> Vec<Sample> {
        let pairs = self.seeds.iter().zip(self.of(scheme));
        pairs
            .filter_map(|(seed, run)| {
                Some(Sample {
                    seed: *seed,
                    value: of(run)?,
                })
            })
            .collect()
    }

    pub(super) fn prebuffers(&self, scheme: Scheme) -> Vec<Sample> {
        self.each(scheme, |run| {
            let lines: Vec<f64> = run.carried.playout.iter().map(|line| line.0).collect();
            Some(mean(&lines))
        })
    }

    /// The lower and the upper quartile of the pre-buffers of all transfers, in seconds.
    pub(super) fn quartiles(&self, scheme: Scheme) -> Option<[f64; 2]> {
        let runs = self.of(scheme).iter();
        let lines = runs.flat_map(|run| run.carried.playout.iter().map(|line| line.0));
        let all: Vec<f64> = lines.collect();
        let both = quantile(&all, 0.25).zip(quantile(&all, 0.75));
        both.map(<[f64; 2]>::from)
    }

    /// The rate of playout after the pre-buffer, in kB/s.
    pub(super) fn rates(&self, scheme: Scheme) -> Vec<Sample> {
        self.each(scheme, |run| {
            let rates: Vec<f64> = run
                .carried
                .playout
                .iter()
                .filter_map(|line| line.1)
                .collect();
            (!rates.is_empty()).then(|| mean(&rates) / 1e3)
        })
    }

    /// The overhead over all replicas.
    fn overhead(&self, scheme: Scheme) -> Option<Estimate> {
        let bytes = self.of(scheme).iter().map(|run| run.carried.bytes);
        let pairs: Vec<(f64, f64)> = bytes
            .map(|[handed, sent]| (sent as f64, handed as f64))
            .collect();
        let ratio = Estimate::of_ratio(&pairs)?;
        Some(Estimate {
            mean: ratio.mean - 1.0,
            ..ratio
        })
    }

    pub(super) fn overheads(&self, scheme: Scheme) -> Vec<Sample> {
        self.each(scheme, |run| {
            let [handed, sent] = run.carried.bytes;
            Some(sent as f64 / handed.max(1) as f64 - 1.0)
        })
    }
}

pub(super) fn played(
    study: &mut Study<'_>,
    experiment: &str,
    traffic: Traffic,
    schemes: &[Scheme],
    size: Size,
) -> Result<Runs, Pending> {
    let seeds = seeds(experiment, size.replicas);
    let jobs = seeds.iter().map(|&seed| {
        Playback(Transfers {
            setting: Setting::new(Topology::Apart),
            traffic,
            schemes: schemes.to_vec(),
            bytes: FILE,
            count: size.count,
            seed,
            about: size.about,
        })
    });
    let runs = study.request_all(jobs)?;
    let of = |n: usize| runs.iter().filter_map(|run| run.get(n).cloned()).collect();
    let schemes = schemes
        .iter()
        .enumerate()
        .map(|(n, scheme)| (*scheme, of(n)));
    Ok(Runs {
        seeds,
        schemes: schemes.collect(),
    })
}

/// The first transfer of the first replica, as the paper shows one.
pub(super) fn playable(id: &str, found: &Runs, loads: [f64; 2]) -> Plot {
    let curve = |(scheme, runs): &(Scheme, Vec<Played>)| Series {
        name: title(*scheme).to_owned(),
        points: runs.first().map_or_else(Vec::new, |run| {
            let steps = run.carried.first.iter();
            steps
                .map(|(x, bytes)| Point {
                    x: *x,
                    y: bytes / 1e3,
                    ci95: None,
                })
                .collect()
        }),
        look: Look::Trace,
    };
    let lines = DRAWN
        .iter()
        .filter_map(|scheme| playout_line(found, *scheme));
    Plot {
        id: id.to_owned(),
        title: format!(
            "Playable size of a transfer, loads {} and {}",
            loads[0], loads[1]
        ),
        x: axis("time", "s"),
        y: axis("playable media file size", "packets of 1000 B"),
        series: found.schemes.iter().map(curve).chain(lines).collect(),
        stated: Vec::new(),
        ..Plot::default()
    }
}

/// The schemes whose playout the paper draws (Fig. 5).
const DRAWN: [Scheme; 2] = [Scheme::Tcp, Scheme::PpdTcp1];

/// The line of the playout of the first transfer, if it is not vertical.
fn playout_line(found: &Runs, scheme: Scheme) -> Option<Series> {
    let first = found.of(scheme).first()?;
    let (prebuffer, rate) = *first.carried.playout.first()?;
    let end = prebuffer + FILE as f64 / rate?;
    let point = |x, y| Point { x, y, ci95: None };
    Some(Series {
        name: format!("playout with {}", title(scheme)),
        points: vec![point(prebuffer, 0.0), point(end, FILE as f64 / 1e3)],
        look: Look::Trace,
    })
}

/// The compared tolerances: shares of the file by which the playable size may fall short of a line.
const TOLERANCES: [f64; 4] = [0.0, 0.02, 0.05, 0.1];

/// The dependence of the pre-buffer on the tolerance, for the first transfer of each replica.
pub(super) fn tolerances(id: &str, found: &Runs) -> FigureTable {
    let line = |scheme: &Scheme| {
        let cells = TOLERANCES.map(|tolerance| {
            let samples = found.each(*scheme, |run| {
                let curve = Curve::of_steps(&run.carried.first, Bytes(FILE))?;
                Some(curve.line_within(tolerance).prebuffer)
            });
            shown(estimate(&samples), 1)
        });
        let name = title(*scheme).to_owned();
        std::iter::once(name).chain(cells).collect()
    };
    let heads = TOLERANCES.map(|tolerance| format!("{} %: s", 100.0 * tolerance));
    FigureTable {
        id: format!("{id}-tolerances"),
        title:
            "Pre-buffer of the first transfer of each replica, by the share of the file that may \
                be late"
                .to_owned(),
        columns: std::iter::once("scheme".to_owned()).chain(heads).collect(),
        rows: found
            .schemes
            .iter()
            .map(|(scheme, _)| line(scheme))
            .collect(),
    }
}

/// The wait as a function of the playout rate, d(r).
pub(super) fn waits(id: &str, found: &Runs, loads: [f64; 2]) -> Plot {
    let curve = |(scheme, _): &(Scheme, Vec<Played>)| Series {
        name: title(*scheme).to_owned(),
        points: RATES
            .iter()
            .enumerate()
            .filter_map(|(n, rate)| {
                let samples = found.each(*scheme, |run| run.waits.get(n).copied());
                let estimate = estimate(&samples)?;
                Some(Point {
                    x: rate / 1e3,
                    y: estimate.mean,
                    ci95: estimate.ci95,
                })
            })
            .collect(),
        look: Look::Line,
    };
    Plot {
        id: id.to_owned(),
        title: format!(
            "Wait before playout without a stall, loads {} and {}",
            loads[0], loads[1]
        ),
        x: axis("rate of playout", "kB/s"),
        y: axis("pre-buffering", "s"),
        series: found.schemes.iter().map(curve).collect(),
        stated: Vec::new(),
        ..Plot::default()
    }
}

pub(super) fn table(id: &str, found: &Runs) -> FigureTable {
    let line = |(scheme, runs): &(Scheme, Vec<Played>)| {
        let times = found.each(*scheme, |run| Some(mean(&run.carried.times)));
        let given_up: u32 = runs.iter().map(|run| run.carried.timed_out).sum();
        let transfers: usize = runs.iter().map(|run| run.carried.times.len()).sum();
        vec![
            title(*scheme).to_owned(),
            shown(estimate(&times), 1),
            shown(estimate(&found.prebuffers(*scheme)), 1),
            shown(estimate(&found.rates(*scheme)), 2),
            shown(found.overhead(*scheme), 3),
            share(runs, 0),
            share(runs, 1),
            transfers.to_string(),
            given_up.to_string(),
        ]
    };
    let columns = [
        "scheme",
        "transfer s",
        "pre-buffer s",
        "rate of playout kB/s",
        "overhead ratio",
        "of it pairs",
        "of it requests to switch",
        "transfers",
        "given up",
    ];
    FigureTable {
        id: format!("{id}-transfers"),
        title: "1000 packets of 1000 B".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: found.schemes.iter().map(line).collect(),
    }
}

/// The bytes on the wire of all transfers beyond those of the applications, as a share of these.
pub(super) fn pooled_overhead(runs: &[Played]) -> f64 {
    let sum = |which: usize| runs.iter().map(|run| run.carried.bytes[which]).sum::<u64>() as f64;
    sum(1) / sum(0).max(1.0) - 1.0
}

/// The bytes of packet pairs (0) or requests to switch (1) as a share of those of the applications.
pub(super) fn signals(runs: &[Played], which: usize) -> f64 {
    let sum = |of: &dyn Fn(&Played) -> u64| runs.iter().map(of).sum::<u64>() as f64;
    sum(&|run| run.signals[which]) / sum(&|run| run.carried.bytes[0]).max(1.0)
}

fn share(runs: &[Played], which: usize) -> String {
    format!("{:.3}", signals(runs, which))
}
