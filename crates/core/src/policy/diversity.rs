//! Copies on every path, with congestion signals for the losses that the copies mask
//! (diversity-routing paper, VI).

use alloc::format;
use alloc::string::String;

use super::{DuplicateAll, PolicyProperties};
use crate::combine::signature::{LikelihoodConfig, SameLinksConfig, SignatureConfig};
use crate::combine::{CopiesConfig, DetectorConfig, Reaction};
use crate::time::Duration;

/// The shortest and longest window in which the losses of the copies are compared.
const WINDOWS: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(10)];

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

/// The parameters of copies on every path with congestion signals.
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
}

impl Default for DiversityConfig {
    /// The likelihood ratio, marks, and the paper's round trip of 0.1 s.
    fn default() -> Self {
        Self {
            signature: DiversitySignature::default(),
            react: Reaction::default(),
            window: CopiesConfig::default().window,
        }
    }
}

/// The window of a [`DiversityConfig`] is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`window` is {0}")]
pub struct DiversityError(pub Duration);

impl DiversityError {
    /// The key of the parameter in the table of the policy.
    #[must_use]
    pub const fn key(self) -> &'static str {
        "window"
    }

    /// The remedy, for users.
    #[must_use]
    pub fn remedy(self) -> String {
        let [least, most] = WINDOWS;
        format!("choose about the round-trip time of the applications, from {least} to {most}")
    }
}

impl DiversityConfig {
    /// The properties of the policy, whose packets [`DuplicateAll`] sends.
    pub(super) const PROPERTIES: PolicyProperties = PolicyProperties {
        name: "diversity",
        ..DuplicateAll::PROPERTIES
    };

    /// Checks the parameters.
    ///
    /// # Errors
    /// If the window is out of range.
    pub fn check(&self) -> Result<(), DiversityError> {
        let [least, most] = WINDOWS;
        let is_valid = (least..=most).contains(&self.window);
        is_valid.then_some(()).ok_or(DiversityError(self.window))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_detector_follows_the_window() {
        let config = DiversityConfig {
            window: Duration::from_millis(40),
            signature: DiversitySignature::Paper,
            react: Reaction::Drop,
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
                Err(DiversityError(window))
            };
            assert_eq!(config.check(), expected, "{ms} ms");
            assert!(config.detector().check().is_ok());
        }
    }
}
