use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::Ordering;

use polypath_document::{Override, grid};
use polypath_scenario::Experiment;
use serde_json::Value;

use super::*;
use crate::digest::digest;
use crate::progress::PARTS;

const NETWORK: &str = "schema = 1\nname = \"x\"\nrun = { duration = \"1 s\" }\n[[link]]\nfrom = \"a\"\n\
                       to = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"9 packets\"\n\
                       [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
                       traffic = { kind = \"ftp\" }\n\
                       [sweep]\n\"link.0.delay\" = [\"1 ms\", \"2 ms\", \"3 ms\"]\n";

fn open(out: &Path, text: &str, replicas: u32) -> Result<Sweep, SweepError> {
    let points = grid(text, "x.toml", &[]).unwrap().into_iter();
    let point = |set: Vec<Override>| Point {
        experiment: Experiment::parse(text, "x.toml", &set).unwrap(),
        set,
    };
    let plan = Plan {
        text,
        files: &BTreeMap::new(),
        overrides: Vec::new(),
    };
    Sweep::open(out, &plan, points.map(point).collect(), replicas)
}

/// Performs the missing runs and returns the points.
fn run(sweep: &Sweep, jobs: u16) -> Vec<SweepPoint> {
    let parts = AtomicU64::new(0);
    let points = sweep.run(Some(jobs), &parts, &mut || {}).unwrap();
    assert_eq!(parts.load(Ordering::Relaxed), sweep.runs() * PARTS);
    points
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    paths.iter().map(name).collect()
}

const TRANSFERS: &str = "schema = 1\nname = \"x\"\nschemes = [\"tcp\", \"ppd-tcp2\"]\n\
                         transfer = { size = \"20 kB\", count = 2, warm_up = \"1 s\" }\n\
                         [[path]]\nname = \"p\"\n[[path.link]]\nrate = \"1 Mbit/s\"\n\
                         delay = \"5 ms\"\nqueue = \"9 packets\"\n\
                         [sweep]\n\"transfer.size\" = [\"20 kB\", \"40 kB\"]\n";

#[test]
fn transfers_are_points_like_networks() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = open(dir.path(), TRANSFERS, 1).unwrap();
    assert_eq!((sweep.kind(), sweep.runs()), (Kind::Transfers, 2));
    let whole = run(&sweep, 2);
    let time =
        |n: usize| whole[n].report.as_ref().unwrap()["schemes"][0]["transfer_s"]["mean"].as_f64();
    assert!(time(0).unwrap() < time(1).unwrap());
    fs::write(dir.path().join("points/00001.json"), "{}").unwrap();
    let again = open(dir.path(), TRANSFERS, 1).unwrap();
    assert_eq!(names(again.unusable()), ["00001.json"]);
    assert_eq!(run(&again, 1), whole);
}

#[test]
fn transfers_run_once_for_any_number_of_replicas() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(open(dir.path(), TRANSFERS, 5).unwrap().runs(), 2);
    let again = open(dir.path(), TRANSFERS, 1);
    assert!(again.is_ok(), "it is the same sweep");
}

#[test]
fn a_point_without_runs_is_an_error() {
    for text in [NETWORK, TRANSFERS] {
        let dir = tempfile::tempdir().unwrap();
        let sweep = open(dir.path(), text, 1).unwrap();
        let error = sweep.points[0].report(Vec::new()).unwrap_err().to_string();
        let wanted = format!("{}: no run", sweep.points[0].words().join(" "));
        assert!(error.starts_with(&wanted), "{error}");
    }
}

/// Writing in place would follow the symbolic link.
#[test]
fn a_plan_is_replaced_atomically() {
    let dir = tempfile::tempdir().unwrap();
    let (plan, other) = (
        dir.path().join("points/plan.json"),
        dir.path().join("other"),
    );
    fs::create_dir(dir.path().join("points")).unwrap();
    std::os::unix::fs::symlink(&other, &plan).unwrap();
    open(dir.path(), NETWORK, 1).unwrap();
    assert!(!other.exists() && plan.is_file());
    let left = fs::read_dir(dir.path().join("points")).unwrap();
    assert_eq!(left.count(), 1, "only the plan");
}

#[test]
fn a_truncated_plan_is_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let whole = run(&open(dir.path(), NETWORK, 1).unwrap(), 1);
    let plan = dir.path().join("points/plan.json");
    let text = fs::read(&plan).unwrap();
    for length in [0, 1, text.len() / 2] {
        fs::write(&plan, &text[..length]).unwrap();
        let again = open(dir.path(), NETWORK, 1).unwrap();
        assert_eq!((again.finished(), again.runs()), (3, 0));
        assert_eq!(run(&again, 1), whole);
        assert_eq!(fs::read(&plan).unwrap(), text);
    }
}

#[test]
fn a_report_with_a_changed_digit_is_named_and_run_again() {
    let dir = tempfile::tempdir().unwrap();
    let whole = run(&open(dir.path(), NETWORK, 1).unwrap(), 1);
    let path = dir.path().join("points/00001.json");
    let text = fs::read_to_string(&path).unwrap();
    let at = text.rfind(['3', '4', '5']).unwrap();
    let changed = format!("{}6{}", &text[..at], &text[at + 1..]);
    fs::write(&path, changed).unwrap();
    let again = open(dir.path(), NETWORK, 1).unwrap();
    assert_eq!(names(again.unusable()), ["00001.json"]);
    assert_eq!(run(&again, 1), whole);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

/// A sweep whose first and last points overload a link with an unlimited queue.
const OVERLOADED: &str = "schema = 1\nname = \"x\"\nrun = { duration = \"60 s\" }\n[[link]]\nfrom = \"a\"\n\
                          to = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"unlimited\"\n\
                          [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
                          traffic = { kind = \"cbr\", packet = \"100 B\", interval = \"1 ms\" }\n\
                          [sweep]\n\"flow.0.traffic.interval\" = [\"2 us\", \"1 ms\", \"2 ms\", \"3 us\"]\n";

#[test]
fn failed_points_do_not_stop_the_others() {
    let results = [1, 2, 5].map(|jobs| {
        let dir = tempfile::tempdir().unwrap();
        let sweep = open(dir.path(), OVERLOADED, 2).unwrap();
        let points = sweep.run(Some(jobs), &AtomicU64::new(0), &mut || {});
        let again = open(dir.path(), OVERLOADED, 2).unwrap();
        assert_eq!((again.finished(), again.runs()), (2, 4));
        points.unwrap()
    });
    let ends = results[0].iter().map(|point| point.report.is_ok());
    assert_eq!(ends.collect::<Vec<_>>(), [false, true, true, false]);
    let error = results[0][0].report.as_ref().unwrap_err();
    assert!(error.contains("a-b"), "{error}");
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}

#[test]
fn damaged_and_misplaced_points_are_named_and_run_again() {
    let dir = tempfile::tempdir().unwrap();
    let whole = run(&open(dir.path(), NETWORK, 2).unwrap(), 2);
    let path = |name: &str| dir.path().join("points").join(name);
    let half = fs::read(path("00000.json")).unwrap();
    fs::copy(path("00001.json"), path("00002.json")).unwrap();
    fs::write(path("00000.json"), &half[..half.len() / 2]).unwrap();
    let again = open(dir.path(), NETWORK, 2).unwrap();
    assert_eq!(names(again.unusable()), ["00000.json", "00002.json"]);
    assert_eq!((again.finished(), again.runs()), (1, 4));
    assert_eq!(run(&again, 1), whole);
    assert!(open(dir.path(), NETWORK, 2).unwrap().unusable().is_empty());
}

#[test]
fn a_point_of_another_sweep_is_unusable() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run(&open(dir.path(), NETWORK, 1).unwrap(), 1);
    let longer = NETWORK.replace("1 s\" }", "2 s\" }");
    run(&open(other.path(), &longer, 1).unwrap(), 1);
    let point = "points/00001.json";
    fs::copy(other.path().join(point), dir.path().join(point)).unwrap();
    let again = open(dir.path(), NETWORK, 1).unwrap();
    assert_eq!(names(again.unusable()), ["00001.json"]);
    let mixed = open(other.path(), NETWORK, 1);
    assert!(matches!(mixed, Err(SweepError::Other(_))));
}

#[test]
fn a_plan_contains_the_version_of_its_reports() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), NETWORK, 1).unwrap();
    let plan = dir.path().join("points/plan.json");
    let text = fs::read_to_string(&plan).unwrap();
    let version = format!("\"report\": {}", polypath_report::network::VERSION);
    assert!(text.contains(&version), "{text}");
    fs::write(&plan, text.replace(&version, "\"report\": 1")).unwrap();
    let older = open(dir.path(), NETWORK, 1);
    assert!(matches!(older, Err(SweepError::Other(_))));
}

/// The dotted keys of a report, without those that depend on the file or the run.
fn keys(value: &Value, outer: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| keys(item, outer, found)),
        Value::Object(entries) => {
            for (name, inner) in entries {
                let key = format!("{outer}.{name}");
                if !["parameters", "drops"].contains(&name.as_str()) {
                    keys(inner, &key, found);
                }
                found.insert(key);
            }
        }
        _ => {}
    }
}

#[test]
fn the_form_version_matches_the_keys() {
    let all = NETWORK
        .replace("\"1 s\" }", "\"1 s\", percentiles = true }")
        .replace("\"ftp\"", "\"file\", size = \"10 kB\"");
    let mut found = BTreeSet::new();
    for text in [all.as_str(), TRANSFERS] {
        let dir = tempfile::tempdir().unwrap();
        let sweep = open(dir.path(), text, 2).unwrap();
        for point in run(&sweep, 2) {
            keys(point.report.as_ref().expect("a report"), "", &mut found);
        }
    }
    for key in [
        ".groups.files.finished",
        ".groups.delay_percentiles_s.p50",
        ".schemes.transfer_s",
    ] {
        assert!(found.contains(key), "no {key} in {found:#?}");
    }
    let of_keys = digest(format!("{found:?}"));
    assert_eq!(
        (plan::FORM, &of_keys[..8]),
        (3, "aa6cd159"),
        "the keys of reports have changed: increase FORM and update the digest; {found:#?}"
    );
}
