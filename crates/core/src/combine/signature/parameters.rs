//! The parameters of the signatures.

/// Thresholds for "many links" and "several windows".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct SameLinksConfig {
    /// The minimum number of links.
    pub links: u8,
    /// The minimum number of consecutive windows.
    pub windows: u8,
}

/// The model of dropouts and congestion.
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
    /// The probability that congestion does not affect a link, between 0 and 1.
    pub spared: f64,
    /// The weight of the previous score, at least 0 and less than 1.
    pub memory: f64,
    /// The score above which a window indicates congestion: the natural logarithm of odds.
    pub threshold: f64,
}

impl Default for SameLinksConfig {
    /// Two of each: the minimum meaning of the paper's "many links" and "several RTTs".
    fn default() -> Self {
        Self {
            links: 2,
            windows: 2,
        }
    }
}

impl Default for LikelihoodConfig {
    /// A link is down during part of 10 % of the windows. With the paper's up times of 1 to 100 s
    /// and down times of 0.01 to 1 s, that share is between 0.1 and 55 %, typically 2 %, for
    /// windows of 0.1 s. The higher default takes fewer dropouts of bad links for congestion.
    /// Congested queues drop some percent when senders react immediately. Congestion on one link
    /// does not imply congestion on others. The threshold is odds of ten to one.
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

/// An invalid [`SignatureConfig`](super::SignatureConfig).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// A count is 0.
    #[error("`{0}` must be at least 1")]
    Count(&'static str),
    /// A probability is not between 0 and 1.
    #[error("`{0}` must lie between 0 and 1, both excluded")]
    Share(&'static str),
    /// The weight of the previous score is out of range.
    #[error("`memory` must be at least 0 and less than 1")]
    Memory,
    /// The threshold is not a number.
    #[error("`threshold` must be a finite number")]
    Threshold,
}

impl LikelihoodConfig {
    pub(super) fn check(&self) -> Result<(), SignatureError> {
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
