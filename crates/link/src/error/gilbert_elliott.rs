//! Losses in runs of packets.

use polypath_core::rng::Stream;
use polypath_core::time::Time;

use super::ErrorModel;
use crate::config::GilbertElliott;

/// A chain that decides on a packet by its state and then steps; two draws a packet, whatever the state.
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

    /// With loss in the bad state alone the runs of losses are the sojourns there: geometric, mean 1 / r,
    /// variance (1 - r) / r^2.
    #[test]
    fn runs_of_losses_have_their_mean() {
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

    /// The variance of the mean of a chain's n states is p r (2 - p - r) / (n (p + r)^3), about.
    #[test]
    fn loses_its_share_in_both_states() {
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
