//! Policies: which paths carry a packet, as a full copy, a fragment or a probe.
//!
//! A policy sees the kind of a packet ([`PacketMeta`](crate::packet::PacketMeta)), never its
//! content, and answers with a [`Plan`]. A policy that acts over time has a deadline, and answers
//! feedback with [`Action`]s. All policies are written for n paths; the papers use two.
//!
//! A new policy is a file in this folder and a variant of [`PolicyConfig`]: files and statistics
//! use its name from there, and other code asks for its [`PolicyProperties`].

mod context;
pub mod delay_centric;
mod diversity;
mod duplicate;
mod in_time;
mod path_policy;
mod path_set;
mod probe_and_switch;
mod round_robin;
mod single_path;

pub use context::{CopiedPackets, PolicyContext, PolicyProperties};
pub use delay_centric::{
    DelayCentric, DelayCentricConfig, GrowthConfig, PredictiveConfig, ReactiveConfig,
};
pub use diversity::{Diversity, DiversityConfig, DiversityError, DiversitySignature};
pub use duplicate::{DuplicateAcks, DuplicateAll};
pub use in_time::InTime;
pub use path_policy::{
    Action, Feedback, FlowPath, GuardTime, MeasuredRtt, PathPolicy, Paths, Plan,
};
pub use path_set::{Members, PathSet};
pub use probe_and_switch::ProbeAndSwitch;
pub use round_robin::{RoundRobin, Weights, WeightsError};
pub use single_path::{LeaveConfig, LeaveError, SinglePath};

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use crate::combine::DetectorConfig;
use crate::frame::PathId;
use crate::order::Order;
use crate::packet::Kind;
use crate::repair::{RepairConfig, RepairError};
use delay_centric::{DelayCentricConfig as Delay, DelayCentricError};

/// The policies with their parameters, as in scenario and node files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(
    feature = "serde",
    serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum PolicyConfig {
    /// Everything on one path: plain tunnelling, the papers' baseline.
    SinglePath {
        /// The position of the path in the file, from 0.
        #[cfg_attr(feature = "serde", serde(default))]
        path: u8,
        /// The loss and delay at which the path is left for a better one; by default it is left
        /// only when it is silent. Needs liveness detection.
        #[cfg_attr(
            feature = "serde",
            serde(default, skip_serializing_if = "Option::is_none")
        )]
        leave: Option<LeaveConfig>,
    },
    /// Pure ACKs and control segments on all paths, data on one (PPD-TCP1, PPD paper 3.1).
    DuplicateAcks {
        /// The position in the file of the path that carries data, from 0.
        #[cfg_attr(feature = "serde", serde(default))]
        path: u8,
    },
    /// Everything on all paths (PPD-TCP2, PPD paper 3.2).
    DuplicateAll {},
    /// Everything on all paths, as copies or fragments; on packets of the peer, which has this
    /// policy too, this end signals the congestion that they mask (diversity-routing paper, VI).
    Diversity(DiversityConfig),
    /// Pure ACKs and control segments on all paths, data on the active path, probes on the others,
    /// and a switch where a probe wins (PPD-TCP3, PPD paper 3.3).
    ProbeAndSwitch {
        /// The position in the file of the path that is active first, from 0.
        #[cfg_attr(feature = "serde", serde(default))]
        path: u8,
        /// Whether this end requests a switch only after a lasting lead of another path, instead of
        /// after one probe that wins. By default it does in nodes, and does not in scenarios, as in
        /// the paper.
        #[cfg_attr(
            feature = "serde",
            serde(default, skip_serializing_if = "Option::is_none")
        )]
        hysteresis: Option<bool>,
    },
    /// Each packet on the next path, in proportion to weights: the baseline for the use of several
    /// paths at once. Packets of a flow overtake each other where the delays of paths differ.
    RoundRobin {
        /// The weights of the paths, 0 to 255, by their positions in the file; 1 for each path
        /// without one. A path of weight 0 is used only while no other is usable.
        #[cfg_attr(feature = "serde", serde(default))]
        weights: Weights,
    },
    /// All data on the path with the lower smoothed round-trip time (delay-centric paper, II.B).
    DelayCentric(ReactiveConfig),
    /// All data on the path with the lower short-term average, if the trends agree (delay-centric
    /// paper, II.C).
    PredictiveDelayCentric(PredictiveConfig),
    /// All data leaves a path whose delay grows, at random times; the faster it grows, the sooner.
    /// Many senders then distribute over paths without knowing of each other.
    DelayGrowth(GrowthConfig),
    /// All data on the path with the earliest expected arrival; losses are repaired on the others
    /// before a deadline ([`crate::repair`]).
    InTime(RepairConfig),
}

/// The error of a policy that cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A parameter of a delay-centric policy is out of range.
    #[error(transparent)]
    DelayCentric(#[from] DelayCentricError),
    /// The policy names a path that does not exist.
    #[error("path {named} does not exist")]
    NoSuchPath {
        /// The path named.
        named: u8,
        /// The number of paths.
        paths: usize,
    },
    /// The weights of the paths are invalid.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A limit of a path is out of range.
    #[error(transparent)]
    Leave(#[from] LeaveError),
    /// A parameter of congestion signals is out of range.
    #[error(transparent)]
    Diversity(#[from] DiversityError),
    /// A parameter of repairs is out of range.
    #[error(transparent)]
    Repair(#[from] RepairError),
}

impl PolicyError {
    /// The key of the parameter, or of the table of the policy, which is `table`.
    #[must_use]
    pub fn key(&self, table: &str) -> String {
        match self {
            Self::DelayCentric(error) => format!("{table}.{}", error.key()),
            Self::NoSuchPath { .. } => format!("{table}.path"),
            Self::Weights(_) => format!("{table}.weights"),
            Self::Leave(error) => format!("{table}.{}", error.key()),
            Self::Diversity(error) => format!("{table}.{}", error.key()),
            Self::Repair(error) => format!("{table}.{}", error.key()),
        }
    }

    /// The remedy, for users; empty if the message states it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::DelayCentric(_) | Self::Repair(_) => String::new(),
            Self::NoSuchPath { paths, .. } => {
                format!("paths are 0 to {}", paths.saturating_sub(1))
            }
            Self::Weights(error) => String::from(error.remedy()),
            Self::Leave(error) => String::from(error.remedy()),
            Self::Diversity(error) => error.remedy(),
        }
    }
}

impl From<DelayCentricConfig> for PolicyConfig {
    fn from(config: DelayCentricConfig) -> Self {
        match config {
            Delay::DelayCentric(config) => Self::DelayCentric(config),
            Delay::PredictiveDelayCentric(config) => Self::PredictiveDelayCentric(config),
            Delay::DelayGrowth(config) => Self::DelayGrowth(config),
        }
    }
}

impl PolicyConfig {
    /// All packets on `path` while it is live.
    #[must_use]
    pub const fn single_path(path: u8) -> Self {
        Self::SinglePath { path, leave: None }
    }

    /// Probe and switch in the paper's form, with `path` active first.
    #[must_use]
    pub const fn probe_and_switch(path: u8) -> Self {
        Self::ProbeAndSwitch {
            path,
            hysteresis: None,
        }
    }

    /// The policy, with this hysteresis if none is configured.
    #[must_use]
    pub const fn or_hysteresis(self, by_default: bool) -> Self {
        match self {
            Self::ProbeAndSwitch {
                path,
                hysteresis: None,
            } => Self::ProbeAndSwitch {
                path,
                hysteresis: Some(by_default),
            },
            _ => self,
        }
    }

    /// The policy as one of those that select a path by its delay, if it is one.
    #[must_use]
    pub const fn by_delay(self) -> Option<DelayCentricConfig> {
        match self {
            Self::DelayCentric(config) => Some(Delay::DelayCentric(config)),
            Self::PredictiveDelayCentric(config) => Some(Delay::PredictiveDelayCentric(config)),
            Self::DelayGrowth(config) => Some(Delay::DelayGrowth(config)),
            _ => None,
        }
    }

    /// Whether this policy sends packets exactly as `other` does.
    #[must_use]
    pub(crate) fn sends_like(self, other: Self) -> bool {
        let sending = |policy| match policy {
            Self::ProbeAndSwitch { path, .. } => Self::probe_and_switch(path),
            Self::Diversity(DiversityConfig { recovery: None, .. }) => Self::DuplicateAll {},
            Self::Diversity(DiversityConfig { recovery, .. }) => Self::Diversity(DiversityConfig {
                recovery,
                ..DiversityConfig::default()
            }),
            other => other,
        };
        sending(self) == sending(other)
    }

    /// Builds the policy.
    #[must_use]
    pub fn build(self, context: PolicyContext) -> Box<dyn PathPolicy> {
        match self {
            Self::SinglePath { path, leave } => Box::new(SinglePath::new(path, leave, &context)),
            Self::DuplicateAcks { path } => Box::new(DuplicateAcks::new(path, &context)),
            Self::DuplicateAll {} => Box::new(DuplicateAll),
            Self::Diversity(config) => Box::new(Diversity::new(&config)),
            Self::ProbeAndSwitch { path, .. } => Box::new(ProbeAndSwitch::new(path, &context)),
            Self::RoundRobin { weights } => Box::new(RoundRobin::new(weights, &context)),
            Self::DelayCentric(config) => Box::new(Delay::DelayCentric(config).build(context)),
            Self::PredictiveDelayCentric(config) => {
                Box::new(Delay::PredictiveDelayCentric(config).build(context))
            }
            Self::DelayGrowth(config) => Box::new(Delay::DelayGrowth(config).build(context)),
            Self::InTime(config) => Box::new(InTime::new(&config, &context)),
        }
    }

    /// Checks the parameters for a number of paths.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn check(self, paths: usize) -> Result<(), PolicyError> {
        if let Some(PathId(named)) = self
            .named_path()
            .filter(|path| path.index() >= paths.max(1))
        {
            return Err(PolicyError::NoSuchPath { named, paths });
        }
        match self {
            Self::RoundRobin { weights } => weights.check(paths)?,
            Self::DelayCentric(config) => Delay::DelayCentric(config).check()?,
            Self::PredictiveDelayCentric(config) => {
                Delay::PredictiveDelayCentric(config).check()?;
            }
            Self::DelayGrowth(config) => Delay::DelayGrowth(config).check()?,
            Self::InTime(config) => config.check()?,
            Self::Diversity(config) => config.check(paths)?,
            Self::SinglePath { leave, .. } => {
                leave.as_ref().map_or(Ok(()), LeaveConfig::check)?;
            }
            Self::DuplicateAcks { .. } | Self::DuplicateAll {} | Self::ProbeAndSwitch { .. } => {}
        }
        Ok(())
    }

    /// The properties of the policy.
    #[must_use]
    pub const fn properties(self) -> PolicyProperties {
        match self {
            Self::SinglePath { leave: None, .. } => SinglePath::PROPERTIES,
            Self::SinglePath { leave: Some(_), .. } => SinglePath::LEAVING_PROPERTIES,
            Self::DuplicateAcks { .. } => DuplicateAcks::PROPERTIES,
            Self::DuplicateAll {} => DuplicateAll::PROPERTIES,
            Self::Diversity(_) => DiversityConfig::PROPERTIES,
            Self::ProbeAndSwitch { .. } => ProbeAndSwitch::PROPERTIES,
            Self::RoundRobin { .. } => RoundRobin::PROPERTIES,
            Self::DelayCentric(_) => DelayCentric::PROPERTIES,
            Self::PredictiveDelayCentric(_) => DelayCentric::PREDICTIVE_PROPERTIES,
            Self::DelayGrowth(_) => DelayCentric::GROWTH_PROPERTIES,
            Self::InTime(_) => InTime::PROPERTIES,
        }
    }

    /// The path that the configuration names.
    #[must_use]
    pub const fn named_path(self) -> Option<PathId> {
        match self {
            Self::SinglePath { path, .. }
            | Self::DuplicateAcks { path }
            | Self::ProbeAndSwitch { path, .. } => Some(PathId(path)),
            Self::DuplicateAll {}
            | Self::Diversity(_)
            | Self::RoundRobin { .. }
            | Self::DelayCentric(_)
            | Self::PredictiveDelayCentric(_)
            | Self::DelayGrowth(_)
            | Self::InTime(_) => None,
        }
    }

    /// The configuration of repairs, if the policy has them.
    #[must_use]
    pub const fn repair(self) -> Option<RepairConfig> {
        match self {
            Self::InTime(config) => Some(config),
            Self::SinglePath { .. }
            | Self::DuplicateAcks { .. }
            | Self::DuplicateAll {}
            | Self::Diversity(_)
            | Self::ProbeAndSwitch { .. }
            | Self::RoundRobin { .. }
            | Self::DelayCentric(_)
            | Self::PredictiveDelayCentric(_)
            | Self::DelayGrowth(_) => None,
        }
    }

    /// The detector of congestion that copies mask, if the policy has one.
    #[must_use]
    pub fn detector(self) -> Option<DetectorConfig> {
        match self {
            Self::Diversity(config) => Some(config.detector()),
            _ => None,
        }
    }

    /// The order in which the receiver of this endpoint delivers packets.
    #[must_use]
    pub const fn order(self) -> Order {
        match self.repair() {
            Some(config) => config.order,
            None => Order::None,
        }
    }

    /// The name in files and statistics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.properties().name
    }

    /// The number of frames that restore a packet of which `paths` paths carry one each; 1 unless
    /// they are fragments.
    #[must_use]
    pub fn needed(self, paths: u8) -> u8 {
        match self {
            Self::Diversity(config) => config.needed(paths),
            _ => 1,
        }
    }

    /// Whether every path carries every packet, or a fragment of it.
    #[must_use]
    pub const fn copies_all(self) -> bool {
        self.copies(Kind::Data)
    }

    /// Whether every path carries packets of this kind, or fragments of them.
    #[must_use]
    pub const fn copies(self, kind: Kind) -> bool {
        self.properties().copies.includes(kind)
    }

    /// Whether the policy sends probes and compares arrival times: each packet then needs its own
    /// time.
    #[must_use]
    pub const fn probes(self) -> bool {
        self.properties().probes
    }

    /// Whether an endpoint with this policy requests a switch only after a lasting lead
    /// ([`crate::combine::hysteresis`]). One whose own policy does not probe does so for a peer
    /// that probes.
    #[must_use]
    pub const fn has_hysteresis(self) -> bool {
        match self {
            Self::ProbeAndSwitch { hysteresis, .. } => matches!(hysteresis, Some(true)),
            _ => true,
        }
    }

    /// Whether the policy has no effect without liveness detection.
    #[must_use]
    pub const fn needs_liveness(self) -> bool {
        matches!(self, Self::SinglePath { leave: Some(_), .. })
    }

    /// Whether every packet puts a frame on every path: a copy or a probe.
    #[must_use]
    pub const fn uses_all_paths(self) -> bool {
        self.copies_all() || self.probes()
    }

    /// The path that carries all data while it is usable; `None` if the policy may choose another.
    #[must_use]
    pub const fn fixed_path(self) -> Option<PathId> {
        if self.properties().switches {
            return None;
        }
        self.named_path()
    }

    /// Whether the policy keeps data off paths of higher costs ([`crate::tariff`]).
    #[must_use]
    pub const fn respects_costs(self) -> bool {
        self.properties().respects_costs
    }

    /// Whether the policy treats packets by their classes ([`crate::class`]).
    #[must_use]
    pub const fn respects_classes(self) -> bool {
        self.properties().respects_classes
    }
}

#[cfg(test)]
mod tests;
