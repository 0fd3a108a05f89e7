//! Copies or fragments on every path, with congestion signals for the losses that they mask
//! (diversity-routing paper, VI).

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use super::{Action, DuplicateAll, PathPolicy, Paths, Plan, PolicyProperties};
use crate::combine::signature::{LikelihoodConfig, SameLinksConfig, SignatureConfig};
use crate::combine::{CopiesConfig, DetectorConfig, Reaction};
use crate::packet::PacketMeta;
use crate::time::{Duration, Time};

/// The shortest and longest window in which the losses of the copies are compared.
const WINDOWS: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(10)];
/// The least number of fragments that restore a packet: one would be a copy.
const LEAST_NEEDED: usize = 2;

/// The loss signature that distinguishes congestion from dropouts, with its default parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum DiversitySignature {
    /// The likelihood ratio of the losses on each path.
    #[default]
    Likelihood,
    /// The paper's: losses on at least two paths, and on the same ones for two windows.
    Paper,
}

/// The parameters of copies or fragments on every path with congestion signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct DiversityConfig {
    /// The loss signature that distinguishes congestion from dropouts.
    pub signature: DiversitySignature,
    /// The reaction to congestion, on packets of the peer before they are delivered.
    pub react: Reaction,
    /// The duration of the windows in which the losses of the copies are compared, 10 ms to 10 s:
    /// about the round-trip time of the applications.
    pub window: Duration,
    /// The number of recovery fragments: each packet is split over the live paths, and this many of
    /// them may lose it. From 1 to two less than the paths. While fewer than two other fragments are
    /// left, each path carries a copy, as by default.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "serde", schemars(range(min = 1, max = 62)))]
    pub recovery: Option<u8>,
}

impl Default for DiversityConfig {
    /// Copies, the likelihood ratio, marks, and the paper's round trip of 0.1 s.
    fn default() -> Self {
        Self {
            signature: DiversitySignature::default(),
            react: Reaction::default(),
            window: CopiesConfig::default().window,
            recovery: None,
        }
    }
}

/// A parameter of a [`DiversityConfig`] is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiversityError {
    /// The window.
    #[error("`window` is {0}")]
    Window(Duration),
    /// The number of recovery fragments, which leaves too few others.
    #[error("`recovery` is {recovery}, with {paths} paths")]
    Recovery {
        /// The number of recovery fragments.
        recovery: u8,
        /// The number of paths.
        paths: usize,
    },
}

impl DiversityError {
    /// The key of the parameter in the table of the policy.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Window(_) => "window",
            Self::Recovery { .. } => "recovery",
        }
    }

    /// The remedy, for users.
    #[must_use]
    pub fn remedy(self) -> String {
        match self {
            Self::Window(_) => {
                let [least, most] = WINDOWS;
                format!("choose about the round-trip time of the applications, {least} to {most}")
            }
            Self::Recovery { paths: 0..=2, .. } => {
                "leave the key out for a copy on each path: fragments need three paths".to_owned()
            }
            Self::Recovery { paths, .. } => format!(
                "choose the number of paths that may lose a packet, from 1 to {}, or leave the key \
                 out for a copy on each path",
                paths - LEAST_NEEDED
            ),
        }
    }
}

impl DiversityConfig {
    /// The properties of the policy.
    pub(super) const PROPERTIES: PolicyProperties = PolicyProperties {
        name: "diversity",
        ..DuplicateAll::PROPERTIES
    };

    /// Checks the parameters for a number of paths.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn check(&self, paths: usize) -> Result<(), DiversityError> {
        let [least, most] = WINDOWS;
        if !(least..=most).contains(&self.window) {
            return Err(DiversityError::Window(self.window));
        }
        let Some(recovery) = self.recovery else {
            return Ok(());
        };
        let is_valid = recovery > 0 && usize::from(recovery) + LEAST_NEEDED <= paths;
        is_valid
            .then_some(())
            .ok_or(DiversityError::Recovery { recovery, paths })
    }

    /// The number of frames that restore a packet of which `paths` paths carry one each: 1 with
    /// copies.
    #[must_use]
    pub fn needed(&self, paths: u8) -> u8 {
        let recovery = self.recovery.unwrap_or(u8::MAX);
        paths.saturating_sub(recovery).max(1)
    }

    /// The detector of the receiver. As by default, a copy is lost at the latest two windows after
    /// the end of its own.
    #[must_use]
    pub fn detector(&self) -> DetectorConfig {
        let signature = match self.signature {
            DiversitySignature::Likelihood => {
                SignatureConfig::LikelihoodRatio(LikelihoodConfig::default())
            }
            DiversitySignature::Paper => SignatureConfig::SameLinks(SameLinksConfig::default()),
        };
        DetectorConfig {
            signature,
            copies: CopiesConfig {
                window: self.window,
                timeout: self.window * 2,
                ..CopiesConfig::default()
            },
            react: self.react,
            ..DetectorConfig::default()
        }
    }
}

/// Copies or fragments of every packet on all paths.
#[derive(Clone, Debug)]
pub struct Diversity {
    config: DiversityConfig,
}

impl Diversity {
    /// A policy with these parameters.
    #[must_use]
    pub const fn new(config: &DiversityConfig) -> Self {
        Self { config: *config }
    }
}

impl PathPolicy for Diversity {
    fn route(&mut self, _: Time, _: &PacketMeta, paths: &Paths, _: &mut dyn FnMut(Action)) -> Plan {
        // A path that returns may not carry a packet alone, so a fragment on it is one more. One
        // that is ahead of its ceiling is back soon: what it lacks now counts as lost, since
        // otherwise the other paths would carry more just then.
        let trusted = paths.usable.or(paths.full.and(paths.alive));
        let trusted = u8::try_from(trusted.len()).unwrap_or(u8::MAX);
        Plan {
            needed: self.config.needed(trusted),
            ..Plan::copies(paths.copies)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::PathSet;
    use super::*;
    use crate::frame::PathId;

    #[test]
    fn the_detector_follows_the_window() {
        let config = DiversityConfig {
            window: Duration::from_millis(40),
            signature: DiversitySignature::Paper,
            react: Reaction::Drop,
            recovery: None,
        };
        let detector = config.detector();
        assert_eq!(detector.copies.window, Duration::from_millis(40));
        assert_eq!(detector.copies.timeout, Duration::from_millis(80));
        assert_eq!(detector.react, Reaction::Drop);
        assert!(matches!(detector.signature, SignatureConfig::SameLinks(_)));
        assert_eq!(
            DiversityConfig::default().detector(),
            DetectorConfig::default()
        );
    }

    #[test]
    fn a_window_out_of_range_is_refused() {
        for (ms, is_valid) in [(9, false), (10, true), (10_000, true), (10_001, false)] {
            let window = Duration::from_millis(ms);
            let config = DiversityConfig {
                window,
                ..DiversityConfig::default()
            };
            let expected = if is_valid {
                Ok(())
            } else {
                Err(DiversityError::Window(window))
            };
            assert_eq!(config.check(2), expected, "{ms} ms");
            assert!(config.detector().check().is_ok());
        }
    }

    #[test]
    fn recovery_leaves_at_least_two_fragments() {
        for (recovery, paths, is_valid) in [
            (0, 3, false),
            (1, 2, false),
            (1, 3, true),
            (2, 3, false),
            (2, 4, true),
            (62, 64, true),
            (63, 64, false),
            (255, 64, false),
        ] {
            let config = DiversityConfig {
                recovery: Some(recovery),
                ..DiversityConfig::default()
            };
            let error = DiversityError::Recovery { recovery, paths };
            let expected = if is_valid { Ok(()) } else { Err(error) };
            assert_eq!(config.check(paths), expected, "{recovery} of {paths}");
        }
    }

    #[test]
    fn all_but_the_recovery_fragments_are_needed() {
        let needed = |recovery| {
            let config = DiversityConfig {
                recovery,
                ..DiversityConfig::default()
            };
            [0, 1, 2, 3, 4, 8].map(|paths| config.needed(paths))
        };
        assert_eq!(needed(None), [1; 6], "copies");
        assert_eq!(needed(Some(1)), [1, 1, 1, 2, 3, 7]);
        assert_eq!(needed(Some(2)), [1, 1, 1, 1, 2, 6]);
    }

    fn plan(paths: Paths) -> Plan {
        let config = DiversityConfig {
            recovery: Some(1),
            ..DiversityConfig::default()
        };
        Diversity::new(&config).route(Time::ZERO, &PacketMeta::udp(100), &paths, &mut |_| {})
    }

    #[test]
    fn every_usable_path_carries_a_fragment() {
        for (paths, needed) in [(4, 3), (3, 2), (2, 1), (1, 1)] {
            let paths = PathSet::first(paths);
            let plan = plan(Paths::trusted(paths));
            assert_eq!((plan.copies, plan.needed), (paths, needed));
        }
    }

    /// The usable paths alone restore the packet, whatever happens to those that return.
    #[test]
    fn paths_that_return_carry_further_fragments() {
        let plan = plan(Paths {
            copies: PathSet::first(5),
            ..Paths::trusted(PathSet::first(3))
        });
        assert_eq!((plan.copies, plan.needed), (PathSet::first(5), 2));
    }

    /// The others carry no more than before.
    #[test]
    fn a_path_ahead_of_its_ceiling_counts_as_lost() {
        let full = PathSet::only(PathId(3));
        let plan = plan(Paths::trusted(PathSet::first(4)).with_full(full));
        assert_eq!((plan.copies, plan.needed), (PathSet::first(3), 3));
    }
}
