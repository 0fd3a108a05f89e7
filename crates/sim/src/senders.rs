//! Senders that choose among the same paths: how often they switch, how the load is shared, and the
//! delay that follows.

use std::ops::Range;

use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};
use polypath_scenario::Network;
use polypath_scenario::network::Senders;

use crate::agents::{AgentEvent, PathChange};
use crate::flow::{DueDatagrams, FlowCounters};
use crate::percentiles::DelayPercentiles;
use crate::run::{NetworkObserver, NetworkOutcome};
use crate::world::{Detail, NetworkEvent};

/// The number of points in the history of a run.
const HISTORY: u32 = 400;

/// The outcome of a run of senders, after the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct SendersOutcome {
    /// The measured time.
    pub measured: Duration,
    /// The number of path switches of all senders.
    pub switches: u64,
    /// The number of datagrams that all senders sent.
    pub sent: u64,
    /// The number of these that arrived, and of earlier ones that arrived after the warm-up.
    pub arrived: u64,
    /// The datagrams whose arrival was due before the end ([`Network::due_span`]).
    pub due: DueDatagrams,
    /// The number of heartbeats that all senders sent.
    pub heartbeats: u64,
    /// All bytes on the wire, in both directions; `None` where they are not counted, as in the lab.
    pub wire_bytes: Option<u64>,
    /// The mean one-way delay of the datagrams in seconds; `None` if none arrived.
    pub mean_delay: Option<f64>,
    /// Percentiles of these delays.
    pub delay: Option<DelayPercentiles>,
    /// The load of each path.
    pub paths: Vec<PathLoad>,
}

/// The datagrams of all senders after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SendersTotals {
    /// The measured time.
    pub measured: Duration,
    /// The number of datagrams sent.
    pub sent: u64,
    /// The datagrams whose arrival was due before the end ([`Network::due_span`]).
    pub due: DueDatagrams,
    /// The number of heartbeats sent.
    pub heartbeats: u64,
    /// All bytes on the wire, in both directions; `None` where they are not counted, as in the lab.
    pub wire_bytes: Option<u64>,
    /// The number of datagrams that arrived.
    pub arrived: u64,
    /// Their mean one-way delay in seconds; `None` if none arrived.
    pub mean_delay: Option<f64>,
    /// Percentiles of these delays.
    pub delay: Option<DelayPercentiles>,
}

/// The load of a path: the share of the senders that use it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathLoad {
    /// The mean over time.
    pub share: f64,
    /// The standard deviation over time.
    pub deviation: f64,
    /// The share at evenly spaced times, the first at the end of the warm-up.
    pub history: Vec<f64>,
}

/// Observes the paths that senders choose.
#[derive(Clone, Debug)]
pub struct PathChoices {
    /// The positions of the senders among the flows.
    senders: Range<usize>,
    start: Time,
    /// The time between two points of the history.
    step: Duration,
    /// The number of senders on each path.
    using: Vec<u32>,
    switches: u64,
    /// The time up to which the sums are complete.
    now: Time,
    /// For each path the sums over time of its share, and of the square of it, times seconds.
    sums: Vec<[f64; 2]>,
    history: Vec<Vec<f64>>,
}

impl PathChoices {
    /// An observer of the senders of a network.
    #[must_use]
    pub fn of(network: &Network, senders: &Senders<'_>) -> Self {
        let paths = senders.traffic.ways().len();
        let measured = network.run.duration - network.run.warm_up;
        Self {
            senders: senders.flows(),
            start: Time::ZERO + network.run.warm_up,
            step: Duration((measured.as_nanos() / u64::from(HISTORY)).max(1)),
            using: vec![0; paths],
            switches: 0,
            now: Time::ZERO,
            sums: vec![[0.0; 2]; paths],
            history: vec![Vec::new(); paths],
        }
    }

    /// The outcome of the simulated run that this observed, with the senders at `position` among
    /// the flows of its file.
    #[must_use]
    pub fn outcome(&self, network: &NetworkOutcome, position: usize) -> SendersOutcome {
        let flows = network.flows[self.senders.clone()].iter();
        let total: FlowCounters = flows.flat_map(|flow| flow.spans.iter().copied()).sum();
        self.outcome_of(SendersTotals {
            measured: network.measured(),
            sent: total.sender.sent,
            due: total.due,
            heartbeats: total.heartbeats,
            wire_bytes: Some(total.wire_bytes),
            arrived: total.delays.count,
            mean_delay: total.delays.mean(),
            delay: network.delay_percentiles.get(position).copied().flatten(),
        })
    }

    /// The outcome of a run with these totals and the observed changes.
    #[must_use]
    pub fn outcome_of(&self, totals: SendersTotals) -> SendersOutcome {
        let seconds = self
            .now
            .since(self.start)
            .as_secs_f64()
            .max(f64::MIN_POSITIVE);
        let load = |(sums, history): (&[f64; 2], &Vec<f64>)| {
            let [share, square] = sums.map(|sum| sum / seconds);
            PathLoad {
                share,
                deviation: (square - share * share).max(0.0).sqrt(),
                history: history.clone(),
            }
        };
        SendersOutcome {
            measured: totals.measured,
            switches: self.switches,
            sent: totals.sent,
            due: totals.due,
            heartbeats: totals.heartbeats,
            wire_bytes: totals.wire_bytes,
            arrived: totals.arrived,
            mean_delay: totals.mean_delay,
            delay: totals.delay,
            paths: self.sums.iter().zip(&self.history).map(load).collect(),
        }
    }

    /// Observes the time until `now`, in which no sender changes its path.
    pub fn advance(&mut self, now: Time) {
        let before = std::mem::replace(&mut self.now, now).max(self.start);
        if now <= before {
            return;
        }
        let span = now.since(before).as_secs_f64();
        let all = f64::from(self.using.iter().sum::<u32>().max(1));
        let points = self.points_until(now);
        let paths = self.using.iter().zip(&mut self.sums).zip(&mut self.history);
        for ((using, sums), history) in paths {
            let share = f64::from(*using) / all;
            sums[0] += share * span;
            sums[1] += share * share * span;
            history.resize(points, share);
        }
    }

    /// The number of points of the history before `now`.
    fn points_until(&self, now: Time) -> usize {
        let steps = now
            .since(self.start)
            .as_nanos()
            .div_ceil(self.step.as_nanos());
        usize::try_from(steps.min(u64::from(HISTORY))).unwrap_or(usize::MAX)
    }

    /// Observes a sender that begins on a path or moves to another; times do not decrease.
    pub fn change(&mut self, at: Time, PathChange { from, to }: PathChange) {
        self.advance(at);
        let mut add = |path: PathId, by: fn(u32, u32) -> u32| {
            if let Some(using) = self.using.get_mut(path.index()) {
                *using = by(*using, 1);
            }
        };
        add(to, u32::saturating_add);
        if let Some(from) = from {
            add(from, u32::saturating_sub);
            self.switches += u64::from(at >= self.start);
        }
    }
}

impl NetworkObserver for PathChoices {
    fn on_progress(&mut self, now: Time) {
        self.advance(now);
    }

    fn detail(&self) -> Detail {
        Detail {
            flow_events: true,
            packets: false,
        }
    }

    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        if let NetworkEvent::Agent {
            flow,
            event: AgentEvent::Path(change),
        } = event
            && self.senders.contains(&(*flow as usize))
        {
            self.change(at, *change);
        }
    }
}

#[cfg(test)]
mod tests {
    use polypath_core::units::Rate;

    use super::*;

    const TEXT: &str = include_str!("../../../scenarios/two-uplinks.toml");

    fn network(senders: &str) -> Network {
        let sets = [
            &format!("flow.callers.count={senders}"),
            "run.duration=11 s",
            "run.warm_up=1 s",
            "run.batches=2",
            "run.percentiles=true",
        ];
        let sets = sets.map(|set| set.parse().unwrap());
        Network::parse_senders(TEXT, "two-uplinks.toml", &sets, &mut |_| unreachable!()).unwrap()
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn change(from: Option<u8>, to: u8) -> PathChange {
        PathChange {
            from: from.map(PathId),
            to: PathId(to),
        }
    }

    /// Of four senders one is on the second path for a quarter of the measured 10 s.
    #[test]
    fn shares_are_means_over_time_and_switches_count_after_the_warm_up() {
        let network = network("4");
        let mut choices = PathChoices::of(&network, &network.senders().unwrap());
        for _ in 0..4 {
            choices.change(at(0), change(None, 0));
        }
        choices.change(at(500), change(Some(0), 1));
        choices.change(at(900), change(Some(1), 0));
        choices.change(at(1000), change(Some(0), 1));
        choices.change(at(3500), change(Some(1), 0));
        choices.on_progress(at(11_000));
        let flow = polypath_flow();
        let found = choices.outcome(&flow, 0);
        assert_eq!(found.switches, 2);
        let [first, second] = &found.paths[..] else {
            panic!("{found:?}");
        };
        assert!((second.share - 0.25 * 0.25).abs() < 1e-9, "{second:?}");
        assert!((first.share + second.share - 1.0).abs() < 1e-9);
        // A share of 1/4 with probability 1/4: variance 1/16 * 1/4 * 3/4.
        assert!((second.deviation - (3.0_f64 / 256.0).sqrt()).abs() < 1e-9);
        assert_eq!(second.history.len(), HISTORY as usize);
        assert_eq!((second.history[0], second.history[100]), (0.25, 0.0));
    }

    /// An outcome of four flows without packets.
    fn polypath_flow() -> NetworkOutcome {
        let flow = crate::run::FlowOutcome {
            name: "callers".to_owned(),
            tcp: false,
            spans: vec![FlowCounters::default()],
            windows: Vec::new(),
            receiver_rtts: Vec::new(),
            files: Vec::new(),
            streams: Vec::new(),
        };
        NetworkOutcome {
            start: at(1000),
            span: Duration::from_secs(10),
            flows: vec![flow; 4],
            links: Vec::new(),
            delay_percentiles: vec![None],
        }
    }

    /// Far below capacity nobody waits, so nobody switches, and the delay is that of an idle path.
    #[test]
    fn senders_on_idle_paths_stay() {
        let mut network = network("10");
        for edge in &mut network.links {
            edge.link.rate = Some(Rate::from_mbits(100));
        }
        let senders = network.senders().unwrap();
        let idle = senders.paths()[0].idle_delay;
        let mut choices = PathChoices::of(&network, &senders);
        let seed = polypath_core::rng::Seed(1);
        let outcome = crate::run_network(&network, seed, &mut choices).unwrap();
        let found = choices.outcome(&outcome, senders.position);
        assert_eq!(found.switches, 0);
        assert!((4990..=5010).contains(&found.sent), "{}", found.sent);
        let mean = found.mean_delay.unwrap();
        assert!((mean - idle.as_secs_f64()).abs() < 1e-4, "{mean}");
        let shares: f64 = found.paths.iter().map(|path| path.share).sum();
        assert!((shares - 1.0).abs() < 1e-9);
    }
}
