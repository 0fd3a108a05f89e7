//! A scenario file with a media stream in place of transfers.

use polypath_core::class::Classes;
use polypath_core::endpoint::{EndpointConfig, ProbingConfig};
use polypath_core::frame::OVER_IPV4;
use polypath_core::liveness::LivenessSetting;
use polypath_core::policy::PolicyConfig;
use polypath_core::spacing::SpacingConfig;
use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::background::Background;
use crate::check::check_media;
use crate::endpoint::{DEPLOYED_FRAMES, deployed_endpoint};
use crate::loaded_paths::LoadedPaths;
use crate::notation::NOTATIONS;
use crate::path::Path;
use crate::sweep::Sweep;
use crate::tcp::Tcp;
use crate::trace::{Files, TraceReader, no_files};
use polypath_document::{Document, Errors, Notation, Override, read_completed};

/// The headers of IPv4 and UDP around the payload of a packet.
pub const MEDIA_HEADERS: Bytes = Bytes(OVER_IPV4 as u64);

/// One experiment: a media stream from a server to a client over paths, once per policy and run.
///
/// It has more than ten fields, since each is a key or table at the top level of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaScenario {
    /// The version of the file format: 1.
    pub schema: u32,
    /// A short name, for file names: letters, digits, `-` and `_`.
    pub name: String,
    /// A description in one line.
    #[serde(default)]
    pub title: String,
    /// The root seed: the same seed gives the same runs.
    #[serde(default = "default_seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// The measured stream.
    pub media: Media,
    /// Liveness detection of paths by heartbeats, as in the file of a node. With `"off"` every path
    /// is always used.
    #[serde(default)]
    pub liveness: LivenessSetting,
    /// The comparison of paths, under a policy that probes, as in the file of a node.
    #[serde(default)]
    pub probing: ProbingConfig,
    /// The classes of packets under the policy `in-time`, as in the file of a node. Simulated
    /// packets have no ports.
    #[serde(default, rename = "class", skip_serializing_if = "Classes::is_empty")]
    pub classes: Classes,
    /// TCP of the background hosts.
    #[serde(default)]
    pub tcp: Tcp,
    /// The traffic that loads the paths: `"off"`, or named profiles.
    #[serde(default)]
    pub background: Background,
    /// The paths between server and client, in the order of their numbers.
    #[serde(rename = "path")]
    pub paths: Vec<Path>,
    /// Parameters to vary; not available for media streams.
    #[serde(default, skip_serializing)]
    pub sweep: Sweep,
}

/// A one-way stream of datagrams at a constant rate, or in bursts at equal intervals, from server to
/// client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Media {
    /// The rate of the payload, without headers: `"5 Mbit/s"`.
    pub rate: Rate,
    /// The payload of a packet; 28 bytes of IPv4 and UDP headers are added to it: `"1316 B"`.
    pub packet: Bytes,
    /// The time for which packets are sent.
    pub duration: Duration,
    /// The interval at which the packets of an interval are sent at once, as an encoder sends a
    /// picture: `"40 ms"`. By default each packet has a time of its own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub burst: Duration,
    /// The one-way delays above which a packet is late, in ascending order.
    #[serde(default = "default_deadlines")]
    pub deadlines: Vec<Duration>,
    /// The compared policies, each over its own copy of the network: tables as a node's file has
    /// one under `policy`, or `{ name = "...", policy = { ... } }`.
    pub policies: Vec<MediaPolicy>,
    /// The number of runs of each policy. Each has a seed of its own, the same for all policies.
    #[serde(default = "default_runs")]
    #[schemars(range(min = 1, max = 10_000))]
    pub runs: u32,
    /// The time before the first packet, in which background traffic and heartbeats run.
    #[serde(default = "default_warm_up")]
    pub warm_up: Duration,
    /// Each run starts its stream at a random time within this span after the warm-up, so that
    /// scheduled outages meet the runs at different phases.
    #[serde(default)]
    pub start_spread: Duration,
}

/// A policy of both endpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MediaPolicy {
    /// Under a name of its own, so that settings of one policy can be compared.
    Named(NamedPolicy),
    /// Under the name of its kind.
    Policy(PolicyConfig),
}

/// A policy with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedPolicy {
    /// The name in reports: letters, digits, `-` and `_`.
    pub name: String,
    /// The policy with its parameters.
    pub policy: PolicyConfig,
    /// The spacing of the packets that each endpoint sends, as in the file of a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<SpacingConfig>,
}

/// The treatment of the packets of a stream by both endpoints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaTreatment {
    /// The policy.
    pub policy: PolicyConfig,
    /// The spacing of packets, if they are spaced.
    pub spacing: Option<SpacingConfig>,
}

impl From<PolicyConfig> for MediaTreatment {
    fn from(policy: PolicyConfig) -> Self {
        Self {
            policy,
            spacing: None,
        }
    }
}

impl MediaPolicy {
    /// The name in reports.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Named(named) => &named.name,
            Self::Policy(policy) => policy.name(),
        }
    }

    /// The policy with its parameters.
    #[must_use]
    pub const fn config(&self) -> PolicyConfig {
        match self {
            Self::Named(named) => named.policy,
            Self::Policy(policy) => *policy,
        }
    }

    /// The policy, and the spacing of packets.
    #[must_use]
    pub const fn treatment(&self) -> MediaTreatment {
        MediaTreatment {
            policy: self.config(),
            spacing: match self {
                Self::Named(named) => named.spacing,
                Self::Policy(_) => None,
            },
        }
    }
}

impl Document for MediaScenario {
    const NOTATIONS: &'static [Notation] = NOTATIONS;
}

impl<'a> From<&'a MediaScenario> for LoadedPaths<'a> {
    fn from(scenario: &'a MediaScenario) -> Self {
        Self {
            paths: &scenario.paths,
            background: &scenario.background,
            tcp: &scenario.tcp,
        }
    }
}

impl Media {
    /// The number of packets: those that are sent before the end of the duration.
    #[must_use]
    pub fn packets(&self) -> u64 {
        // Packet n is sent after n times the payload at the rate.
        let bits = u128::from(self.rate.0) * u128::from(self.duration.as_nanos());
        let packet = u128::from(self.packet.0.max(1)) * 8 * NANOS_PER_SECOND;
        u64::try_from(bits.div_ceil(packet)).unwrap_or(u64::MAX)
    }

    /// The time from the start of the stream to packet `number`, from 0; rounded down, also to the
    /// beginning of its burst.
    #[must_use]
    pub fn offset(&self, number: u64) -> Duration {
        let bits = u128::from(number) * u128::from(self.packet.0) * 8 * NANOS_PER_SECOND;
        let nanos = bits.checked_div(self.rate.0.into()).unwrap_or(u128::MAX);
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        Duration(nanos - nanos.checked_rem(self.burst.0).unwrap_or(0))
    }

    /// The length of the IP packets.
    #[must_use]
    pub const fn packet_len(&self) -> Bytes {
        Bytes(self.packet.0.saturating_add(MEDIA_HEADERS.0))
    }

    /// The longest deadline; 0 without one.
    #[must_use]
    pub fn longest_deadline(&self) -> Duration {
        self.deadlines.iter().copied().max().unwrap_or_default()
    }
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;

impl MediaScenario {
    /// Reads a scenario from the text of a file, with overrides (`--set`) applied.
    ///
    /// # Errors
    /// All problems at once, each with its line and the remedy.
    pub fn parse(text: &str, file_name: &str, overrides: &[Override]) -> Result<Self, Errors> {
        Self::parse_with(text, file_name, overrides, &mut no_files)
    }

    /// Reads a scenario like [`MediaScenario::parse`]; `files` returns the files that it names
    /// (`trace`).
    ///
    /// # Errors
    /// All problems at once, including those of the files, each with its line and the remedy.
    pub fn parse_with(
        text: &str,
        file_name: &str,
        overrides: &[Override],
        files: &mut Files<'_>,
    ) -> Result<Self, Errors> {
        let complete = |scenario: &mut Self, problems: &mut _| {
            check_media(scenario, problems);
            TraceReader::new(files).fill_paths(&mut scenario.paths, problems);
        };
        read_completed(text, file_name, overrides, complete).map(|(scenario, _)| scenario)
    }

    /// The JSON schema of the file, for editors.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(MediaScenario).to_value()
    }

    /// The configuration of both endpoints with a treatment: that of deployed nodes over IPv4.
    #[must_use]
    pub fn endpoint(&self, treatment: impl Into<MediaTreatment>) -> EndpointConfig {
        let MediaTreatment { policy, spacing } = treatment.into();
        EndpointConfig {
            spacing,
            probing: self.probing,
            liveness: self.liveness.config(),
            tariffs: self.paths.iter().map(|path| path.tariff).collect(),
            classes: self.classes.clone(),
            ..deployed_endpoint(self.paths.len(), policy)
        }
    }

    /// The bytes that a frame adds to a packet on the wire.
    #[must_use]
    pub const fn frame_overhead(&self) -> Bytes {
        Bytes(DEPLOYED_FRAMES.data as u64)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a field by reference"
)]
fn is_zero(span: &Duration) -> bool {
    *span == Duration::ZERO
}

fn default_seed() -> u64 {
    1
}

fn default_deadlines() -> Vec<Duration> {
    [100, 200, 400].map(Duration::from_millis).into()
}

fn default_runs() -> u32 {
    10
}

fn default_warm_up() -> Duration {
    Duration::from_secs(1)
}

#[cfg(test)]
mod tests;
