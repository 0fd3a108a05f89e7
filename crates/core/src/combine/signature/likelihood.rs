//! How likely losses are if the links are congested, against if they only drop out.

use super::{LikelihoodConfig, LinkWindow, Reading, Sign, Signature, is_touched};
use crate::math::{exp, ln, ln_gamma};

/// A CE mark that no congestion caused: practically none.
const STRAY_MARK: f64 = 1e-3;
/// The furthest that the delay of a link can move the odds, as a logarithm: a factor of 7.
const DELAY_SAYS: f64 = 2.0;

/// Weighs how much each link lost by the ratio of likelihoods.
///
/// *Dropout*: in a window a link loses nothing with probability `1 - d`; else it was down, for all of the window with
/// probability `1 - e`, or for a part of it, by which any number of packets is as likely lost as another. *Congestion*:
/// a link that is not down is spared with probability `spared`, or drops each packet with a probability p of its own, of
/// which no more is known than its distribution, Beta(1, b) with mean `loss`; so that k of n are lost with the
/// beta-binomial probability. Links are independent: their logarithms add up. Where it is known, the queue behind a link
/// that lost packets adds ln(x / (1 - x)), x its share of the longest one seen, and CE marks add what is practically proof.
///
/// Congestion lasts: `memory` of what spoke for it in the window before is added. A score above `threshold`, a natural
/// logarithm of odds, is a sign of congestion.
#[derive(Clone, Debug)]
pub struct LikelihoodRatio {
    config: LikelihoodConfig,
    score: f64,
}

impl LikelihoodRatio {
    /// A rule that has seen nothing.
    #[must_use]
    pub const fn new(config: LikelihoodConfig) -> Self {
        Self { config, score: 0.0 }
    }

    /// Its parameters.
    #[must_use]
    pub const fn config(&self) -> &LikelihoodConfig {
        &self.config
    }

    /// By how much a link speaks for congestion, as a natural logarithm.
    fn evidence(&self, link: &LinkWindow) -> f64 {
        if link.sent == 0 {
            return 0.0;
        }
        let down = self.when_down(link);
        let is_whole = link.lost == 0;
        let up = 1.0 - self.config.dropout;
        let of_dropout = down + if is_whole { up } else { 0.0 };
        let of_congestion = down + up * self.when_congested(link);
        let mut evidence = ln(of_congestion / of_dropout);
        if link.marked > 0 {
            evidence -= ln(STRAY_MARK);
        }
        if let Some(queueing) = link.queueing.filter(|_| link.lost > 0) {
            let share = queueing.clamp(0.0, 1.0);
            let odds = ln((share + f64::EPSILON) / (1.0 - share + f64::EPSILON));
            evidence += odds.clamp(-DELAY_SAYS, DELAY_SAYS);
        }
        evidence
    }

    /// The probability of its losses with the link down for some of the window.
    pub(super) fn when_down(&self, link: &LinkWindow) -> f64 {
        let LikelihoodConfig {
            dropout, partial, ..
        } = self.config;
        match link.lost {
            0 => 0.0,
            // One packet is all or nothing.
            1 if link.sent == 1 => dropout,
            lost if lost >= link.sent => dropout * (1.0 - partial),
            _ => dropout * partial / f64::from(link.sent - 1),
        }
    }

    /// The probability of its losses in times of congestion.
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
    fn on_window(&mut self, links: &[LinkWindow]) -> Reading {
        let evidence: f64 = links.iter().map(|link| self.evidence(link)).sum();
        self.score = evidence + self.config.memory * self.score.max(0.0);
        let sign = match is_touched(links) {
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
