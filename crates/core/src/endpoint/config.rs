//! The configuration of an endpoint.

use alloc::boxed::Box;

use crate::class::{ClassError, Classes};
use crate::combine::{DetectorConfig, DetectorError};
use crate::frame::Encapsulation;
use crate::liveness::{LivenessConfig, LivenessError};
use crate::policy::{PathSet, PolicyConfig, PolicyError};
use crate::rng::Seed;
use crate::spacing::{SpacingConfig, SpacingError};
use crate::tariff::{TariffError, Tariffs};
use crate::time::Duration;

/// The configuration of an endpoint. Both endpoints of an overlay agree on all of it except the
/// policy.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EndpointConfig {
    /// The number of paths, 1 to [`PathSet::CAPACITY`].
    pub paths: u8,
    /// The policy that selects the paths of each packet.
    pub policy: PolicyConfig,
    /// The sizes of frames on the wire.
    pub encapsulation: Encapsulation,
    /// The number of sequence numbers that are remembered to detect duplicates.
    pub window: u32,
    /// The sequence number of the first packet, usually 0. After a restart it is used again, and
    /// the peer gets [`Input::PeerRestarted`](crate::endpoint::Input).
    pub first_sequence: u64,
    /// Probes and packet pairs.
    pub probing: ProbingConfig,
    /// The seed of the random streams of a policy that draws.
    #[cfg_attr(feature = "serde", serde(default))]
    pub seed: Seed,
    /// The detector that marks packets when copies mask congestion (diversity-routing paper, VI);
    /// requires that both endpoints send every packet on every path. `None` for that of the
    /// policy, if it has one.
    pub detector: Option<DetectorConfig>,
    /// The monitoring of paths, which avoids silent ones; `None` always uses every path, as in the
    /// papers.
    pub liveness: Option<LivenessConfig>,
    /// The cost of each path, and the limits of what it carries.
    #[cfg_attr(feature = "serde", serde(default))]
    pub tariffs: Tariffs,
    /// The classes of packets. Both endpoints should have the same: the sender treats a packet by
    /// its classes, and the receiver puts it in order by its own.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Classes::is_empty")
    )]
    pub classes: Classes,
    /// The spacing of the packets that this endpoint sends ([`crate::spacing`]); `None` sends each at
    /// once.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub spacing: Option<SpacingConfig>,
}

/// The comparison of paths (PPD paper, 3.3 and 5.2).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct ProbingConfig {
    /// The path of a probe wins if the data packet arrives more than this many times delta T after
    /// the probe.
    pub threshold: f64,
    /// Packet pairs repeat at this interval while data flows.
    pub pair_interval: Duration,
    /// The length of the packet that the larger packet of a pair imitates, in bytes.
    #[cfg_attr(
        feature = "serde",
        serde(with = "size"),
        schemars(with = "crate::units::Bytes")
    )]
    pub pair_len: u16,
}

impl Default for ProbingConfig {
    /// Twice delta T (PPD paper, 5.2), the paper's data packet of 1000 bytes, and one pair per
    /// second.
    fn default() -> Self {
        Self {
            threshold: 2.0,
            pair_interval: Duration::from_secs(1),
            pair_len: 1000,
        }
    }
}

/// The length of a packet in the notation of sizes: `"1 kB"`.
#[cfg(feature = "serde")]
mod size {
    use crate::units::Bytes;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a field by reference"
    )]
    pub(super) fn serialize<S: Serializer>(len: &u16, serializer: S) -> Result<S::Ok, S::Error> {
        Bytes(u64::from(*len)).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
        let size = Bytes::deserialize(deserializer)?;
        u16::try_from(size.0)
            .map_err(|_| D::Error::custom(format_args!("no packet is as long as {size}")))
    }
}

/// The minimum length of a pair's larger packet in bytes: a shorter one hardly differs from a
/// probe.
pub const MIN_PAIR_LEN: u16 = 100;

/// The error of an invalid endpoint configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The number of paths is out of range.
    #[error("an endpoint has 1 to {max} paths, not {0}", max = PathSet::CAPACITY)]
    Paths(u8),
    /// A parameter of the policy is out of range.
    #[error("policy: {0}")]
    Policy(#[from] PolicyError),
    /// The threshold is not a number of at least 0.
    #[error("the threshold must be a finite number of at least 0")]
    Threshold,
    /// Pairs must differ in size to measure anything.
    #[error("a pair of {0} B measures nothing: take at least {MIN_PAIR_LEN} B")]
    PairLen(u16),
    /// The configuration of the detector is invalid.
    #[error("detector: {0}")]
    Detector(#[from] DetectorError),
    /// A packet that is not sent on a path would count as lost there.
    #[error(
        "a detector needs a policy that sends every packet on every path, as duplicate-all does"
    )]
    DetectorWithoutCopies,
    /// The policy needs heartbeats that measure the paths.
    #[error("the policy leaves a path by its losses or delay, which needs liveness detection")]
    PolicyWithoutLiveness,
    /// A class is invalid.
    #[error("{key}: {0}", key = .0.key())]
    Class(#[from] ClassError),
    /// The configuration of the liveness monitor is invalid.
    #[error("liveness: {0}")]
    Liveness(#[from] LivenessError),
    /// A tariff is invalid.
    #[error("the tariff of path {0}: {1}")]
    Tariff(usize, TariffError),
    /// The spacing of packets is invalid.
    #[error("spacing: {0}")]
    Spacing(#[from] SpacingError),
}

impl EndpointConfig {
    /// The detector of congestion, if there is one. With one path, copies mask nothing for that of
    /// the policy to find.
    pub(super) fn detector(&self) -> Option<DetectorConfig> {
        let of_policy = || self.policy.detector().filter(|_| self.paths > 1);
        self.detector.or_else(of_policy)
    }

    /// Checks the configuration.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.paths == 0 || self.paths > PathSet::CAPACITY {
            return Err(ConfigError::Paths(self.paths));
        }
        self.policy.check(usize::from(self.paths))?;
        if self.policy.needs_liveness() && self.liveness.is_none() {
            return Err(ConfigError::PolicyWithoutLiveness);
        }
        self.classes.check()?;
        self.spacing.iter().try_for_each(SpacingConfig::check)?;
        let threshold = self.probing.threshold;
        if !threshold.is_finite() || threshold < 0.0 {
            return Err(ConfigError::Threshold);
        }
        if self.probing.pair_len < MIN_PAIR_LEN {
            return Err(ConfigError::PairLen(self.probing.pair_len));
        }
        if let Some(detector) = &self.detector {
            detector.check()?;
            if !self.policy.copies_all() && self.paths > 1 {
                return Err(ConfigError::DetectorWithoutCopies);
            }
        }
        if let Err((path, error)) = self.tariffs.check() {
            return Err(ConfigError::Tariff(path, error));
        }
        if let Some(problem) = self
            .liveness
            .iter()
            .flat_map(LivenessConfig::problems)
            .next()
        {
            return Err(problem.into());
        }
        Ok(())
    }
}

/// The settings that may change while an endpoint runs: policy, probing, liveness, tariffs, classes
/// and spacing. They are checked.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Adjustment {
    pub(crate) policy: PolicyConfig,
    pub(crate) probing: ProbingConfig,
    pub(crate) liveness: Option<LivenessConfig>,
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) tariffs: Tariffs,
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Classes::is_empty")
    )]
    pub(crate) classes: Classes,
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub(crate) spacing: Option<SpacingConfig>,
}

impl Adjustment {
    /// The adjustable settings of `config`; its other settings must be those of the running
    /// endpoint. They are boxed, since every packet moves as large an input as the largest.
    ///
    /// # Errors
    /// If the configuration is invalid.
    pub fn new(config: &EndpointConfig) -> Result<Box<Self>, ConfigError> {
        config.check()?;
        Ok(Box::new(Self {
            policy: config.policy,
            probing: config.probing,
            liveness: config.liveness,
            tariffs: config.tariffs.clone(),
            classes: config.classes.clone(),
            spacing: config.spacing,
        }))
    }

    /// The cost of each path, and the limits of what it carries.
    #[must_use]
    pub const fn tariffs(&self) -> &Tariffs {
        &self.tariffs
    }
}
