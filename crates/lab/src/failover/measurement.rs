//! The measurement of one candidate: outages, latency recovery and loss.

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};
use polypath_live::stats::Stats;
use polypath_report::statistics::{quantile, quantile_interval};
use polypath_sim::Side;
use serde::Serialize;

use super::candidate::{CandidateResult, bytes};
use super::parameters::{LATE, LINKS};
use super::schedule::SilencePeriod;
use crate::flow::{self, Arrival, INTERVAL};
use crate::network::Snapshot;

/// The measurement of one candidate.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// The name of the candidate.
    pub name: &'static str,
    /// The outages: the longest gap between arrivals minus the flow's interval, in milliseconds.
    pub outage: Distribution,
    /// The time from the start of a silence to the arrival of the last late message, in
    /// milliseconds.
    pub normal_again: Distribution,
    /// The number of silences during which nothing arrived.
    pub unbridged: usize,
    /// The number of messages sent.
    pub sent: u32,
    /// The number of messages that never arrived.
    pub lost: u32,
    /// Bytes per second on each link, the sum of both directions, IP headers included.
    pub wire: [f64; LINKS],
    /// Bytes per second on each link from the receiver of the flow to its sender: reports,
    /// heartbeats and replies of a node, acknowledgements of MPTCP.
    pub back: [f64; LINKS],
    /// Bytes per second of heartbeats and replies that each node sent on each link; `None` for
    /// MPTCP.
    pub heartbeats: Option<[[f64; LINKS]; 2]>,
    /// The sample of each silence.
    pub samples: Vec<Sample>,
}

/// The effect of one silence.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    /// The start of the silence in seconds since the start of the run.
    pub from_s: f64,
    /// The length of the silence in milliseconds.
    pub length_ms: f64,
    /// The index of the silenced link.
    pub link: u8,
    /// The share of the flow's bytes on that link before the silence.
    pub share: f64,
    /// The longest gap between arrivals minus the flow's interval, in milliseconds.
    pub outage_ms: f64,
    /// Whether a message arrived during the silence, later than one interval after its start.
    pub bridged: bool,
    /// The time to the arrival of the last late message, in milliseconds.
    pub normal_again_ms: f64,
}

/// Quantiles in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Distribution {
    /// The median, with its 95 % interval.
    pub p50: Quantile,
    /// The 90th percentile.
    pub p90: Quantile,
    /// The 99th percentile.
    pub p99: Quantile,
    /// The maximum.
    pub max: f64,
}

/// A quantile with its distribution-free 95 % interval, which has no bound on a side with too few
/// values.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantile {
    /// The sample quantile.
    pub value: f64,
    /// The lower bound.
    pub low: Option<f64>,
    /// The upper bound.
    pub high: Option<f64>,
}

impl Distribution {
    /// The distribution of `values`; zeros if there are none.
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
    /// Computes the measurement of the silences; `totals` are the links' counters at the end.
    pub(super) fn measure(&self, periods: &[SilencePeriod], totals: &Snapshot) -> Measurement {
        let median = self.median_latency();
        let samples: Vec<Sample> = (0..periods.len())
            .filter_map(|number| self.sample(periods, number, median))
            .collect();
        let column = |of: fn(&Sample) -> f64| samples.iter().map(of).collect::<Vec<f64>>();
        let per_second = |count: u64| count as f64 / totals.at.as_secs_f64();
        let link = |number: usize| PathId(u8::from(number == 1));
        let back = |path| bytes(totals, path, Side::Server);
        let both = |path| bytes(totals, path, Side::Client) + back(path);
        let heartbeats =
            |stats: &Stats| [0, 1].map(|at| per_second(stats.paths[at].heartbeats.bytes));
        let mut numbers: Vec<u32> = self
            .flow
            .arrivals
            .iter()
            .map(|arrival| arrival.number)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        Measurement {
            name: self.kind.name(),
            outage: Distribution::of(&column(|sample| sample.outage_ms)),
            normal_again: Distribution::of(&column(|sample| sample.normal_again_ms)),
            unbridged: samples.iter().filter(|sample| !sample.bridged).count(),
            sent: self.flow.sent,
            lost: self.flow.sent - u32::try_from(numbers.len()).unwrap_or(self.flow.sent),
            wire: [0, 1].map(|number| per_second(both(link(number)))),
            back: [0, 1].map(|number| per_second(back(link(number)))),
            heartbeats: self
                .nodes
                .as_ref()
                .map(|nodes| nodes.each_ref().map(heartbeats)),
            samples,
        }
    }

    fn median_latency(&self) -> Duration {
        let latency = |arrival: &Arrival| arrival.latency(self.flow.start);
        let mut latencies: Vec<Duration> = self.flow.arrivals.iter().map(latency).collect();
        latencies.sort_unstable();
        latencies
            .get(latencies.len() / 2)
            .copied()
            .unwrap_or_default()
    }

    fn sample(&self, periods: &[SilencePeriod], number: usize, median: Duration) -> Option<Sample> {
        let (period, link) = (periods[number], self.silenced.get(number)?);
        let until = periods.get(number + 1).map_or(Time::MAX, |next| next.from);
        // For a flow that never resumed this is a lower bound.
        let outage = flow::outage(&self.flow.arrivals, period.from, until);
        let within = |a: &Arrival| a.at > period.from + INTERVAL && a.at < period.until;
        let is_late = |arrival: &&Arrival| arrival.latency(self.flow.start) > median + LATE;
        let mut affected = self
            .flow
            .arrivals
            .iter()
            .filter(|a| a.at > period.from && a.at < until);
        let normal = affected.rfind(is_late).map(|a| a.at.since(period.from));
        let ms = |span: Duration| span.as_secs_f64() * 1e3;
        Some(Sample {
            from_s: period.from.as_secs_f64(),
            length_ms: ms(period.until.since(period.from)),
            link: link.path.0,
            share: link.share,
            outage_ms: ms(outage.unwrap_or_else(|| until.since(period.from))),
            bridged: self.flow.arrivals.iter().any(within),
            normal_again_ms: normal.map_or(0.0, ms),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failover::candidate::{CandidateKind, FlowResult, SilencedLink};
    use crate::network::BoundaryCounters;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// A flow of 100 messages with an interval of 20 ms; `arrives` maps a number to its arrival in
    /// ms.
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
        let link = SilencedLink {
            path: PathId(1),
            share: 0.6,
        };
        CandidateResult {
            kind: CandidateKind::Mptcp,
            flow: FlowResult {
                start: Time::ZERO,
                sent: 100,
                arrivals,
            },
            silenced: vec![link; 2],
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
            sent: Vec::new(),
            boundary: BoundaryCounters::default(),
            links: Vec::new(),
        };
        finished.measure(&[span(405, 800), span(1205, 1600)], &totals)
    }

    #[test]
    fn datagrams_dropped_by_a_silence_are_lost_and_none_is_late() {
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
    fn a_stream_stalled_until_the_link_is_back_is_late_and_loses_nothing() {
        // Messages due from 400 to 860 ms arrive at 900 ms.
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
    fn the_outage_of_a_flow_that_never_resumes_lasts_at_least_until_the_next_silence() {
        let measured = measure(&finished(|n| (n < 20).then_some(20 * n + 20)));
        assert!(measured.samples[0].outage_ms >= 800.0);
        assert_eq!(measured.unbridged, 2);
    }
}
