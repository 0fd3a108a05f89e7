//! What the tests run, and how.

use std::io::Write;
use std::path::PathBuf;

use polypath_core::rng::Seed;
use polypath_document::Override;
use polypath_lab::{Lab, LabOptions, can_test};
use polypath_report::Experiment;
use polypath_scenario::Scenario;
use tempfile::TempDir;

/// Two paths without background, of 10 ms each way, and so fast that no queue builds up.
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

/// The scenario `text` with `settings` (`KEY=VALUE`).
pub(crate) fn scenario(text: &str, settings: &[&str]) -> Scenario {
    let overrides: Vec<Override> = settings.iter().map(|s| s.parse().unwrap()).collect();
    Scenario::parse(text, "test.toml", &overrides).unwrap()
}

/// A standing lab of the scenario, or none where no lab can run.
pub(crate) fn stand(scenario: &Scenario) -> Option<Lab> {
    stand_keeping(scenario, None)
}

fn stand_keeping(scenario: &Scenario, keep: Option<PathBuf>) -> Option<Lab> {
    let options = LabOptions {
        node_binary: polypath(),
        transfer_file: None,
        keep,
    };
    can_test().then(|| Lab::set_up(scenario, Seed(1), &options).unwrap())
}

/// The record of a run of the scenario in which the emulation kept its bound, at the second attempt
/// if need be, and what `then` made of the lab after its transfers; or none, with the reason on
/// standard error, where no lab can run or the machine is too busy to tell anything about times.
pub(crate) fn timely<T>(scenario: &Scenario, then: impl Fn(&Lab) -> T) -> Option<(Experiment, T)> {
    let (experiment, made, _) = timely_keeping(scenario, then)?;
    Some((experiment, made))
}

/// Like [`timely`], with the lab's files besides.
pub(crate) fn timely_keeping<T>(
    scenario: &Scenario,
    then: impl Fn(&Lab) -> T,
) -> Option<(Experiment, T, TempDir)> {
    for _ in 0..2 {
        let files = tempfile::tempdir().unwrap();
        let mut lab = stand_keeping(scenario, Some(files.path().to_owned()))?;
        lab.transfer(&mut |_| {}).unwrap();
        let made = then(&lab);
        let experiment = lab.finish().unwrap();
        if experiment.lateness.is_some_and(|l| l.valid()) {
            return Some((experiment, made, files));
        }
    }
    let _ = writeln!(
        std::io::stderr(),
        "skipped: the emulation of {} was too late twice",
        scenario.name
    );
    None
}
