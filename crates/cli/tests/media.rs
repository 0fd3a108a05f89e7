//! The command line of `polypath sim` for media streams.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use common::{polypath, printed};
use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Simulates `scenarios/media-NAME.toml` with the report in `out`.
fn simulate(name: &str, out: &Path, arguments: &[&str]) -> Output {
    let mut command = polypath();
    command.arg("sim");
    command.arg(format!("{ROOT}/scenarios/media-{name}.toml"));
    command.arg("--out").arg(out).args(arguments);
    command.output().unwrap()
}

/// The report of a short form of a scenario.
fn report(name: &str, sets: &[&str]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let arguments: Vec<&str> = ["--format", "json"].into_iter().chain(sets).collect();
    let output = simulate(name, dir.path(), &arguments);
    serde_json::from_str(&printed(&output)).unwrap()
}

fn policy<'a>(report: &'a Value, name: &str) -> &'a Value {
    let policies = report["policies"].as_array().unwrap();
    policies
        .iter()
        .find(|policy| policy["name"] == name)
        .unwrap()
}

/// The share of late packets at the second deadline, with half of its interval.
fn late(report: &Value, name: &str) -> [f64; 2] {
    let share = &policy(report, name)["late"][1]["share"];
    ["mean", "ci95"].map(|key| share[key].as_f64().unwrap())
}

#[test]
fn copies_lose_the_product_of_independent_losses() {
    let report = report("random", &[]);
    for (name, expected) in [("single-path", 0.02), ("duplicate-all", 0.02 * 0.02)] {
        let [mean, half] = late(&report, name);
        assert!((mean - expected).abs() < half, "{name}: {mean} +- {half}");
    }
    assert_eq!(report["policies"][0]["late"][1]["share"]["n"], 10);
    let ratio = |name| {
        policy(&report, name)["wire_ratio"]["mean"]
            .as_f64()
            .unwrap()
    };
    // 88 B of headers around 1316 B, and heartbeats.
    assert!((1.066..1.09).contains(&ratio("single-path")));
    assert!((2.13..2.17).contains(&ratio("duplicate-all")));
}

#[test]
fn fades_outages_and_congestion_leave_what_a_policy_does_not_avoid() {
    let fades = report("fades", &["media.duration=60 s"]);
    let [single, half] = late(&fades, "single-path");
    assert!((single - 0.03).abs() < half, "{single} +- {half}");
    assert!(late(&fades, "duplicate-all")[0] < 0.004);
    let outages = report("outages", &["media.runs=4"]);
    assert!((0.003..0.015).contains(&late(&outages, "single-path")[0]));
    assert!(late(&outages, "duplicate-all")[0] < 1e-9);
    let congestion = report("congestion", &["media.runs=4"]);
    assert!(late(&congestion, "single-path")[0] > 0.02);
    assert!(late(&congestion, "probe-and-switch")[0] < 0.002);
}

#[test]
fn the_seed_determines_the_bytes_on_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let run = |jobs: &str, seed: &str| {
        let out = dir.path().join(format!("{jobs}-{seed}"));
        let short = ["--set", "media.duration=3 s", "--set", "media.runs=4"];
        let arguments = [&short[..], &["--jobs", jobs, "--seed", seed]].concat();
        printed(&simulate("random", &out, &arguments));
        [
            "report.json",
            "report.html",
            "runs.csv",
            "late.csv",
            "wire.csv",
            "paths.csv",
        ]
        .map(|name| fs::read(out.join(name)).unwrap())
    };
    let first = run("1", "1");
    assert_eq!(first, run("3", "1"));
    assert_ne!(first, run("1", "2"));
}

#[test]
fn options_of_other_files_are_refused_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, words) in [
        (
            &["--replicas", "3"][..],
            "for a media stream set media.runs",
        ),
        (
            &["--seconds", "3"],
            "describes a media stream over paths: set media.duration",
        ),
        (&["--events", "x.events"], "a file with a media stream"),
        (&["--set", "media.duration=0 s"], "`duration` is zero"),
    ] {
        let output = simulate("random", &dir.path().join("out"), arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(words), "{arguments:?}: {stderr}");
    }
    assert!(!dir.path().join("out").exists());
}

#[test]
fn wrong_files_are_refused_at_their_lines() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = fs::read_to_string(format!("{ROOT}/scenarios/media-random.toml")).unwrap();
    let both = format!("transfer = {{ size = \"1 kB\", count = 1 }}\n{scenario}");
    let swept = format!("{scenario}\n[sweep]\nseed = [1, 2]\n");
    let line = |text: &str, table: &str| {
        let found = text.lines().position(|line| line == table);
        found.expect("the table is there") + 1
    };
    for (text, table, words) in [
        (
            &both,
            "[media]",
            "`media` excludes `transfer`; remove one of the two tables",
        ),
        (
            &swept,
            "[sweep]",
            "a media stream has no sweep; remove `[sweep]`",
        ),
    ] {
        let file = dir.path().join("wrong.toml");
        fs::write(&file, text).unwrap();
        for command in ["sim", "check"] {
            let output = polypath().arg(command).arg(&file).output().unwrap();
            let all = [output.stdout, output.stderr].concat();
            let all = String::from_utf8_lossy(&all);
            assert_eq!(output.status.code(), Some(2), "{all}");
            let wanted = format!("wrong.toml:{}:1: {words}", line(text, table));
            assert!(all.contains(&wanted), "{command}: {all}");
        }
    }
}

#[test]
fn a_stream_of_which_nothing_arrives_fails() {
    let dir = tempfile::tempdir().unwrap();
    let sets = [
        "media.runs=1",
        "media.duration=1 s",
        "path.0.link.0.loss=1",
        "path.1.link.0.loss=1",
    ];
    let arguments: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    let output = simulate("random", dir.path(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("No packet arrived"), "{stdout}");
}
