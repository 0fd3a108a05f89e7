//! Losses in runs of packets: the Gilbert-Elliott model.

use alloc::vec::Vec;

use polypath_core::rng::Stream;
use polypath_core::time::Time;

use super::ErrorModel;
use crate::config_error::{ConfigError, probability};

/// A two-state Markov chain that steps with every packet and starts in the good state (Gilbert
/// 1960, Elliott 1963). The mean run of packets in the bad state is 1 / `r`; the share of packets
/// in it is `p` / (`p` + `r`).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct GilbertElliott {
    /// The probability of a change from the good state to the bad one, with each packet.
    #[cfg_attr(feature = "serde", schemars(range(min = 0.0, max = 1.0)))]
    pub p: f64,
    /// The probability of a change from the bad state to the good one, with each packet.
    #[cfg_attr(feature = "serde", schemars(range(min = 0.0, max = 1.0)))]
    pub r: f64,
    /// The probability of a loss in the good state; by default 0.
    #[cfg_attr(
        feature = "serde",
        serde(default),
        schemars(range(min = 0.0, max = 1.0))
    )]
    pub good: f64,
    /// The probability of a loss in the bad state; by default 1.
    #[cfg_attr(
        feature = "serde",
        serde(default = "certain"),
        schemars(range(min = 0.0, max = 1.0))
    )]
    pub bad: f64,
}

#[cfg(feature = "serde")]
const fn certain() -> f64 {
    1.0
}

impl GilbertElliott {
    /// The problems of the configuration.
    #[must_use]
    pub fn problems(&self) -> Vec<ConfigError> {
        let values = [
            ("gilbert_elliott.p", self.p),
            ("gilbert_elliott.r", self.r),
            ("gilbert_elliott.good", self.good),
            ("gilbert_elliott.bad", self.bad),
        ];
        let problems = values.into_iter();
        problems
            .filter_map(|(key, value)| probability(key, value))
            .collect()
    }
}

/// A chain that decides on a packet by its state and then steps, with two draws per packet in
/// either state.
#[derive(Clone, Debug)]
pub(crate) struct GilbertElliottChain {
    config: GilbertElliott,
    good: bool,
    stream: Stream,
}

impl GilbertElliottChain {
    pub(crate) fn new(config: GilbertElliott, stream: Stream) -> Self {
        Self {
            config,
            good: true,
            stream,
        }
    }
}

impl ErrorModel for GilbertElliottChain {
    fn loses(&mut self, _at: Time) -> bool {
        let GilbertElliott { p, r, good, bad } = self.config;
        let (share, leave) = if self.good { (good, p) } else { (bad, r) };
        let lost = self.stream.chance(share);
        if self.stream.chance(leave) {
            self.good = !self.good;
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_core::rng::Seed;

    fn losses(config: GilbertElliott, n: usize) -> impl Iterator<Item = bool> {
        let mut chain = GilbertElliottChain::new(config, Seed(11).stream("burst"));
        (0..n).map(move |_| chain.loses(Time::ZERO))
    }

    /// With losses only in the bad state, the runs of losses are the sojourns there: geometric with
    /// mean 1 / r and variance (1 - r) / r^2.
    #[test]
    fn runs_of_losses_have_the_expected_mean() {
        let (p, r, n) = (0.01, 0.2, 2_000_000);
        let config = GilbertElliott {
            p,
            r,
            good: 0.0,
            bad: 1.0,
        };
        let (mut runs, mut lost, mut before) = (0_u32, 0_u32, false);
        for here in losses(config, n) {
            runs += u32::from(here && !before);
            lost += u32::from(here);
            before = here;
        }
        let mean = f64::from(lost) / f64::from(runs);
        let bound = 4.0 * ((1.0 - r) / (r * r) / f64::from(runs)).sqrt();
        assert!((mean - 1.0 / r).abs() < bound, "{mean} {bound}");
    }

    /// The variance of the mean of n states of a chain is about p r (2 - p - r) / (n (p + r)^3).
    #[test]
    fn loses_the_expected_share_in_both_states() {
        let n = 2_000_000;
        let config = GilbertElliott {
            p: 0.02,
            r: 0.1,
            good: 0.01,
            bad: 0.5,
        };
        let lost = losses(config, n).filter(|lost| *lost).count() as f64 / n as f64;
        let GilbertElliott { p, r, good, bad } = config;
        let in_bad = p / (p + r);
        let expected = good + in_bad * (bad - good);
        let of_state = p * r * (2.0 - p - r) / (p + r).powi(3) * (bad - good).powi(2);
        let of_packet = in_bad * bad * (1.0 - bad) + (1.0 - in_bad) * good * (1.0 - good);
        let bound = 4.0 * ((of_state + of_packet) / n as f64).sqrt();
        assert!((lost - expected).abs() < bound, "{lost} {expected} {bound}");
    }
}
