//! The command line of `polypath sim`.

mod common;
#[path = "common/demo.rs"]
mod demo;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{polypath, printed};
use demo::{demo, one_loaded_path};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Simulates a scenario with the report in `out`, and returns the report.
fn simulate(scenario: &Path, out: &Path, sets: &[&str]) -> Value {
    let mut command = polypath();
    command
        .arg("sim")
        .arg(scenario)
        .args(["--format", "json", "--out"])
        .arg(out);
    command.args(sets.iter().flat_map(|set| ["--set", set]));
    let output = command.output().expect("the program runs");
    serde_json::from_str(&printed(&output)).expect("the program prints JSON")
}

fn scheme<'a>(report: &'a Value, name: &str) -> &'a Value {
    let schemes = report["schemes"]
        .as_array()
        .expect("the report lists schemes");
    schemes
        .iter()
        .find(|s| s["name"] == name)
        .expect("the scheme was run")
}

fn seconds(report: &Value, name: &str) -> f64 {
    scheme(report, name)["transfer_s"]["mean"]
        .as_f64()
        .expect("the transfers ended")
}

#[test]
fn the_seed_determines_the_bytes_of_the_report() {
    let dir = tempfile::tempdir().unwrap();
    let run = |name: &str, seed: &str| {
        let out = dir.path().join(name);
        let mut command = polypath();
        command
            .arg("sim")
            .arg(demo())
            .args(["--seed", seed, "--set", "transfer.count=3"]);
        command.args(["--format", "json", "--out"]).arg(&out);
        let json = printed(&command.output().unwrap());
        let page = fs::read_to_string(out.join("report.html")).unwrap();
        (json, page)
    };
    let first = run("a", "1");
    assert_eq!(first, run("b", "1"));
    assert_ne!(first.0, run("c", "2").0);
}

#[test]
fn without_background_all_schemes_agree_within_5_percent() {
    let dir = tempfile::tempdir().unwrap();
    let report = simulate(&demo(), dir.path(), &["background=off", "transfer.count=3"]);
    let tcp = seconds(&report, "tcp");
    assert!(
        tcp > 1.0,
        "100 kB over 200 ms take several round trips, not {tcp} s"
    );
    for name in ["ppd-tcp1", "ppd-tcp2", "ppd-tcp3"] {
        let ratio = seconds(&report, name) / tcp;
        assert!(
            (ratio - 1.0).abs() < 0.05,
            "{name} took {ratio} times as long as tcp"
        );
    }
}

#[test]
fn probes_find_the_idle_path() {
    for loaded in [0, 1] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("one.toml");
        fs::write(&file, one_loaded_path(loaded)).unwrap();
        let report = simulate(&file, dir.path(), &["transfer.count=8"]);
        let other = ["path2", "path1"][loaded];
        assert_eq!(
            scheme(&report, "ppd-tcp3")["active_path"],
            other,
            "path {loaded} is loaded"
        );
    }
}

#[test]
fn a_path_that_goes_silent_during_a_transfer_does_not_stop_it() {
    let dir = tempfile::tempdir().unwrap();
    let silent = "path.0.link.0.outage=[{ from = \"20600 ms\" }]";
    let sets = [
        "background=off",
        "transfer.count=2",
        "transfer.timeout=\"20 s\"",
        silent,
    ];
    let report = simulate(&demo(), dir.path(), &sets);
    assert_eq!(
        scheme(&report, "tcp")["timed_out"],
        2,
        "plain TCP has no other path"
    );
    for name in ["ppd-tcp2", "ppd-tcp3"] {
        let scheme = scheme(&report, name);
        assert_eq!(
            (&scheme["timed_out"], &scheme["intact"]),
            (&0.into(), &true.into()),
            "{name}"
        );
    }
    assert_eq!(scheme(&report, "ppd-tcp3")["active_path"], "path2");
}

#[test]
fn input_errors_have_a_place_a_remedy_and_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(demo()).unwrap();
    let broken = text.replacen("delay = \"20 ms\"", "dealy = \"20 ms\"", 2);
    let file = dir.path().join("broken.toml");
    fs::write(&file, broken).unwrap();
    let line = text
        .lines()
        .position(|l| l.contains("delay = \"20 ms\""))
        .unwrap()
        + 1;
    let cases = [
        (
            file.clone(),
            "transfer.count=3",
            format!("broken.toml:{line}:"),
            "delay",
        ),
        (
            demo(),
            "transfer.count=0",
            "transfer.count=0".to_owned(),
            "1",
        ),
        (
            demo(),
            "path.0.background=havey",
            "havey".to_owned(),
            "heavy",
        ),
        (
            dir.path().join("none.toml"),
            "seed=1",
            "none.toml".to_owned(),
            "No such file",
        ),
    ];
    for (file, set, place, remedy) in cases {
        let output = polypath()
            .arg("sim")
            .arg(&file)
            .args(["--set", set])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(
            errors.contains(&place) && errors.contains(remedy),
            "{errors}"
        );
    }
}

#[test]
fn an_unwritable_folder_is_refused_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let output = polypath()
        .arg("sim")
        .arg(demo())
        .arg("--out")
        .arg(&file)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(
        errors.contains("--out") && output.stdout.is_empty(),
        "{errors}"
    );
}

#[test]
fn a_run_without_a_completed_transfer_fails_even_if_the_pipe_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let dead = [
        "path.0.link.0.loss=1.0",
        "path.1.link.0.loss=1.0",
        "background=off",
    ];
    let short = ["transfer.count=1", "transfer.timeout=2 s"];
    let mut command = polypath();
    command.arg("sim").arg(demo()).arg("--out").arg(dir.path());
    command.args(dead.iter().chain(&short).flat_map(|set| ["--set", set]));
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

/// Starts a simulation of several minutes with its folder in `dir`, and waits until the folder
/// exists.
fn long_simulation(dir: &Path) -> Child {
    let mut command = polypath();
    command.arg("sim").arg(demo()).current_dir(dir);
    command.args(["--set", "transfer.count=100000", "--out", "a/b"]);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    for _ in 0..600 {
        if dir.join("a/b").exists() {
            break;
        }
        sleep(Duration::from_millis(20));
    }
    child
}

#[test]
fn an_interrupt_ends_a_simulation_without_an_empty_folder() {
    let dir = tempfile::tempdir().unwrap();
    let child = long_simulation(dir.path());
    // The signal handlers are installed shortly after the folder is created.
    sleep(Duration::from_millis(500));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.ends_with("polypath: interrupted\n"), "{stderr}");
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_long_simulation_prints_progress_without_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = long_simulation(dir.path());
    let mut line = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("polypath: transfers: "), "{line}");
    assert!(line.ends_with(" s simulated\n"), "{line}");
}

#[test]
fn a_closed_standard_error_does_not_change_the_exit_code() {
    let mut command = polypath();
    let mut child = command
        .args(["sim", "no-such-file.toml"])
        .stdin(Stdio::null())
        .stderr(broken_pipe())
        .spawn()
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

/// The write end of a pipe whose read end is closed.
fn broken_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn each_error_line_has_the_program_s_name_and_no_control_characters() {
    let mut command = polypath();
    command.arg("sim").arg(demo());
    command.args(["--set", "seeed=1", "--set", "path.\u{1b}[2J.x=2"]);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(2), 2));
    assert!(
        stderr
            .lines()
            .all(|line| line.starts_with("polypath: --set"))
    );
    assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
}

#[test]
fn a_misspelt_command_suggests_the_nearest() {
    let output = polypath().arg("smi").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("'sim'"), "{stderr}");
}

#[test]
fn a_closed_pipe_is_not_an_error_of_a_schema() {
    let mut command = polypath();
    let mut child = command
        .args(["schema", "scenario"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), errors.as_ref()), (Some(0), ""));
}

#[test]
fn the_table_ends_with_the_report_s_path_and_the_help_explains_its_columns() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = polypath();
    command.arg("sim").arg(demo()).arg("--out").arg(dir.path());
    command.args(["--set", "background=off", "--set", "transfer.count=2"]);
    let table = printed(&command.output().unwrap());
    assert!(
        table.contains("n = 2 transfers a scheme of 100 kB, simulated;"),
        "{table}"
    );
    let last = format!("report: {}/report.html", dir.path().display());
    assert_eq!(table.lines().last(), Some(last.as_str()));
    let help = printed(&polypath().args(["sim", "--help"]).output().unwrap());
    for column in ["minus tcp", "pre-buffer", "harm", "load"] {
        assert!(
            table.contains(column) && help.contains(column),
            "{column}: {help}"
        );
    }
}

#[test]
fn schemas_are_json_with_the_keys() {
    for (file, key) in [("scenario", "transfer"), ("node", "peer")] {
        let schema = printed(&polypath().args(["schema", file]).output().unwrap());
        let schema: Value = serde_json::from_str(&schema).unwrap();
        assert!(schema["properties"].get(key).is_some(), "{file}: {schema}");
    }
}

#[test]
fn a_private_key_is_created_once_and_its_public_key_printed_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("node.key");
    let created = printed(&polypath().arg("key").arg(&file).output().unwrap());
    let shown = printed(
        &polypath()
            .args(["key", "--public"])
            .arg(&file)
            .output()
            .unwrap(),
    );
    assert_eq!(created, shown);
    let again = polypath().arg("key").arg(&file).output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert_eq!(
        printed(
            &polypath()
                .args(["key", "--public"])
                .arg(&file)
                .output()
                .unwrap()
        ),
        created
    );
}

#[test]
fn invalid_numbers_are_refused_with_their_range() {
    for (option, value, range) in [
        ("--seed", "abc", "from 0 to 18446744073709551615"),
        ("--seed", "-1", "from 0 to 18446744073709551615"),
        ("--replicas", "0", "from 1 to 100000"),
        ("--jobs", "2000", "from 1 to 1024"),
        ("--seconds", "1.5", "from 1 to 4294967295"),
    ] {
        let output = polypath()
            .args(["sim", "x.toml", option, value])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        let wanted =
            format!("invalid value '{value}' for '{option} <N>': use a whole number {range}");
        assert!(stderr.contains(&wanted), "{stderr}");
    }
}

#[test]
fn a_repeated_set_is_refused_with_both_values() {
    let mut command = polypath();
    command.arg("sim").arg(demo());
    command.args(["--set", "transfer.count=3", "--set", "transfer.count=4"]);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("`transfer.count` is set twice: to `4` here, and to `3` by "),
        "{stderr}"
    );
}
