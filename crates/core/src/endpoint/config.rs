//! What an end of the overlay is told before it begins, and what it says.

use crate::combine::{DetectorConfig, DetectorError};
use crate::frame::{Encapsulation, PathId};
use crate::liveness::{LivenessConfig, LivenessError};
use crate::policy::{PathSet, PolicyConfig, PolicyError};
use crate::rng::Seed;
use crate::time::Duration;

/// How an endpoint is set up; both ends of an overlay agree on all but the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EndpointConfig {
    /// The number of paths, 1 to [`PathSet::CAPACITY`].
    pub paths: u8,
    /// Which paths carry which packet.
    pub policy: PolicyConfig,
    /// What frames measure on the wire.
    pub encapsulation: Encapsulation,
    /// How many of the newest packets are remembered to recognise copies.
    pub window: u32,
    /// The sequence number of the first packet, usually 0. Whoever starts anew begins with it again, and the other end is told
    /// ([`Input::PeerRestarted`](crate::endpoint::Input)).
    pub first_sequence: u64,
    /// Probes and packet pairs.
    pub probing: ProbingConfig,
    /// The seed of the random streams of a policy that draws.
    #[cfg_attr(feature = "serde", serde(default))]
    pub seed: Seed,
    /// Whether packets are marked where copies mask congestion (diversity-routing paper, VI), and by what; only where both
    /// ends send every packet on every path.
    pub detector: Option<DetectorConfig>,
    /// How paths are watched, so that one that goes silent is left; without it every path is used always, as in
    /// the papers.
    pub liveness: Option<LivenessConfig>,
}

/// How paths are compared (PPD paper, 3.3 and 5.2).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct ProbingConfig {
    /// A probe's path wins if the data packet is later than this many times delta T behind the probe.
    pub threshold: f64,
    /// Packet pairs repeat at this interval while data flows.
    pub pair_interval: Duration,
    /// The larger packet of a pair imitates a packet of this many bytes.
    #[cfg_attr(
        feature = "serde",
        serde(with = "size"),
        schemars(with = "crate::units::Bytes")
    )]
    pub pair_len: u16,
}

impl Default for ProbingConfig {
    /// Twice delta T (PPD paper, 5.2), the paper's data packet of 1000 bytes, a pair a second.
    fn default() -> Self {
        Self {
            threshold: 2.0,
            pair_interval: Duration::from_secs(1),
            pair_len: 1000,
        }
    }
}

/// The length of a packet as sizes are written everywhere: `"1 kB"`.
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

/// The least length of a pair's larger packet in bytes: shorter ones hardly differ from a probe.
pub const MIN_PAIR_LEN: u16 = 100;

/// Why an endpoint cannot be set up like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The number of paths is out of range.
    #[error("an endpoint has 1 to {max} paths, not {0}", max = PathSet::CAPACITY)]
    Paths(u8),
    /// The policy names a path that is not there.
    #[error("the policy names path {named}, but the paths are 0 to {last}")]
    NoSuchPath {
        /// The path named.
        named: u8,
        /// The last path that there is.
        last: u8,
    },
    /// A parameter of the policy is out of range.
    #[error("policy: {0}")]
    Policy(#[from] PolicyError),
    /// The threshold is not a number of at least 0.
    #[error("the threshold must be a finite number of at least 0")]
    Threshold,
    /// Pairs must differ in size to measure anything.
    #[error("a pair of {0} B measures nothing: take at least {MIN_PAIR_LEN} B")]
    PairLen(u16),
    /// There is no such detector of congestion.
    #[error("detector: {0}")]
    Detector(#[from] DetectorError),
    /// A packet that was not sent on a path would count as lost there.
    #[error("a detector needs the policy duplicate-all, which sends every packet on every path")]
    DetectorWithoutCopies,
    /// Paths cannot be watched like this.
    #[error("liveness: {0}")]
    Liveness(#[from] LivenessError),
}

impl EndpointConfig {
    /// Whether an endpoint can be set up like this.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.paths == 0 || self.paths > PathSet::CAPACITY {
            return Err(ConfigError::Paths(self.paths));
        }
        if let Some(PathId(named)) = self.policy.named_path().filter(|p| p.0 >= self.paths) {
            return Err(ConfigError::NoSuchPath {
                named,
                last: self.paths - 1,
            });
        }
        self.policy.check()?;
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

/// What may change while an endpoint runs: policy, probing and the watch over its paths. Checked with the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Adjustment {
    pub(crate) policy: PolicyConfig,
    pub(crate) probing: ProbingConfig,
    pub(crate) liveness: Option<LivenessConfig>,
}

impl Adjustment {
    /// To what `config` says; the rest of it must be as the endpoint has it.
    ///
    /// # Errors
    /// Where the configuration contradicts itself.
    pub fn new(config: &EndpointConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            policy: config.policy,
            probing: config.probing,
            liveness: config.liveness,
        })
    }
}
