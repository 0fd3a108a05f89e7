//! What came of the silences for one candidate.

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};
use polypath_live::stats::Stats;
use polypath_report::statistics::{quantile, quantile_interval};
use polypath_sim::Side;
use serde::Serialize;

use super::candidate::{CandidateResult, LINKS, bytes};
use super::{LATE, SilencePeriod};
use crate::emulation::Snapshot;
use crate::flow::{self, Arrival, INTERVAL};

/// What came of the silences for one candidate.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Who.
    pub name: &'static str,
    /// By how much longer than the flow's interval nothing arrived, in milliseconds.
    pub outage: Distribution,
    /// After which time latencies were normal again, in milliseconds.
    pub normal_again: Distribution,
    /// Silences in which nothing arrived before the path was back.
    pub unbridged: usize,
    /// Messages that were sent.
    pub sent: u32,
    /// Messages that never arrived.
    pub lost: u32,
    /// Bytes a second on each link, both directions together, IP headers included.
    pub wire: [f64; LINKS],
    /// Heartbeats and answers to them in bytes a second: for each end what it sent on each link; nothing where there are
    /// none.
    pub heartbeats: Option<[[f64; LINKS]; 2]>,
    /// Each silence.
    pub samples: Vec<Sample>,
}

/// What came of one silence.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    /// When it began, since the start of the run, in seconds.
    pub from_s: f64,
    /// How long it lasted, in milliseconds.
    pub length_ms: f64,
    /// The link that was silenced, from 0.
    pub link: u8,
    /// The share of the flow's bytes on that link before.
    pub share: f64,
    /// By how much longer than the flow's interval nothing arrived, in milliseconds.
    pub outage_ms: f64,
    /// Whether something arrived later than an interval of the flow after it began, and before the link was back.
    pub bridged: bool,
    /// After which time latencies were normal again, in milliseconds.
    pub normal_again_ms: f64,
}

/// Percentiles of a sample in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Distribution {
    /// The median, with its 95 % interval.
    pub p50: Quantile,
    /// The 90th percentile.
    pub p90: Quantile,
    /// The 99th.
    pub p99: Quantile,
    /// The largest.
    pub max: f64,
}

/// A quantile with its distribution-free 95 % interval; a side on which too few values lie has no bound.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantile {
    /// Of the sample.
    pub value: f64,
    /// The lower bound.
    pub low: Option<f64>,
    /// The upper bound.
    pub high: Option<f64>,
}

impl Distribution {
    /// That of `values`; zeros of no values.
    fn of(values: &[f64]) -> Self {
        let at = |q| {
            let (low, high) = quantile_interval(values, q);
            let value = quantile(values, q).unwrap_or_default();
            Quantile { value, low, high }
        };
        Self {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: quantile(values, 1.0).unwrap_or_default(),
        }
    }
}

impl CandidateResult {
    /// What came of these silences; `totals` are the links' at the end.
    pub(super) fn measure(&self, periods: &[SilencePeriod], totals: &Snapshot) -> Measurement {
        let usual = self.median_latency();
        let samples: Vec<Sample> = (0..periods.len())
            .filter_map(|number| self.sample(periods, number, usual))
            .collect();
        let column = |of: fn(&Sample) -> f64| samples.iter().map(of).collect::<Vec<f64>>();
        let per_second = |count: u64| count as f64 / totals.at.as_secs_f64();
        let link = |number: usize| PathId(u8::from(number == 1));
        let both = |path| bytes(totals, path, Side::Client) + bytes(totals, path, Side::Server);
        let heartbeats =
            |stats: &Stats| [0, 1].map(|at| per_second(stats.paths[at].heartbeats.bytes));
        let mut numbers: Vec<u32> = self.arrivals.iter().map(|arrival| arrival.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Measurement {
            name: self.kind.name(),
            outage: Distribution::of(&column(|sample| sample.outage_ms)),
            normal_again: Distribution::of(&column(|sample| sample.normal_again_ms)),
            unbridged: samples.iter().filter(|sample| !sample.bridged).count(),
            sent: self.sent,
            lost: self.sent - u32::try_from(numbers.len()).unwrap_or(self.sent),
            wire: [0, 1].map(|number| per_second(both(link(number)))),
            heartbeats: self
                .nodes
                .as_ref()
                .map(|nodes| nodes.each_ref().map(heartbeats)),
            samples,
        }
    }

    fn median_latency(&self) -> Duration {
        let latency = |arrival: &Arrival| arrival.latency(self.start);
        let mut latencies: Vec<Duration> = self.arrivals.iter().map(latency).collect();
        latencies.sort_unstable();
        latencies
            .get(latencies.len() / 2)
            .copied()
            .unwrap_or_default()
    }

    fn sample(&self, periods: &[SilencePeriod], number: usize, usual: Duration) -> Option<Sample> {
        let (span, choice) = (periods[number], self.silenced.get(number)?);
        let until = periods.get(number + 1).map_or(Time::MAX, |next| next.from);
        // A flow that never came back stood still at least as long.
        let outage = flow::outage(&self.arrivals, span.from, until);
        let within = |a: &Arrival| a.at > span.from + INTERVAL && a.at < span.until;
        let is_late = |arrival: &&Arrival| arrival.latency(self.start) > usual + LATE;
        let mut met = self
            .arrivals
            .iter()
            .filter(|a| a.at > span.from && a.at < until);
        let normal = met.rfind(is_late).map(|a| a.at.since(span.from));
        let ms = |span: Duration| span.as_secs_f64() * 1e3;
        Some(Sample {
            from_s: span.from.as_secs_f64(),
            length_ms: ms(span.until.since(span.from)),
            link: choice.path.0,
            share: choice.share,
            outage_ms: ms(outage.unwrap_or_else(|| until.since(span.from))),
            bridged: self.arrivals.iter().any(within),
            normal_again_ms: normal.map_or(0.0, ms),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failover::candidate::{CandidateKind, SilencedLink};

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// A flow of 100 messages that take 20 ms each, but for what `arrives` says.
    fn finished(arrives: impl Fn(u64) -> Option<u64>) -> CandidateResult {
        let arrival = |number: u64| {
            let (number_32, at) = (u32::try_from(number).unwrap(), at(arrives(number)?));
            Some(Arrival {
                number: number_32,
                at,
            })
        };
        let mut arrivals: Vec<Arrival> = (0..100).filter_map(arrival).collect();
        arrivals.sort_by_key(|arrival| arrival.at);
        let choice = SilencedLink {
            path: PathId(1),
            share: 0.6,
        };
        CandidateResult {
            kind: CandidateKind::Mptcp,
            start: Time::ZERO,
            sent: 100,
            arrivals,
            silenced: vec![choice; 2],
            nodes: None,
        }
    }

    fn measure(finished: &CandidateResult) -> Measurement {
        let span = |from, until| SilencePeriod {
            from: at(from),
            until: at(until),
        };
        let totals = Snapshot {
            at: at(2000),
            background: polypath_sim::world::BackgroundBytes::default(),
            links: Vec::new(),
        };
        finished.measure(&[span(405, 800), span(1205, 1600)], &totals)
    }

    #[test]
    fn datagrams_that_a_silence_took_are_lost_and_none_is_late() {
        // Due from 400 to 500 ms.
        let measured = measure(&finished(|n| {
            (!(20..=25).contains(&n)).then_some(20 * n + 20)
        }));
        let [first, second] = measured.samples[..] else {
            panic!("{measured:?}")
        };
        assert_eq!((first.outage_ms, second.outage_ms), (120.0, 0.0));
        assert_eq!((first.normal_again_ms, second.normal_again_ms), (0.0, 0.0));
        assert!(first.bridged && second.bridged);
        assert_eq!((measured.lost, measured.unbridged), (6, 0));
        assert_eq!((first.link, first.length_ms), (1, 395.0));
        assert_eq!(
            (measured.outage.p50.value, measured.outage.max),
            (60.0, 120.0)
        );
    }

    #[test]
    fn a_stream_that_stands_still_until_the_link_is_back_is_late_and_loses_nothing() {
        // What is due from 400 to 860 ms comes at 900 ms.
        let measured = measure(&finished(|n| {
            Some(if (20..=43).contains(&n) {
                900
            } else {
                20 * n + 20
            })
        }));
        let first = measured.samples[0];
        assert_eq!((first.outage_ms, first.bridged), (480.0, false));
        let rest = (first.normal_again_ms, measured.lost, measured.unbridged);
        assert_eq!(rest, (495.0, 0, 1));
    }

    #[test]
    fn a_flow_that_never_comes_back_stood_still_at_least_until_the_next_silence() {
        let measured = measure(&finished(|n| (n < 20).then_some(20 * n + 20)));
        assert!(measured.samples[0].outage_ms >= 800.0);
        assert_eq!(measured.unbridged, 2);
    }
}
