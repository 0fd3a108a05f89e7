//! A scenario file with its measured transfer.

use polypath_core::class::Classes;
use polypath_core::policy::PolicyConfig;
use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::background::{Background, Profile};
use crate::check::check;
use crate::loaded_paths::LoadedPaths;
use crate::notation::NOTATIONS;
use crate::path::Path;
use crate::settings::{Lab, Overlay};
use crate::sweep::Sweep;
use crate::tcp::Tcp;
use crate::trace::{Files, TraceReader, no_files};
use polypath_document::{Document, Errors, Notation, Override, read_completed};

/// The version of the scenario file format that this program reads.
pub const SCHEMA_VERSION: u32 = 1;

/// One experiment: transfers from a server to a client over paths under load, once per scheme.
///
/// It has more than ten fields, since each is a key or table at the top level of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The version of the file format: 1.
    pub schema: u32,
    /// A short name, for file names: letters, digits, `-` and `_`.
    pub name: String,
    /// A description in one line.
    #[serde(default)]
    pub title: String,
    /// The root seed: the same seed gives the same run.
    #[serde(default = "default_seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// The compared schemes, each over its own copy of the network with the same background; the
    /// file of a node names their policies (`single-path`, `duplicate-acks`, `duplicate-all`,
    /// `probe-and-switch`).
    pub schemes: Vec<Scheme>,
    /// The measured transfer, or a `[media]` table instead.
    pub transfer: Transfer,
    /// The simulated end hosts.
    #[serde(default)]
    pub tcp: Tcp,
    /// The endpoints of the multipath overlay.
    #[serde(default)]
    pub overlay: Overlay,
    /// The classes of packets under the policy `in-time`, as in the file of a node. Simulated
    /// packets have no ports.
    #[serde(default, rename = "class", skip_serializing_if = "Classes::is_empty")]
    pub classes: Classes,
    /// The traffic that loads the paths: `"off"`, or named profiles.
    #[serde(default)]
    pub background: Background,
    /// The paths between server and client, in the order of their numbers.
    #[serde(rename = "path")]
    pub paths: Vec<Path>,
    /// The settings of the lab.
    #[serde(default)]
    pub lab: Lab,
    /// Parameters to vary: every combination is a run.
    #[serde(default, skip_serializing)]
    pub sweep: Sweep,
}

/// The scheme that carries the transfer, with the names of the PPD paper (section 3).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Scheme {
    /// Plain TCP over the first path: policy `single-path`.
    #[serde(rename = "tcp")]
    Tcp,
    /// Data on one path, ACKs duplicated on all paths: policy `duplicate-acks`.
    #[serde(rename = "ppd-tcp1")]
    PpdTcp1,
    /// Data and ACKs duplicated on all paths: policy `duplicate-all`.
    #[serde(rename = "ppd-tcp2")]
    PpdTcp2,
    /// Data on the active path, ACKs duplicated, and probes on the other paths that select the
    /// active one: policy `probe-and-switch`.
    #[serde(rename = "ppd-tcp3")]
    PpdTcp3,
    /// Any policy, with the table that a node's file has under `policy`.
    #[serde(untagged)]
    Policy(PolicyConfig),
}

/// The measured transfers from server to client, one after another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// The size of one transfer, such as `"100 kB"`.
    pub size: Bytes,
    /// The number of transfers (rounds).
    #[schemars(range(min = 1, max = 100_000))]
    pub count: u32,
    /// The pause between two rounds: a round starts in all schemes at once, this long after the
    /// slowest scheme has finished the previous one.
    #[serde(default = "default_gap")]
    pub gap: Duration,
    /// The time after which a transfer counts as failed.
    #[serde(default = "default_timeout")]
    pub timeout: Duration,
    /// The time for which only the background runs, before the first transfer.
    #[serde(default = "default_warm_up")]
    pub warm_up: Duration,
    /// The receiver window of the measured transfers in segments; by default `tcp.receiver_window`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub receiver_window: Option<u32>,
}

impl Document for Scenario {
    const NOTATIONS: &'static [Notation] = NOTATIONS;
}

impl Scenario {
    /// Reads a scenario from the text of a file, with overrides (`--set`) applied.
    ///
    /// # Errors
    /// All problems at once, each with its line and the remedy.
    pub fn parse(text: &str, file_name: &str, overrides: &[Override]) -> Result<Scenario, Errors> {
        Self::parse_with(text, file_name, overrides, &mut no_files)
    }

    /// Reads a scenario like [`Scenario::parse`]; `files` returns the files that it names
    /// (`trace`).
    ///
    /// # Errors
    /// All problems at once, including those of the files, each with its line and the remedy.
    pub fn parse_with(
        text: &str,
        file_name: &str,
        overrides: &[Override],
        files: &mut Files<'_>,
    ) -> Result<Scenario, Errors> {
        let complete = |scenario: &mut Scenario, problems: &mut _| {
            check(scenario, problems);
            TraceReader::new(files).fill_paths(&mut scenario.paths, problems);
        };
        read_completed(text, file_name, overrides, complete).map(|(scenario, _)| scenario)
    }

    /// The JSON schema of the file, for editors.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Scenario).to_value()
    }

    /// The background profile of a path, if it carries background traffic.
    #[must_use]
    pub fn profile(&self, path: &Path) -> Option<&Profile> {
        LoadedPaths::from(self).profile(path)
    }

    /// The background profile of the sources of a path that send towards the server, if it carries
    /// background traffic.
    #[must_use]
    pub fn profile_back(&self, path: &Path) -> Option<&Profile> {
        LoadedPaths::from(self).profile_back(path)
    }

    /// The receiver window of the foreground transfers, in segments.
    #[must_use]
    pub fn foreground_window(&self) -> u32 {
        self.transfer
            .receiver_window
            .unwrap_or(self.tcp.receiver_window)
    }
}

impl<'a> From<&'a Scenario> for LoadedPaths<'a> {
    fn from(scenario: &'a Scenario) -> Self {
        Self {
            paths: &scenario.paths,
            background: &scenario.background,
            tcp: &scenario.tcp,
        }
    }
}

impl Scheme {
    /// The schemes of the paper, in its order.
    pub const ALL: [Scheme; 4] = [
        Scheme::Tcp,
        Scheme::PpdTcp1,
        Scheme::PpdTcp2,
        Scheme::PpdTcp3,
    ];

    /// The name in files and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::Tcp => "tcp",
            Scheme::PpdTcp1 => "ppd-tcp1",
            Scheme::PpdTcp2 => "ppd-tcp2",
            Scheme::PpdTcp3 => "ppd-tcp3",
            Scheme::Policy(policy) => policy.name(),
        }
    }

    /// The policy of both endpoints; data starts on the first path.
    #[must_use]
    pub const fn policy(self) -> PolicyConfig {
        match self {
            Scheme::Tcp => PolicyConfig::single_path(0),
            Scheme::PpdTcp1 => PolicyConfig::DuplicateAcks { path: 0 },
            Scheme::PpdTcp2 => PolicyConfig::DuplicateAll {},
            Scheme::PpdTcp3 => PolicyConfig::probe_and_switch(0),
            Scheme::Policy(policy) => policy,
        }
    }
}

impl core::fmt::Display for Scheme {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

fn default_seed() -> u64 {
    1
}

fn default_gap() -> Duration {
    Duration::from_millis(500)
}

fn default_timeout() -> Duration {
    Duration::from_secs(120)
}

fn default_warm_up() -> Duration {
    Duration::from_secs(20)
}

#[cfg(test)]
mod tests;
