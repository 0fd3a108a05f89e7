//! Each packet on the next path, in proportion to weights.
//!
//! Smooth weighted round robin: with each packet every usable path gains credits for its share of
//! one packet, and the path with the most credits carries the packet and pays one. In each cycle of
//! as many packets as the sum of the weights, each path carries as many as its weight, spread
//! evenly: weights 5, 1 and 1 give 0 0 1 0 2 0 0, not five packets in a row. A path that is not
//! usable keeps its credits, counted in packets, whatever the weights of the usable paths. A packet
//! that is too long for some paths is a turn of the others.
//!
//! The credits of n paths add up to zero, and those of one path stay within (n - 1) / 2 packets of
//! zero, however the set of usable paths changes, but for rounding: no path gets more than that
//! ahead of its share or behind it; with two paths, half a packet.
//!
//! Proof, by induction over packets: the credits of any k paths add up to at least -k (n - k) / 2.
//! Only the path j that carries a packet can lower such a sum, and only if m > 0 of the paths that
//! take turns are not among the k. As j had at least the credits of each of those, the sum before j
//! pays is at least 1 / (m + 1) of the credits of the k + m paths, which have gained one packet,
//! plus m / (m + 1) of those of the k without j. With the bounds of both, the sum after j has paid
//! is at least the bound of k, since m^2 >= m.
//!
//! All packets take their turns: pure ACKs and control segments, too, of all flows together.
//! Packets overtake each other by the difference of the paths' delays. TCP takes that for loss if
//! three later segments arrive first, and halves its window; an ACK that arrives late is redundant,
//! as ACKs are cumulative. The policy is a baseline for those that avoid this.

use alloc::vec;
use alloc::vec::Vec;

use super::{
    Action, CopiedPackets, PathPolicy, PathSet, Paths, Plan, PolicyContext, PolicyProperties,
};
use crate::frame::PathId;
use crate::packet::PacketMeta;
use crate::time::Time;

/// The weights of the paths, by their positions in the file; a path beyond the list has weight 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weights {
    of: [u8; PathSet::CAPACITY as usize],
    listed: u8,
}

/// The error of invalid weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    /// There are more weights than paths.
    #[error("there are {weights} weights for {paths} paths")]
    MoreThanPaths {
        /// The number of weights.
        weights: usize,
        /// The number of paths.
        paths: usize,
    },
    /// No path has a weight above zero.
    #[error("all weights are zero")]
    AllZero,
}

impl WeightsError {
    /// The remedy, for users.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::MoreThanPaths { .. } => "remove those beyond the last path",
            Self::AllZero => "a weight of zero is for a standby path; give another path more",
        }
    }
}

impl Default for Weights {
    /// Equal weights.
    fn default() -> Self {
        Self {
            of: [1; PathSet::CAPACITY as usize],
            listed: 0,
        }
    }
}

impl Weights {
    /// These weights; `None` if there are more than [`PathSet::CAPACITY`].
    #[must_use]
    pub fn new(weights: &[u8]) -> Option<Self> {
        let mut all = Self::default();
        all.of.get_mut(..weights.len())?.copy_from_slice(weights);
        all.listed = u8::try_from(weights.len()).ok()?;
        Some(all)
    }

    /// The weights that were listed.
    #[must_use]
    pub fn listed(&self) -> &[u8] {
        &self.of[..usize::from(self.listed)]
    }

    /// Checks the weights for a number of paths.
    ///
    /// # Errors
    /// The first problem.
    pub fn check(&self, paths: usize) -> Result<(), WeightsError> {
        let weights = self.listed().len();
        if weights > paths {
            return Err(WeightsError::MoreThanPaths { weights, paths });
        }
        if self.of.iter().take(paths).all(|weight| *weight == 0) {
            return Err(WeightsError::AllZero);
        }
        Ok(())
    }

    /// The weight of a path in turns; standby paths share equally.
    fn share(&self, path: PathId) -> i64 {
        i64::from(self.of[path.index()].max(1))
    }

    /// The paths of weight zero.
    fn standby(&self) -> PathSet {
        let zero = (0..).zip(self.of).filter(|(_, weight)| *weight == 0);
        zero.fold(PathSet::EMPTY, |set, (path, _)| set.with(PathId(path)))
    }
}

/// Each packet on one of the paths in turn; one of weight zero only while no other is usable.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    weights: Weights,
    standby: PathSet,
    /// The packets that each path is behind its share, in units of 1 / (`sum` * [`SCALE`]) packets.
    /// They add up to zero.
    credits: Vec<i64>,
    /// The sum of the weights of the paths that were usable last.
    sum: i64,
}

/// The parts of a credit: a conversion between sums rounds each path's credits by less than one
/// part. Within the bound above, credits times a sum of weights fit in 62 bits.
const SCALE: i64 = 1 << 28;

impl RoundRobin {
    /// The properties of the policy.
    pub(super) const PROPERTIES: PolicyProperties = PolicyProperties {
        name: "round-robin",
        copies: CopiedPackets::None,
        probes: false,
        switches: false,
        respects_costs: false,
        respects_classes: false,
    };

    /// A policy with these weights.
    #[must_use]
    pub fn new(weights: Weights, context: &PolicyContext) -> Self {
        Self {
            weights,
            standby: weights.standby(),
            credits: vec![0; usize::from(context.paths)],
            sum: 1,
        }
    }

    /// The path whose turn it is.
    fn next(&mut self, usable: PathSet) -> Option<PathId> {
        let regular = usable.without(self.standby);
        let paths = if regular.is_empty() { usable } else { regular };
        let sum = paths.into_iter().map(|path| self.weights.share(path)).sum();
        self.convert(sum);
        let mut next: Option<(PathId, i64)> = None;
        for path in paths {
            let credits = self.credits.get_mut(path.index())?;
            *credits += self.weights.share(path) * SCALE;
            if next.is_none_or(|(_, most)| *credits > most) {
                next = Some((path, *credits));
            }
        }
        let (path, _) = next?;
        self.credits[path.index()] -= sum * SCALE;
        Some(path)
    }

    /// Converts the credits to those of another sum of weights, for the same number of packets.
    /// Each path's remainder goes to the next path, so that the credits still add up to zero.
    fn convert(&mut self, sum: i64) {
        if sum == 0 || sum == self.sum {
            return;
        }
        let mut remainder = 0;
        for credits in &mut self.credits {
            let exact = *credits * sum + remainder;
            *credits = exact.div_euclid(self.sum);
            remainder = exact.rem_euclid(self.sum);
        }
        debug_assert_eq!(remainder, 0, "the credits add up to zero");
        self.sum = sum;
    }
}

impl PathPolicy for RoundRobin {
    fn route(&mut self, _: Time, _: &PacketMeta, paths: &Paths, _: &mut dyn FnMut(Action)) -> Plan {
        Plan::copies((self.next(paths.usable)).map_or(PathSet::EMPTY, PathSet::only))
    }
}

#[cfg(feature = "serde")]
mod file {
    use alloc::borrow::Cow;
    use alloc::vec::Vec;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Weights;
    use crate::policy::PathSet;

    impl<'de> Deserialize<'de> for Weights {
        fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
            let most = PathSet::CAPACITY;
            Self::new(&Vec::<u8>::deserialize(d)?)
                .ok_or_else(|| D::Error::custom(format_args!("more than {most} weights")))
        }
    }

    impl Serialize for Weights {
        fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
            self.listed().serialize(s)
        }
    }

    impl JsonSchema for Weights {
        fn schema_name() -> Cow<'static, str> {
            "Weights".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({
                "type": "array",
                "items": { "type": "integer", "minimum": 0, "maximum": 255 },
                "maxItems": PathSet::CAPACITY,
                "description": "the weights of the paths, 0 to 255, by their positions; 1 if not listed"
            })
        }
    }
}
