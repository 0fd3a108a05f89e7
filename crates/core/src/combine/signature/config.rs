//! The signatures by name, with their parameters.

use alloc::boxed::Box;

use super::{LikelihoodRatio, SameLinks, Signature};

/// The signatures by name, with their parameters, as scenario and node files have them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "kebab-case"))]
pub enum SignatureConfig {
    /// Many links that lose something, the same for several windows (diversity-routing paper, VI).
    SameLinks(SameLinksConfig),
    /// The ratio of likelihoods of what each link lost.
    LikelihoodRatio(LikelihoodConfig),
}

/// What "many" and "several" mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct SameLinksConfig {
    /// The least number of links.
    pub links: u8,
    /// The least number of windows in a row.
    pub windows: u8,
}

/// What is expected of links.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct LikelihoodConfig {
    /// The probability that a link is down for some of a window, between 0 and 1.
    pub dropout: f64,
    /// The probability that such a link is down for only a part of the window, between 0 and 1.
    pub partial: f64,
    /// The mean probability with which a congested link drops a packet, between 0 and 1.
    pub loss: f64,
    /// The probability that a link is not concerned by a congestion, between 0 and 1.
    pub spared: f64,
    /// How much of what spoke for congestion a window before still counts, at least 0 and less than 1.
    pub memory: f64,
    /// The score above which a window is a sign of congestion: the natural logarithm of odds.
    pub threshold: f64,
}

impl Default for SameLinksConfig {
    /// The paper says "many links" and "several RTTs": two of each is the least that this can mean.
    fn default() -> Self {
        Self {
            links: 2,
            windows: 2,
        }
    }
}

impl Default for LikelihoodConfig {
    /// A link is down for some of a tenth of the windows. The paper's up times of 1 to 100 s and down times of 0.01 to 1 s
    /// are 0.001 to 0.55 of the windows of a round trip of 0.1 s, and 0.02 in the middle: a tenth stands for links that are
    /// worse than that, so that of their dropouts, which copies are there to mask, fewer are taken for congestion. Senders
    /// that slow down at once let queues drop some percent. Of a link that is congested nothing follows for the others. Odds of ten to one.
    fn default() -> Self {
        Self {
            dropout: 0.1,
            partial: 0.5,
            loss: 0.05,
            spared: 0.5,
            memory: 0.5,
            threshold: core::f64::consts::LN_10,
        }
    }
}

impl Default for SignatureConfig {
    fn default() -> Self {
        Self::LikelihoodRatio(LikelihoodConfig::default())
    }
}

/// Why there is no such signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Nothing would ever be many, or every loss would be.
    #[error("`{0}` must be at least 1")]
    Count(&'static str),
    /// What is a probability is not between 0 and 1.
    #[error("`{0}` must lie between 0 and 1, both excluded")]
    Share(&'static str),
    /// Memory of 1 or more would never fade.
    #[error("`memory` must be at least 0 and less than 1")]
    Memory,
    /// The threshold is not a number.
    #[error("`threshold` must be a finite number")]
    Threshold,
}

impl SignatureConfig {
    /// Whether there is such a signature.
    ///
    /// # Errors
    /// Where a parameter is out of its range.
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

    /// The signature, which has seen nothing.
    #[must_use]
    pub fn build(self) -> Box<dyn Signature> {
        match self {
            Self::SameLinks(config) => Box::new(SameLinks::new(config)),
            Self::LikelihoodRatio(config) => Box::new(LikelihoodRatio::new(config)),
        }
    }
}

impl LikelihoodConfig {
    fn check(&self) -> Result<(), SignatureError> {
        let shares = [
            ("dropout", self.dropout),
            ("partial", self.partial),
            ("loss", self.loss),
            ("spared", self.spared),
        ];
        for (name, share) in shares {
            if !(share > 0.0 && share < 1.0) {
                return Err(SignatureError::Share(name));
            }
        }
        if !(0.0..1.0).contains(&self.memory) {
            return Err(SignatureError::Memory);
        }
        if !self.threshold.is_finite() {
            return Err(SignatureError::Threshold);
        }
        Ok(())
    }
}
