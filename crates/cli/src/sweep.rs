//! `polypath sim` of a file with a `[sweep]`: every combination is a run, and finished runs are kept.
//!
//! The folder `points` beside the report holds `plan.json`, what is swept, and one file for each finished point,
//! which appears whole or not at all. The sheets are made from these files alone, so that a sweep that was
//! interrupted ends with the bytes of one that was not.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use polypath_batch::{PARTS, in_order, replica_seeds, run_counted};
use polypath_report::network::sweep::{SweepPoint, groups_csv, json, links_csv};
use polypath_report::network::{NetworkFigures, NetworkRecord, json as report_json};
use polypath_scenario::document::Override;
use polypath_scenario::{Experiment, Network};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::failure::{Failure, tell};
use crate::network::Replication;
use crate::output::print;
use crate::progress;
use crate::scenario::{Folder, Format};
use crate::watch::Interrupts;

/// One combination: what is set, and the network that it gives.
pub(crate) struct Point {
    pub(crate) set: Vec<Override>,
    pub(crate) network: Network,
}

impl Point {
    /// A point of a network; transfers have no sweep.
    pub(crate) fn of((set, experiment): (Vec<Override>, Experiment)) -> Option<Self> {
        match experiment {
            Experiment::Network(network) => Some(Self {
                set,
                network: *network,
            }),
            Experiment::Transfers(_) => None,
        }
    }
}

/// What makes two sweeps the same.
pub(crate) struct Plan<'a> {
    /// The text of the file.
    pub(crate) text: &'a str,
    /// The texts of the files that it names, by their names.
    pub(crate) files: &'a BTreeMap<String, String>,
    /// The arguments `--set` and `--seconds`.
    pub(crate) overrides: Vec<String>,
}

impl Plan<'_> {
    /// All that the results follow from, as text.
    fn describe(&self, points: &[Point], replication: Replication) -> String {
        let set =
            |point: &Point| -> Vec<String> { point.set.iter().map(ToString::to_string).collect() };
        let files = self.files.iter();
        let digests: BTreeMap<&str, String> = files
            .map(|(name, text)| (name.as_str(), digest(text)))
            .collect();
        let plan = json!({
            "program": env!("CARGO_PKG_VERSION"),
            "file": self.text,
            "sha256": digests,
            "overrides": self.overrides,
            "seed": points.first().map(|point| point.network.seed),
            "replicas": replication.replicas,
            "points": points.iter().map(set).collect::<Vec<_>>(),
        });
        format!("{plan:#}\n")
    }
}

/// The SHA-256 of a text, in hexadecimal.
fn digest(text: &str) -> String {
    let mut hexadecimal = String::new();
    for byte in Sha256::digest(text) {
        // A string takes whatever is written to it.
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    hexadecimal
}

/// The folder of the finished points.
struct Store {
    folder: PathBuf,
}

/// Runs the points that are not finished, and reports all.
pub(crate) fn run(
    points: &[Point],
    plan: &Plan<'_>,
    replication: Replication,
    out: &Folder,
    format: Format,
) -> Result<(), Failure> {
    let store = Store::open(out.path(), plan, points, replication)?;
    let missing: Vec<usize> = (0..points.len()).filter(|n| !store.has(*n)).collect();
    let done = points.len() - missing.len();
    if done > 0 {
        tell(&format!(
            "{done} of {} points are finished already",
            points.len()
        ));
    }
    let parts = AtomicU64::new(0);
    let work = |index: usize| run_point(&store, missing[index], points, replication, &parts);
    let total = missing.len() as u64 * PARTS * u64::from(replication.replicas);
    let mut bar = progress::Indicator::perhaps_short(total);
    let interrupts = Interrupts::register().context("watching for signals")?;
    in_order(missing.len(), replication.jobs, &work, &mut || {
        interrupts.obey(&bar, out);
        bar.advance("simulating", parts.load(Ordering::Relaxed));
    })?;
    bar.finish();
    report(&store, points, out.path(), format)
}

fn run_point(
    store: &Store,
    number: usize,
    points: &[Point],
    replication: Replication,
    parts: &AtomicU64,
) -> Result<(), Failure> {
    let network = &points[number].network;
    let mut replicas = Vec::new();
    for seed in replica_seeds(network.seed, replication.replicas) {
        replicas.push((
            seed,
            run_counted(network, seed, parts, &mut ()).map_err(Failure::run)?,
        ));
    }
    let record = NetworkRecord {
        network,
        replicas: &replicas,
    };
    let text = report_json(record, &NetworkFigures::of(record)).context("writing a report")?;
    store.keep(number, &text)
}

fn report(store: &Store, points: &[Point], out: &Path, format: Format) -> Result<(), Failure> {
    let read = |(number, point): (usize, &Point)| -> Result<SweepPoint, Failure> {
        let set = point
            .set
            .iter()
            .map(|each| (each.key().to_owned(), each.value()));
        Ok(SweepPoint {
            set: set.collect(),
            report: store.read(number)?,
        })
    };
    let points: Vec<SweepPoint> = points
        .iter()
        .enumerate()
        .map(read)
        .collect::<Result<_, _>>()?;
    let text = json(&points).context("writing the sweep")?;
    for (name, content) in [
        (
            "sweep.csv",
            groups_csv(&points).context("writing the sheet")?,
        ),
        (
            "sweep-links.csv",
            links_csv(&points).context("writing the sheet")?,
        ),
        ("sweep.json", text.clone().into_bytes()),
    ] {
        let path = out.join(name);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    print(&match format {
        Format::Json => text,
        Format::Table => format!(
            "{} points\nreport: {}, sweep-links.csv and sweep.json beside it\n",
            points.len(),
            out.join("sweep.csv").display()
        ),
    })
}

impl Store {
    /// The folder in `out`, made or found; refuses one that holds the points of another sweep.
    fn open(
        out: &Path,
        plan: &Plan<'_>,
        points: &[Point],
        replication: Replication,
    ) -> Result<Self, Failure> {
        let folder = out.join("points");
        let plan = plan.describe(points, replication);
        let path = folder.join("plan.json");
        match fs::read_to_string(&path) {
            Ok(found) if found != plan => {
                return Err(Failure::input(format!(
                    "{} holds the points of another sweep, or of other files that it names: choose another folder with --out, or remove it",
                    folder.display()
                )));
            }
            Ok(_) => {}
            Err(_) => {
                fs::create_dir_all(&folder)
                    .with_context(|| format!("cannot make {}", folder.display()))?;
                put(&path, &plan)?;
            }
        }
        Ok(Self { folder })
    }

    fn path(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{number:05}.json"))
    }

    fn has(&self, number: usize) -> bool {
        self.path(number).exists()
    }

    /// Keeps the report of a point.
    fn keep(&self, number: usize, text: &str) -> Result<(), Failure> {
        put(&self.path(number), text)
    }

    fn read(&self, number: usize) -> Result<serde_json::Value, Failure> {
        let path = self.path(number);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let value = serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged: remove it and run again", path.display()))?;
        Ok(value)
    }
}

/// Writes a file beside its place and moves it there, so that it is never half there.
fn put(path: &Path, text: &str) -> Result<(), Failure> {
    let draft = path.with_extension("draft");
    fs::write(&draft, text)
        .and_then(|()| fs::rename(&draft, path))
        .with_context(|| format!("cannot write {}", path.display()))
        .map_err(Failure::Run)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: &str = "schema = 1\nname = \"x\"\nrun = { duration = \"1 s\" }\n[[link]]\nfrom = \"a\"\n\
                           to = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"9 packets\"\n\
                           [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
                           traffic = { kind = \"ftp\" }\n";

    /// A file that is written in place would be written through a link, too.
    #[test]
    fn a_plan_is_moved_to_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let (plan, other) = (
            dir.path().join("points/plan.json"),
            dir.path().join("other"),
        );
        fs::create_dir(dir.path().join("points")).unwrap();
        std::os::unix::fs::symlink(&other, &plan).unwrap();
        let point = Point {
            set: Vec::new(),
            network: Network::parse(NETWORK, "x.toml", &[]).unwrap(),
        };
        let what = Plan {
            text: NETWORK,
            files: &BTreeMap::new(),
            overrides: Vec::new(),
        };
        let replication = Replication {
            replicas: 1,
            jobs: None,
        };
        assert!(Store::open(dir.path(), &what, &[point], replication).is_ok());
        assert!(!other.exists() && plan.is_file());
        assert!(!plan.with_extension("draft").exists());
    }
}
