//! The likelihood ratio of congestion against dropouts.

use super::{LikelihoodConfig, LinkWindow, Reading, Sign, Signature, has_losses_or_marks};
use crate::math::{exp, ln, ln_gamma};

/// The probability of a CE mark without congestion.
const STRAY_MARK: f64 = 1e-3;
/// The maximum effect of the delay of a link on the logarithm of the odds: a factor of 7.
const MAX_DELAY_EVIDENCE: f64 = 2.0;

/// Compares the likelihoods of the losses per link under congestion and under dropouts.
///
/// *Dropout*: in a window, a link loses nothing with probability 1 - `dropout`. Otherwise it is
/// down, for the whole window with probability 1 - `partial`, else for a part of it with all
/// numbers of losses equally likely. *Congestion*: a link that is not down is unaffected with
/// probability `spared`, else it drops each packet with a probability drawn per link from Beta(1,
/// b) with mean `loss`; the number of losses is then beta-binomial. Links are independent, so their
/// logarithms add up. For a link with losses and known queueing, ln(x / (1 - x)) is added, where x
/// is the queueing delay as a share of its maximum. A CE mark adds -ln(0.001), which is
/// practically proof.
///
/// Congestion lasts, so a positive score carries over to the next window with weight `memory`. A
/// score above `threshold`, a natural logarithm of odds, is classified as congestion.
#[derive(Clone, Debug)]
pub struct LikelihoodRatio {
    config: LikelihoodConfig,
    score: f64,
}

impl LikelihoodRatio {
    /// Creates the signature in its initial state.
    #[must_use]
    pub const fn new(config: LikelihoodConfig) -> Self {
        Self { config, score: 0.0 }
    }

    /// The parameters.
    #[must_use]
    pub const fn config(&self) -> &LikelihoodConfig {
        &self.config
    }

    /// The evidence of a link for congestion, as a natural logarithm of odds.
    fn evidence(&self, link: &LinkWindow) -> f64 {
        if link.sent == 0 {
            return 0.0;
        }
        let down = self.when_down(link);
        let is_lossless = link.lost == 0;
        let up = 1.0 - self.config.dropout;
        let of_dropout = down + if is_lossless { up } else { 0.0 };
        let of_congestion = down + up * self.when_congested(link);
        let mut evidence = ln(of_congestion / of_dropout);
        if link.marked > 0 {
            evidence -= ln(STRAY_MARK);
        }
        if let Some(queueing) = link.queueing.filter(|_| link.lost > 0) {
            let share = queueing.clamp(0.0, 1.0);
            let odds = ln((share + f64::EPSILON) / (1.0 - share + f64::EPSILON));
            evidence += odds.clamp(-MAX_DELAY_EVIDENCE, MAX_DELAY_EVIDENCE);
        }
        evidence
    }

    /// The probability of the losses of a link that is down for some of the window.
    pub(super) fn when_down(&self, link: &LinkWindow) -> f64 {
        let LikelihoodConfig {
            dropout, partial, ..
        } = self.config;
        match link.lost {
            0 => 0.0,
            // With one packet there is no partial loss.
            1 if link.sent == 1 => dropout,
            lost if lost >= link.sent => dropout * (1.0 - partial),
            _ => dropout * partial / f64::from(link.sent - 1),
        }
    }

    /// The probability of the losses of a link that is up, under congestion.
    pub(super) fn when_congested(&self, link: &LinkWindow) -> f64 {
        let b = 1.0 / self.config.loss - 1.0;
        let n = f64::from(link.sent);
        let spared = self.config.spared;
        if link.lost == 0 {
            return (1.0 - spared) * b / (b + n) + spared;
        }
        let kept = n - f64::from(link.lost.min(link.sent));
        let choices = ln_gamma(n + 1.0) - ln_gamma(kept + 1.0);
        let drawn = ln_gamma(b + kept) - ln_gamma(b + n + 1.0);
        (1.0 - spared) * exp(choices + drawn + ln(b))
    }
}

impl Signature for LikelihoodRatio {
    fn is_down(&self, link: &LinkWindow) -> bool {
        let up = 1.0 - self.config.dropout;
        let is_likely = || self.when_down(link) > up * self.when_congested(link);
        link.has_lost_all() || (link.marked == 0 && is_likely())
    }

    fn on_window(&mut self, links: &[LinkWindow]) -> Reading {
        let evidence: f64 = links.iter().map(|link| self.evidence(link)).sum();
        self.score = evidence + self.config.memory * self.score.max(0.0);
        let sign = match has_losses_or_marks(links) {
            false => Sign::Nothing,
            true if self.score > self.config.threshold => Sign::Congestion,
            true => Sign::Dropout,
        };
        Reading {
            sign,
            score: self.score,
        }
    }
}
