//! From records to figures.

use std::collections::BTreeMap;

use polypath_core::time::Duration;
use polypath_core::units::Bytes;

use crate::playout::Curve;
use crate::record::{Experiment, SchemeRecord};
use crate::statistics::{Estimate, quantile};

/// The scheme against which the others are held.
pub const BASELINE: &str = "tcp";

/// How many rates the curve of the pre-buffer over the rate has.
const RATES: u32 = 40;

/// The figures of one scheme; all times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeFigures {
    /// The transfer time; one that timed out enters with the timeout, so that the mean is then a lower bound.
    pub transfer: Option<Estimate>,
    /// The median and the 95th percentile of the transfer time.
    pub quantiles: Option<[f64; 2]>,
    /// The transfers that timed out.
    pub timed_out: usize,
    /// The transfer time less that of the baseline in the same round; none for the baseline itself.
    pub difference: Option<Estimate>,
    /// The pre-buffer ([`crate::playout`]); a transfer that timed out enters with the timeout, so that the
    /// mean is then a lower bound.
    pub prebuffer: Option<Estimate>,
    /// The bytes on the wire for each byte of an application.
    pub overhead_ratio: Option<f64>,
    /// What the background delivered over what it delivered beside the baseline in the same rounds; none
    /// for the baseline itself.
    pub harm: Option<Estimate>,
    /// Whether transfers completed, and each that did arrived as it was sent.
    pub intact: bool,
    /// The playable size of each transfer that completed.
    pub curves: Vec<Curve>,
}

/// The figures of an experiment, scheme by scheme as in the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Each scheme.
    pub schemes: Vec<SchemeFigures>,
    /// The rates at which the pre-buffer is given, in bytes a second.
    pub rates: Vec<f64>,
}

impl Figures {
    /// Computes the figures of an experiment.
    #[must_use]
    pub fn of(experiment: &Experiment) -> Figures {
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
    /// The mean time before playout at `rate` (bytes a second) can start, in seconds.
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
    let curves: Vec<Curve> = scheme.transfers.iter().filter_map(Curve::of).collect();
    let prebuffers: Vec<f64> = scheme
        .transfers
        .iter()
        .map(|transfer| {
            let curve = Curve::of(transfer);
            curve.map_or(timeout.as_secs_f64(), |curve| curve.line().prebuffer)
        })
        .collect();
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
        difference: other.and_then(|other| {
            let pairs = pairs(&times, &self::times(other, timeout));
            Estimate::of(
                &pairs
                    .iter()
                    .map(|(time, other)| time - other)
                    .collect::<Vec<_>>(),
            )
        }),
        prebuffer: Estimate::of(&prebuffers),
        overhead_ratio: (handed_over > 0)
            .then(|| scheme.overlay.totals.wire_bytes.0 as f64 / handed_over as f64),
        harm: other
            .and_then(|other| Estimate::of_ratio(&pairs(&background(scheme), &background(other)))),
        intact: done().count() > 0 && done().all(|transfer| transfer.intact),
        curves,
    }
}

/// The rounds with their transfer times in seconds.
fn times(scheme: &SchemeRecord, timeout: Duration) -> Vec<(u32, f64)> {
    let time = |duration: Option<Duration>| duration.unwrap_or(timeout).as_secs_f64();
    let transfers = scheme.transfers.iter();
    transfers
        .map(|transfer| (transfer.round, time(transfer.duration)))
        .collect()
}

/// The rounds with the bytes that the background delivered in them.
fn background(scheme: &SchemeRecord) -> Vec<(u32, f64)> {
    let delivered = |bytes: Bytes| (bytes.0 > 0).then_some(bytes.0 as f64);
    let transfers = scheme.transfers.iter();
    transfers
        .filter_map(|transfer| Some((transfer.round, transfer.background.and_then(delivered)?)))
        .collect()
}

/// The values of a scheme and of the baseline in the rounds that both have.
fn pairs(values: &[(u32, f64)], baseline: &[(u32, f64)]) -> Vec<(f64, f64)> {
    let baseline: BTreeMap<u32, f64> = baseline.iter().copied().collect();
    let pair = |(round, value): &(u32, f64)| Some((*value, *baseline.get(round)?));
    values.iter().filter_map(pair).collect()
}

/// Rates up to twice the best mean throughput of a scheme.
fn rates(experiment: &Experiment, schemes: &[SchemeFigures]) -> Vec<f64> {
    let throughput = |(record, figures): (&SchemeRecord, &SchemeFigures)| {
        let size = record.transfers.first()?.size.0 as f64;
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
