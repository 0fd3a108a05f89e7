//! A metered path beside a free one, with the real nodes.

use std::fs;
use std::process::Command;

use polypath_lab::can_test;
use serde_json::Value;

use super::scenarios::polypath;

/// A stream of 5 Mbit/s over two paths of 20 Mbit/s, of which the second is to be spared.
const METERED: &str = r#"
schema = 1
name = "metered"

[media]
rate = "5 Mbit/s"
packet = "1316 B"
duration = "8 s"
deadlines = ["200 ms"]
runs = 1
policies = [{ kind = "in-time" }]

[[path]]
name = "free"
link = [{ rate = "20 Mbit/s", delay = "20 ms", queue = "100 packets" }]

[[path]]
name = "metered"
link = [{ rate = "20 Mbit/s", delay = "30 ms", queue = "100 packets" }]
tariff = { cost = 1 }
"#;

/// The result of [`METERED`] with the overrides `sets`; `None`, with the reason printed, on a
/// machine without a lab.
fn measured(sets: &[&str]) -> Option<Value> {
    if !can_test() {
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("metered.toml");
    fs::write(&file, METERED).unwrap();
    let mut command = Command::new(polypath());
    command.arg("lab").arg(&file).args(["--format", "json"]);
    command.arg("--out").arg(directory.path().join("out"));
    command.args(sets.iter().flat_map(|set| ["--set", set]));
    let output = command.output().unwrap();
    // Also of a machine that was late: the bounds here are of bytes, which that changes little.
    let parsed = serde_json::from_slice(&output.stdout);
    let mut report: Value = parsed.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    Some(report["policies"][0].take())
}

/// The bytes of the metered path, and those of both.
fn volumes(policy: &Value) -> [f64; 2] {
    let paths = policy["runs"][0]["paths"].as_array().unwrap();
    let directions = ["bytes_to_client", "bytes_to_server"];
    let bytes = |path: &Value| -> f64 {
        let of = directions.map(|direction| path[direction].as_f64().unwrap());
        of.iter().sum()
    };
    let [metered, all] = [bytes(&paths[1]), paths.iter().map(bytes).sum()];
    println!(
        "{metered} B of {all} B, {:.2} %, are on the metered path",
        metered / all * 100.0
    );
    [metered, all]
}

#[test]
fn a_metered_path_carries_little_while_the_free_one_suffices() {
    let Some(policy) = measured(&["path.0.link.0.loss=0.02"]) else {
        return;
    };
    let [metered, all] = volumes(&policy);
    assert!(metered < 0.02 * all, "{metered} of {all} B");
    assert!(metered > 0.0, "its heartbeats");
    assert!(all > 5e6, "{all} B");
}

#[test]
fn a_quota_is_used_where_the_free_path_does_not_suffice_and_never_exceeded() {
    let sets = [
        "path.0.link.0.rate=3 Mbit/s",
        "path.1.tariff={ cost = 1, quota = \"2 MB\" }",
    ];
    let Some(policy) = measured(&sets) else {
        return;
    };
    let [metered, all] = volumes(&policy);
    assert!(metered <= 2e6 * 1.001, "{metered} B");
    assert!(metered > 1e6, "{metered} of {all} B");
}
