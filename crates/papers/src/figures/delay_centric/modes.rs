//! Stable and unstable runs.

use polypath_claims::{Pending, Study};

use super::sweep::{ALONE, CRITICAL, Sweep};
use crate::jobs::delay_centric::mechanism::MECHANISMS;
use crate::jobs::delay_centric::runs::Run;

/// The definition of the threshold, for the book.
pub(super) const WHAT: &str = "A run is in the upper mode, or unstable, if its mean delay exceeds a \
                               threshold. The threshold best separates the logarithms of the delays \
                               of all runs of the mechanisms (i) to (iv) without background above a \
                               utilisation of .75 into two classes (N. Otsu, \"A Threshold \
                               Selection Method from Gray-Level Histograms\", 1979). It is the same \
                               for all mechanisms, figures and claims.";

/// The delay that separates both modes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Threshold(f64);

impl Threshold {
    /// The threshold of all figures.
    ///
    /// # Errors
    /// If results are missing.
    pub(super) fn of(study: &mut Study<'_>) -> Result<Self, Pending> {
        let sweeps = MECHANISMS.map(|mechanism| Sweep::of(study, mechanism, ALONE));
        let sweeps = sweeps.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Self::between(&sweeps))
    }

    /// The threshold of the mechanisms (i) to (iv) without background.
    pub(super) fn between(sweeps: &[Sweep]) -> Self {
        let above = |sweep: &Sweep| {
            let all = sweep.utilisations.iter().zip(&sweep.runs);
            let above = all.filter(|(at, _)| **at > CRITICAL);
            let delays = above.flat_map(|(_, runs)| runs.iter().map(|run| run.delay));
            delays.collect::<Vec<f64>>()
        };
        let delays: Vec<f64> = sweeps.iter().flat_map(above).collect();
        Self(parting(&delays))
    }

    /// Whether a run is in the upper mode.
    pub(super) fn is_upper(self, run: &Run) -> bool {
        run.delay > self.0
    }

    /// The threshold as text.
    pub(super) fn text(self) -> String {
        format!("{:.0} ms", self.0 * 1e3)
    }
}

/// The value that splits positive values into two classes so that the variance of their logarithms
/// between the classes is greatest.
fn parting(values: &[f64]) -> f64 {
    let mut logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    logs.sort_by(f64::total_cmp);
    let n = logs.len() as f64;
    let total: f64 = logs.iter().sum();
    let (mut sum, mut best) = (0.0, (0.0, 0.0));
    for (below, pair) in (1_u32..).map(f64::from).zip(logs.windows(2)) {
        sum += pair[0];
        let distance = sum / below - (total - sum) / (n - below);
        let between = below * (n - below) * distance * distance;
        if between > best.0 {
            best = (between, f64::midpoint(pair[0], pair[1]));
        }
    }
    best.1.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_lies_between_two_lumps_of_any_size() {
        let lump =
            |centre: f64, n: u32| (0..n).map(move |i| centre * (1.0 + f64::from(i) / f64::from(n)));
        for (few, many) in [(20, 180), (180, 20), (100, 100)] {
            let values: Vec<f64> = lump(0.003, few).chain(lump(0.4, many)).collect();
            let threshold = parting(&values);
            assert!((0.006..0.4).contains(&threshold), "{threshold}");
        }
    }
}
