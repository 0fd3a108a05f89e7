//! The figures of each setting over all runs, the rule for unstable runs, and the recommended
//! setting.

use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use polypath_sim::{DelayPercentiles, PathLoad, SendersOutcome};

use super::StabilityRecord;
use crate::statistics::Estimate;

/// The figures of all settings.
#[derive(Clone, Debug, PartialEq)]
pub struct StabilityFigures {
    /// The mean delay in seconds above which a run is unstable: the geometric mean of the delay of a
    /// datagram over the fastest idle path and of one that finds the slowest path's queues full.
    ///
    /// The mean delay of runs has two modes, "one close to zero (minimum delay), and the other
    /// between zero and the maximum delay" (delay-centric paper, IV.A); this is the middle between
    /// both limits on the scale of its logarithm.
    pub unstable_above: f64,
    /// The figures of each setting.
    pub settings: Vec<SettingFigures>,
    /// The position of the recommended setting; `None` for a single setting, if nothing arrived, or
    /// with runs in the lab, which compare simulation and lab.
    ///
    /// Of the settings with the fewest unstable runs, among those whose 99th percentile of the delay
    /// does not differ from the lowest (the 95 % interval of the difference includes zero), it is the
    /// one with the fewest switches, and of equal ones the one with the lowest percentile.
    pub recommended: Option<usize>,
}

/// The figures of one setting. Shares are from 0 to 1, times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingFigures {
    /// Path switches of a sender per second.
    pub switch_rate: Option<Estimate>,
    /// Heartbeats of a sender per second.
    pub heartbeat_rate: Option<Estimate>,
    /// All bytes on the wire, in both directions, over those of the datagrams sent.
    pub wire_ratio: Option<Estimate>,
    /// The mean delay of the datagrams of each run.
    pub mean_delay: Option<Estimate>,
    /// The 50th, 90th and 99th percentile of the delay of the datagrams of each run.
    pub delay: [Option<Estimate>; 3],
    /// The share of lost datagrams of those due before the end of the run.
    pub lost: Option<Estimate>,
    /// The number of unstable runs.
    pub unstable: usize,
    /// The number of runs.
    pub runs: usize,
    /// The load of each path.
    pub paths: Vec<PathFigures>,
}

/// The load of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathFigures {
    /// The mean share of the senders.
    pub share: Option<Estimate>,
    /// The standard deviation of that share over time in each run.
    pub deviation: Option<Estimate>,
}

impl StabilityFigures {
    /// The figures of a record.
    #[must_use]
    pub fn of(record: StabilityRecord<'_>) -> Self {
        let senders = record.network.senders();
        let count = senders.map_or(1, |senders| senders.count());
        let packet = senders.map_or(Bytes(1), |senders| senders.traffic.packet());
        let unstable_above = senders.map_or(0.0, |senders| {
            let paths = senders.paths();
            let idle = paths.iter().map(|path| path.idle_delay).min();
            let full = paths.iter().map(|path| path.full_delay).max();
            let seconds = |delay: Option<Duration>| delay.unwrap_or_default().as_secs_f64();
            (seconds(idle) * seconds(full)).sqrt()
        });
        let settings: Vec<SettingFigures> = record
            .outcomes
            .iter()
            .map(|outcomes| SettingFigures::of(outcomes, count, packet, unstable_above))
            .collect();
        let recommended = (settings.len() > 1 && record.lab.is_none())
            .then(|| recommended(&settings))
            .flatten();
        Self {
            unstable_above,
            settings,
            recommended,
        }
    }
}

impl SettingFigures {
    fn of(outcomes: &[SendersOutcome], senders: u32, packet: Bytes, unstable_above: f64) -> Self {
        let percentile = |of: fn(&DelayPercentiles) -> Duration| {
            estimate(outcomes, |run| Some(of(run.delay.as_ref()?).as_secs_f64()))
        };
        let paths = outcomes.iter().map(|run| run.paths.len()).max();
        let path = |n: usize| PathFigures {
            share: estimate(outcomes, |run| chosen(run)?.get(n).map(|of| of.share)),
            deviation: estimate(outcomes, |run| chosen(run)?.get(n).map(|of| of.deviation)),
        };
        let rate = |of: fn(&SendersOutcome) -> u64| {
            estimate(outcomes, |run| {
                let seconds = run.measured.as_secs_f64();
                (seconds > 0.0).then(|| of(run) as f64 / seconds / f64::from(senders))
            })
        };
        Self {
            switch_rate: rate(|run| run.switches),
            heartbeat_rate: rate(|run| run.heartbeats),
            wire_ratio: estimate(outcomes, |run| {
                let payload = run.sent as f64 * packet.0 as f64;
                (payload > 0.0).then_some(run.wire_bytes? as f64 / payload)
            }),
            mean_delay: estimate(outcomes, |run| run.mean_delay),
            delay: [
                percentile(|delay| delay.p50),
                percentile(|delay| delay.p90),
                percentile(|delay| delay.p99),
            ],
            lost: estimate(outcomes, |run| run.due.lost()),
            unstable: outcomes
                .iter()
                .filter(|run| is_unstable(run, unstable_above))
                .count(),
            runs: outcomes.len(),
            paths: (0..paths.unwrap_or(0)).map(path).collect(),
        }
    }

    /// The share of unstable runs.
    #[must_use]
    pub fn unstable_share(&self) -> Option<f64> {
        (self.runs > 0).then(|| self.unstable as f64 / self.runs as f64)
    }
}

/// Whether the mean delay of a run is above `limit` in seconds, or nothing arrived.
pub(super) fn is_unstable(run: &SendersOutcome, limit: f64) -> bool {
    run.mean_delay.is_none_or(|delay| delay > limit)
}

/// The loads of the paths; `None` if senders choose none, since every path carries every datagram.
fn chosen(run: &SendersOutcome) -> Option<&[PathLoad]> {
    let is_chosen = run.paths.iter().any(|path| path.share > 0.0);
    is_chosen.then_some(&run.paths)
}

fn estimate(
    outcomes: &[SendersOutcome],
    value: impl Fn(&SendersOutcome) -> Option<f64>,
) -> Option<Estimate> {
    let values: Vec<f64> = outcomes.iter().filter_map(value).collect();
    Estimate::of(&values)
}

/// The setting that [`StabilityFigures::recommended`] describes.
fn recommended(settings: &[SettingFigures]) -> Option<usize> {
    let fewest = settings.iter().map(|of| of.unstable).min()?;
    let p99 = |position: usize| settings[position].delay[2];
    let stable: Vec<usize> = (0..settings.len())
        .filter(|at| settings[*at].unstable == fewest && p99(*at).is_some())
        .collect();
    let mean = |at: &usize| p99(*at).map_or(f64::INFINITY, |estimate| estimate.mean);
    let lowest = stable
        .iter()
        .copied()
        .min_by(|a, b| mean(a).total_cmp(&mean(b)))?;
    let is_as_low = |at: &usize| {
        let difference = p99(*at).zip(p99(lowest)).map(|(a, b)| a.minus(&b));
        *at == lowest || difference.and_then(|of| of.includes(0.0)) == Some(true)
    };
    let rate = |at: &usize| {
        settings[*at]
            .switch_rate
            .map_or(f64::INFINITY, |of| of.mean)
    };
    let as_low = stable.into_iter().filter(is_as_low);
    as_low.min_by(|a, b| {
        let by_rate = rate(a).total_cmp(&rate(b));
        by_rate.then_with(|| mean(a).total_cmp(&mean(b)))
    })
}
