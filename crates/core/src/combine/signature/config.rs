//! Signature configuration.

use alloc::boxed::Box;

use super::parameters::{LikelihoodConfig, SameLinksConfig, SignatureError};
use super::{LikelihoodRatio, SameLinks, Signature};

/// A loss signature and its parameters, as written in scenario and node files.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "kebab-case"))]
pub enum SignatureConfig {
    /// Congestion if many links have losses, and the same ones for several windows
    /// (diversity-routing paper, VI).
    SameLinks(SameLinksConfig),
    /// The likelihood ratio of the losses on each link.
    LikelihoodRatio(LikelihoodConfig),
}

impl Default for SignatureConfig {
    fn default() -> Self {
        Self::LikelihoodRatio(LikelihoodConfig::default())
    }
}

impl SignatureConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn check(&self) -> Result<(), SignatureError> {
        match self {
            Self::SameLinks(SameLinksConfig { links, windows }) => {
                let counts = [("links", *links), ("windows", *windows)];
                let none = counts.iter().find(|(_, count)| *count == 0);
                none.map_or(Ok(()), |(name, _)| Err(SignatureError::Count(name)))
            }
            Self::LikelihoodRatio(config) => config.check(),
        }
    }

    /// Builds the signature in its initial state.
    #[must_use]
    pub fn build(self) -> Box<dyn Signature> {
        match self {
            Self::SameLinks(config) => Box::new(SameLinks::new(config)),
            Self::LikelihoodRatio(config) => Box::new(LikelihoodRatio::new(config)),
        }
    }
}
