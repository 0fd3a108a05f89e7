//! The scenarios of the tests, and their runs.

use std::io::Write;
use std::path::PathBuf;

use polypath_core::rng::Seed;
use polypath_document::Override;
use polypath_lab::{Lab, LabOptions, can_test};
use polypath_report::ExperimentRecord;
use polypath_scenario::Scenario;
use tempfile::TempDir;

/// Two paths without background traffic, with a one-way delay of 10 ms and rates that build up no
/// queue.
pub(crate) const CALM: &str = r#"
schema = 1
name = "calm"
schemes = ["tcp", "ppd-tcp1", "ppd-tcp2", "ppd-tcp3"]
[transfer]
size = "100 kB"
count = 5
gap = "100 ms"
timeout = "10 s"
warm_up = "0 s"
[tcp]
receiver_window = 1000
[[path]]
name = "path1"
link = [{ repeat = 2, rate = "100 Mbit/s", delay = "5 ms", queue = "200 packets" }]
[[path]]
name = "path2"
link = [{ repeat = 2, rate = "100 Mbit/s", delay = "5 ms", queue = "200 packets" }]
"#;

/// The program under test.
pub(crate) fn polypath() -> PathBuf {
    env!("CARGO_BIN_EXE_polypath").into()
}

/// The scenario `text` with overrides `settings` (`KEY=VALUE`).
pub(crate) fn scenario(text: &str, settings: &[&str]) -> Scenario {
    let overrides: Vec<Override> = settings.iter().map(|s| s.parse().unwrap()).collect();
    Scenario::parse(text, "test.toml", &overrides).unwrap()
}

/// Sets up a lab of the scenario; none if no lab can run.
pub(crate) fn set_up(scenario: &Scenario) -> Option<Lab> {
    set_up_keeping(scenario, None)
}

fn set_up_keeping(scenario: &Scenario, keep: Option<PathBuf>) -> Option<Lab> {
    let options = LabOptions {
        node_binary: polypath(),
        transfer_file: None,
        keep,
    };
    can_test().then(|| Lab::set_up(scenario, Seed(1), &options).unwrap())
}

/// Runs the scenario, a second time if the emulation exceeds its bound on lateness; returns the
/// record, and the result of `then` after the transfers. None, with the reason on standard error,
/// if no lab can run or the machine is too busy to measure times.
pub(crate) fn timely<T>(
    scenario: &Scenario,
    then: impl Fn(&Lab) -> T,
) -> Option<(ExperimentRecord, T)> {
    let (experiment, result, _) = timely_keeping(scenario, then)?;
    Some((experiment, result))
}

/// Like [`timely`]; also returns the directory of the lab's files.
pub(crate) fn timely_keeping<T>(
    scenario: &Scenario,
    then: impl Fn(&Lab) -> T,
) -> Option<(ExperimentRecord, T, TempDir)> {
    for _ in 0..2 {
        let files = tempfile::tempdir().unwrap();
        let mut lab = set_up_keeping(scenario, Some(files.path().to_owned()))?;
        lab.transfer(&mut |_| {}).unwrap();
        let result = then(&lab);
        let experiment = lab.finish().unwrap();
        if experiment.lateness.is_some_and(|l| l.valid()) {
            return Some((experiment, result, files));
        }
    }
    let _ = writeln!(
        std::io::stderr(),
        "skipped: the emulation of {} exceeded its bound on lateness twice",
        scenario.name
    );
    None
}
