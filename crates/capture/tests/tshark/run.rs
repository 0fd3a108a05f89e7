//! Runs networks and reads their captures with tshark.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::Command;

use polypath_capture::Capture;
use polypath_core::rng::Seed;
use polypath_scenario::Network;
use polypath_sim::{NetworkOutcome, run_network};
use tempfile::TempDir;

/// A run with its capture.
pub(crate) struct Captured {
    pub(crate) outcome: NetworkOutcome,
    file: PathBuf,
    /// The folder of the file, which is removed on drop.
    _folder: TempDir,
}

/// Runs `network` and captures the links of these names; nothing, and the reason on standard error,
/// without tshark.
pub(crate) fn captured(network: &str, links: &[&str]) -> Option<Captured> {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: there is no tshark to read captures with");
        return None;
    }
    let network = Network::parse(network, "test.toml", &[]).expect("it is valid");
    let seed = Seed(network.seed);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("test.pcapng");
    let writer = BufWriter::new(File::create(&file).expect("it can be written"));
    let links: Vec<String> = links.iter().map(ToString::to_string).collect();
    let mut capture = Capture::new(&network, seed, &links, writer).expect("links that there are");
    let outcome = run_network(&network, seed, &mut capture).expect("it runs");
    capture.finish().expect("it is written");
    Some(Captured {
        outcome,
        file,
        _folder: folder,
    })
}

impl Captured {
    /// The fields of every packet that matches `filter`, by their names; those that occur more than
    /// once are joined by commas.
    pub(crate) fn packets(&self, filter: &str, fields: &[&str]) -> Vec<BTreeMap<String, String>> {
        let checks = ["ip", "tcp", "udp"].map(|protocol| format!("{protocol}.check_checksum:TRUE"));
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&self.file);
        tshark.args(["-n", "-T", "fields", "-Y", filter]);
        for check in &checks {
            tshark.args(["-o", check]);
        }
        for field in fields {
            tshark.args(["-e", field]);
        }
        let output = tshark.output().expect("tshark runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let text = String::from_utf8(output.stdout).expect("it prints text");
        let row = |line: &str| {
            let values = line.split('\t').map(str::to_owned);
            fields.iter().map(ToString::to_string).zip(values).collect()
        };
        text.lines().map(row).collect()
    }

    /// The number of packets that match `filter`.
    pub(crate) fn count(&self, filter: &str) -> usize {
        self.packets(filter, &["frame.number"]).len()
    }
}
