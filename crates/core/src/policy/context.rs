//! The inputs and the properties of a policy.

use super::PathSet;
use crate::frame::{Epoch, PathId};
use crate::packet::Kind;
use crate::rng::Stream;
use crate::tariff::Tariffs;
use crate::time::Duration;

/// The inputs from which every policy is built.
#[derive(Clone, Debug)]
pub struct PolicyContext {
    /// The number of paths, 1 to [`PathSet::CAPACITY`].
    pub paths: u8,
    /// The path on which data starts; `None` for the path that the configuration names, or the
    /// first.
    pub start: Option<PathId>,
    /// The interval at which packet pairs repeat while data flows.
    pub pair_interval: Duration,
    /// The epoch in which the policy starts: later than those of the policy before it.
    pub epoch: Epoch,
    /// Whether the policy receives [`Feedback::Acknowledged`](super::Feedback) for data; else
    /// [`Feedback::Health`](super::Feedback) takes its place on the path that carries data.
    pub acknowledges: bool,
    /// The cost of each path.
    pub tariffs: Tariffs,
    /// The random stream of the policy.
    pub stream: Stream,
}

impl PolicyContext {
    /// The path on which data starts if the configuration names `named`.
    pub(super) fn start_on(&self, named: u8) -> PathId {
        self.start.unwrap_or(PathId(named))
    }
}

/// The properties of a policy on which endpoints, nodes and checks depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a property of its own"
)]
pub struct PolicyProperties {
    /// The name of the policy in files and statistics: the `kind` of its table.
    pub name: &'static str,
    /// The packets of which every usable path carries a copy, or a fragment.
    pub copies: CopiedPackets,
    /// Whether the policy sends probes and compares arrival times, so that each packet needs its
    /// own time.
    pub probes: bool,
    /// Whether data moves to another path by a decision of the policy.
    pub switches: bool,
    /// Whether it keeps data off paths of higher costs ([`crate::tariff`]).
    pub respects_costs: bool,
    /// Whether it treats packets by their classes ([`crate::class`]).
    pub respects_classes: bool,
}

/// The packets that go on all usable paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopiedPackets {
    /// No packet.
    None,
    /// Pure ACKs and control segments.
    Control,
    /// All packets.
    All,
}

impl CopiedPackets {
    /// Whether a packet of this kind goes on all usable paths.
    #[must_use]
    pub const fn includes(self, kind: Kind) -> bool {
        match self {
            Self::None => false,
            Self::Control => matches!(kind, Kind::PureAck | Kind::Control),
            Self::All => true,
        }
    }
}

// Paths are numbered below the capacity of a set.
const _: () = assert!(PathSet::CAPACITY < u8::MAX);
