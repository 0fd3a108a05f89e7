//! From records to figures.

use std::collections::BTreeMap;

use polypath_core::time::Duration;
use polypath_core::units::Bytes;

use crate::difference::{Bound, Difference};
use crate::playout::Curve;
use crate::record::{ExperimentRecord, SchemeRecord, Transfer};
use crate::statistics::{Estimate, quantile};

/// The baseline scheme with which the others are compared.
pub const BASELINE: &str = "tcp";

/// The number of rates on the curve of the pre-buffer over the rate.
const RATES: u32 = 40;

/// The figures of one scheme; all times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeFigures {
    /// The transfer time; a transfer that timed out counts with the timeout, which makes the mean a
    /// lower bound.
    pub transfer: Option<Estimate>,
    /// The median and the 95th percentile of the transfer time.
    pub quantiles: Option<[f64; 2]>,
    /// The transfers that timed out.
    pub timed_out: usize,
    /// The transfer time minus that of the baseline in the same round; `None` for the baseline
    /// itself.
    pub difference: Option<Difference>,
    /// The pre-buffer ([`crate::playout`]); a transfer that timed out enters with the timeout, as
    /// if the rest of the file had come just then, so that the mean is then neither a lower nor an
    /// upper bound.
    pub prebuffer: Option<Estimate>,
    /// The bytes on the wire for each byte of an application.
    pub overhead_ratio: Option<f64>,
    /// Background bytes delivered, divided by those delivered with the baseline in the same rounds;
    /// `None` for the baseline itself.
    pub harm: Option<Estimate>,
    /// Whether each completed transfer arrived intact; `None` if none completed.
    pub intact: Option<bool>,
    /// The playable size of each transfer, until the timeout if it timed out.
    pub curves: Vec<Curve>,
}

/// The figures of an experiment, scheme by scheme as in the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Each scheme.
    pub schemes: Vec<SchemeFigures>,
    /// The rates of the pre-buffer curve, in bytes per second.
    pub rates: Vec<f64>,
}

impl Figures {
    /// Computes the figures of an experiment.
    #[must_use]
    pub fn of(experiment: &ExperimentRecord) -> Figures {
        let baseline = experiment.schemes.iter().find(|s| s.name == BASELINE);
        let figures = |scheme| scheme_figures(scheme, baseline, experiment.timeout);
        let schemes: Vec<SchemeFigures> = experiment.schemes.iter().map(figures).collect();
        Figures {
            rates: rates(experiment, &schemes),
            schemes,
        }
    }
}

impl SchemeFigures {
    /// The harm as a difference from one, that of the baseline.
    #[must_use]
    pub fn harm_difference(&self) -> Option<Difference> {
        self.harm.map(Difference::of_ratio)
    }

    /// Whether a comparison with the baseline shows no difference.
    pub(crate) fn has_marked(&self) -> bool {
        let both = [self.difference, self.harm_difference()];
        both.iter().flatten().any(Difference::is_marked)
    }

    /// The mean time before playout at `rate` (bytes a second) can start, in seconds; a lower bound
    /// where transfers timed out.
    #[must_use]
    pub fn prebuffer_at(&self, rate: f64) -> Option<f64> {
        let waits: Vec<f64> = self.curves.iter().map(|c| c.prebuffer_at(rate)).collect();
        Estimate::of(&waits).map(|estimate| estimate.mean)
    }
}

fn scheme_figures(
    scheme: &SchemeRecord,
    baseline: Option<&SchemeRecord>,
    timeout: Duration,
) -> SchemeFigures {
    let times = times(scheme, timeout);
    let values: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
    let transfers = scheme.transfers.iter();
    let curves: Vec<Curve> = transfers.filter_map(|t| Curve::of(t, timeout)).collect();
    let prebuffers: Vec<f64> = curves.iter().map(|curve| curve.line().prebuffer).collect();
    let other = baseline.filter(|other| other.name != scheme.name);
    let Bytes(handed_over) = scheme.overlay.totals.bytes_in;
    let done = || {
        scheme
            .transfers
            .iter()
            .filter(|transfer| transfer.duration.is_some())
    };
    SchemeFigures {
        transfer: Estimate::of(&values),
        quantiles: quantile(&values, 0.5)
            .zip(quantile(&values, 0.95))
            .map(<[f64; 2]>::from),
        timed_out: scheme.transfers.len() - done().count(),
        difference: other.and_then(|other| difference(scheme, other, timeout)),
        prebuffer: Estimate::of(&prebuffers),
        overhead_ratio: (handed_over > 0)
            .then(|| scheme.overlay.totals.wire_bytes.0 as f64 / handed_over as f64),
        harm: other
            .and_then(|other| Estimate::of_ratio(&pairs(&background(scheme), &background(other)))),
        intact: (done().count() > 0).then(|| done().all(|transfer| transfer.intact)),
        curves,
    }
}

/// The differences of the transfer times of two schemes, round by round.
fn difference(a: &SchemeRecord, b: &SchemeRecord, timeout: Duration) -> Option<Difference> {
    let pairs = pairs(&times(a, timeout), &times(b, timeout));
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
    // A round without a counterpart makes no pair.
    let is_cut = |of: &SchemeRecord, other: &SchemeRecord| {
        let paired = |t: &Transfer| other.transfers.iter().any(|o| o.round == t.round);
        let mut cut = of.transfers.iter().filter(|t| t.duration.is_none());
        cut.any(paired)
    };
    Some(Difference {
        estimate: Estimate::of(&differences)?,
        bound: Bound::of_difference(is_cut(a, b), is_cut(b, a)),
    })
}

/// The rounds with their transfer times in seconds.
fn times(scheme: &SchemeRecord, timeout: Duration) -> Vec<(u32, f64)> {
    let time = |duration: Option<Duration>| duration.unwrap_or(timeout).as_secs_f64();
    let transfers = scheme.transfers.iter();
    transfers
        .map(|transfer| (transfer.round, time(transfer.duration)))
        .collect()
}

/// The rounds with the background bytes delivered in them; a round in which it starved counts.
fn background(scheme: &SchemeRecord) -> Vec<(u32, f64)> {
    let transfers = scheme.transfers.iter();
    transfers
        .filter_map(|transfer| Some((transfer.round, transfer.background?.0 as f64)))
        .collect()
}

/// The values of a scheme and of the baseline in the rounds that both have.
fn pairs(values: &[(u32, f64)], baseline: &[(u32, f64)]) -> Vec<(f64, f64)> {
    let baseline: BTreeMap<u32, f64> = baseline.iter().copied().collect();
    let pair = |(round, value): &(u32, f64)| Some((*value, *baseline.get(round)?));
    values.iter().filter_map(pair).collect()
}

/// Rates up to twice the best mean throughput of a scheme; empty if no transfer completed.
fn rates(experiment: &ExperimentRecord, schemes: &[SchemeFigures]) -> Vec<f64> {
    let throughput = |(record, figures): (&SchemeRecord, &SchemeFigures)| {
        let completed = |t: &&Transfer| t.duration.is_some();
        let size = record.transfers.iter().find(completed)?.size.0 as f64;
        Some(size / figures.transfer.filter(|t| t.mean > 0.0)?.mean)
    };
    let best = experiment
        .schemes
        .iter()
        .zip(schemes)
        .filter_map(throughput)
        .fold(0.0, f64::max);
    let rate = |n: u32| 2.0 * best * f64::from(n) / f64::from(RATES);
    (1..=RATES).map(rate).filter(|rate| *rate > 0.0).collect()
}

#[cfg(test)]
mod tests;
