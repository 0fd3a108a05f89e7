//! Copies or fragments on every path, with congestion signals for the losses that they mask
//! (diversity-routing paper, VI).

use alloc::format;
use alloc::string::String;

use super::{Action, DuplicateAll, PathPolicy, PathSet, Paths, Plan, PolicyProperties};
use crate::combine::signature::{LikelihoodConfig, SameLinksConfig, SignatureConfig};
use crate::combine::{CopiesConfig, DetectorConfig, Reaction};
use crate::packet::PacketMeta;
use crate::time::{Duration, Time};

/// The shortest and longest window in which the losses of the copies are compared.
const WINDOWS: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(10)];
/// The most recovery fragments: with all paths, at least two others are the packet.
const MAX_RECOVERY: u8 = PathSet::CAPACITY - 2;

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
    /// Split each packet over the paths, with this many recovery fragments: of its fragments, one
    /// for each live path, this many may be lost (I, footnote 2; [`crate::fragment`]). While that
    /// leaves fewer than two others, each path carries a copy, as it does by default.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
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
    /// The number of recovery fragments.
    #[error("`recovery` is {0}")]
    Recovery(u8),
}

impl DiversityError {
    /// The key of the parameter in the table of the policy.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Window(_) => "window",
            Self::Recovery(_) => "recovery",
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
            Self::Recovery(_) => format!(
                "choose the number of paths that may lose a packet, from 1 to {MAX_RECOVERY}, or \
                 leave the key out for a copy on each path"
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

    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn check(&self) -> Result<(), DiversityError> {
        let [least, most] = WINDOWS;
        if !(least..=most).contains(&self.window) {
            return Err(DiversityError::Window(self.window));
        }
        let recovery = self.recovery.unwrap_or(1);
        let is_valid = (1..=MAX_RECOVERY).contains(&recovery);
        is_valid
            .then_some(())
            .ok_or(DiversityError::Recovery(recovery))
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
        let total = u8::try_from(paths.copies.len()).unwrap_or(u8::MAX);
        Plan {
            needed: self.config.needed(total),
            ..Plan::copies(paths.copies)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(config.check(), expected, "{ms} ms");
            assert!(config.detector().check().is_ok());
        }
    }

    #[test]
    fn recovery_out_of_range_is_refused() {
        for (recovery, is_valid) in [(0, false), (1, true), (62, true), (63, false)] {
            let config = DiversityConfig {
                recovery: Some(recovery),
                ..DiversityConfig::default()
            };
            let expected = if is_valid {
                Ok(())
            } else {
                Err(DiversityError::Recovery(recovery))
            };
            assert_eq!(config.check(), expected, "{recovery}");
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

    #[test]
    fn every_usable_path_carries_a_fragment() {
        let config = DiversityConfig {
            recovery: Some(1),
            ..DiversityConfig::default()
        };
        let mut policy = Diversity::new(&config);
        let mut plan = |paths| {
            let paths = Paths::trusted(PathSet::first(paths));
            policy.route(Time::ZERO, &PacketMeta::udp(100), &paths, &mut |_| {})
        };
        assert_eq!((plan(4).copies, plan(4).needed), (PathSet::first(4), 3));
        assert_eq!((plan(2).copies, plan(2).needed), (PathSet::first(2), 1));
    }
}
