//! Runs of several schemes with the same seeds.

use polypath_batch::replica_seeds;
use polypath_claims::{Measurement, Pending, SEED, Sample, Study};
use polypath_report::plot::{Look, Series};

use crate::figures::estimates::point;
use crate::jobs::multitcp::in_lab::StreamingInLab;
use crate::jobs::multitcp::setting::{Setting, Stream};
use crate::jobs::multitcp::time_series::{Streaming, TimeSeries};

/// A scheme that carries the stream, with its name in rules, such as `c2`.
pub(super) type Scheme = (&'static str, Stream);

/// A period from one second to another.
pub(super) type Period = (usize, usize);

/// The seeds of several runs of each scheme.
pub(super) fn seeds(study: &Study<'_>) -> Vec<u64> {
    replica_seeds(SEED, study.pick(3, 10))
}

/// The seeds of the runs in the lab, which take their time.
pub(super) fn lab_seeds(study: &Study<'_>) -> Vec<u64> {
    replica_seeds(SEED, study.pick(1, 2))
}

/// The results, by scheme and seed.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    seeds: Vec<u64>,
    schemes: Vec<(&'static str, Vec<TimeSeries>)>,
}

impl Runs {
    /// Runs every scheme with every seed.
    ///
    /// # Errors
    /// If results are missing.
    pub(super) fn of(
        study: &mut Study<'_>,
        schemes: &[Scheme],
        seeds: &[u64],
        setting: impl Fn(Stream, u64) -> Setting,
    ) -> Result<Self, Pending> {
        let pairs = schemes
            .iter()
            .flat_map(|(_, stream)| seeds.iter().map(move |&seed| (*stream, seed)));
        let jobs = pairs.map(|(stream, seed)| Streaming(setting(stream, seed)));
        let series = study.request_all(jobs)?;
        let names = schemes.iter().map(|(name, _)| *name);
        let series = series
            .chunks(seeds.len().max(1))
            .map(<[TimeSeries]>::to_vec);
        Ok(Self {
            seeds: seeds.to_vec(),
            schemes: names.zip(series).collect(),
        })
    }

    /// Runs every scheme in the lab, all of a seed together; `None` without a lab.
    ///
    /// # Errors
    /// If results are missing.
    pub(super) fn in_lab(
        study: &mut Study<'_>,
        schemes: &[Scheme],
        seeds: &[u64],
        setting: impl Fn(Stream, u64) -> Setting,
    ) -> Result<Option<Self>, Pending> {
        let job = |&seed: &u64| StreamingInLab {
            settings: schemes
                .iter()
                .map(|(_, stream)| setting(*stream, seed))
                .collect(),
            congestion_control: "reno",
        };
        // Each is requested before the first that is missing ends this.
        let of_seeds: Vec<_> = seeds
            .iter()
            .map(|seed| study.request_in_lab(&job(seed)))
            .collect();
        let of_seeds = of_seeds
            .into_iter()
            .collect::<Result<Option<Vec<_>>, _>>()?;
        Ok(of_seeds.map(|of_seeds| {
            let of_scheme = |at: usize| {
                let series = of_seeds.iter().filter_map(|series| series.get(at));
                series.cloned().collect()
            };
            let schemes = schemes.iter().enumerate();
            Self {
                seeds: seeds.to_vec(),
                schemes: schemes
                    .map(|(at, (name, _))| (*name, of_scheme(at)))
                    .collect(),
            }
        }))
    }

    /// The runs of a scheme.
    pub(super) fn of_scheme(&self, scheme: &str) -> &[TimeSeries] {
        let found = self.schemes.iter().find(|(name, _)| *name == scheme);
        found.map_or(&[], |(_, series)| series)
    }

    /// A value from each run of a scheme; runs without one are left out.
    pub(super) fn samples(
        &self,
        scheme: &str,
        mut of: impl FnMut(&TimeSeries) -> Option<f64>,
    ) -> Vec<Sample> {
        let runs = self.seeds.iter().zip(self.of_scheme(scheme));
        runs.filter_map(|(&seed, run)| {
            let value = of(run)?;
            Some(Sample { seed, value })
        })
        .collect()
    }

    /// The throughput of a scheme over a period, in kb/s.
    pub(super) fn throughput(&self, scheme: &str, (from, to): Period) -> Vec<Sample> {
        self.samples(scheme, |run| TimeSeries::mean(&run.throughput, from, to))
    }

    /// The sum of windows of a scheme over a period, in segments.
    pub(super) fn windows(&self, scheme: &str, (from, to): Period) -> Vec<Sample> {
        self.samples(scheme, |run| TimeSeries::mean(&run.windows, from, to))
    }

    /// The number of connections of a scheme over a period.
    pub(super) fn connections(&self, scheme: &str, (from, to): Period) -> Vec<Sample> {
        self.samples(scheme, |run| TimeSeries::mean(&run.connections, from, to))
    }

    /// The goodput of the other transfers over a period, in kb/s.
    pub(super) fn cross(&self, scheme: &str, (from, to): Period) -> Vec<Sample> {
        self.samples(scheme, |run| TimeSeries::mean(&run.cross, from, to))
    }

    /// The time series of a scheme in means over `step` seconds and all runs.
    pub(super) fn series(
        &self,
        scheme: &str,
        name: &str,
        step: usize,
        of: impl Fn(&TimeSeries) -> &[f64],
    ) -> Series {
        let end = self.of_scheme(scheme).iter().map(|run| of(run).len()).max();
        let starts = (0..end.unwrap_or(0)).step_by(step);
        let points = starts.filter_map(|from| {
            let mean = |run: &TimeSeries| TimeSeries::mean(of(run), from, from + step);
            let middle = from as f64 + step as f64 / 2.0;
            point(middle, &self.samples(scheme, mean))
        });
        Series {
            name: name.to_owned(),
            points: points.collect(),
            look: Look::Trace,
        }
    }
}

/// A quantity of a claim, in kb/s.
pub(super) fn kbits(claim: &str, quantity: &str, samples: &[Sample]) -> Measurement {
    Measurement::of(claim, quantity, "kb/s", GROUP, samples)
}

/// A quantity of a claim, in segments.
pub(super) fn segments(claim: &str, quantity: &str, samples: &[Sample]) -> Measurement {
    Measurement::of(claim, quantity, "segments", GROUP, samples)
}

/// All schemes run with the same seeds.
pub(super) const GROUP: &str = "runs";
