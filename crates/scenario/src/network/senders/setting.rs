//! The settings of the path policy that are compared: that of the file, those of the paper, a grid.

use polypath_core::policy::delay_centric::{Guard, Heartbeats, TrendRule};
use polypath_core::policy::{
    DelayCentricConfig, DiversityConfig, GrowthConfig, PolicyConfig, PredictiveConfig,
    ReactiveConfig, Weights,
};
use polypath_core::repair::RepairConfig;
use polypath_core::time::Duration;

use super::SenderTraffic;

/// A path policy of all senders, with its name in reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The name.
    pub name: String,
    /// The policy.
    pub policy: PolicyConfig,
    /// Its point of the grid; `None` for a policy that is no point of one.
    pub point: Option<GridPoint>,
    /// Whether its senders are simulated, or run in the lab.
    pub mode: RunMode,
}

/// The senders of a run: simulated ones, or those on real sockets in the lab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunMode {
    /// In virtual time.
    #[default]
    Simulation,
    /// In real time, over emulated links.
    Lab,
}

/// A point of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridPoint {
    /// The hysteresis, or the threshold of the predictive policy.
    pub hysteresis: Duration,
    /// The mean guard time; 0 for none.
    pub guard_time: Duration,
    /// The mean heartbeat interval.
    pub heartbeat: Duration,
}

/// The values of a grid over hysteresis, guard time and heartbeat interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyGrid {
    /// The hystereses, or the thresholds of the predictive policy.
    pub hysteresis: Vec<Duration>,
    /// The mean guard times; a guard time is drawn within 60 % of it, as 1 to 4 s are in the paper.
    pub guard_time: Vec<Duration>,
    /// The mean heartbeat intervals; an interval is drawn within half of it, as 0.5 to 1.5 s are in
    /// the paper.
    pub heartbeat: Vec<Duration>,
}

impl Setting {
    /// The setting of a policy that is no point of a grid.
    #[must_use]
    pub fn named(name: &str, policy: PolicyConfig) -> Self {
        Self {
            name: name.to_owned(),
            policy,
            point: None,
            mode: RunMode::Simulation,
        }
    }

    /// The same setting in the lab.
    #[must_use]
    pub fn in_lab(&self) -> Self {
        Self {
            name: format!("{}, lab", self.name),
            mode: RunMode::Lab,
            ..self.clone()
        }
    }

    /// The policies with which those of senders of this kind are compared. Nodes: all others that
    /// differ for datagrams, with their default parameters, predictive with the paper's guard time,
    /// and fragments of which one may be lost. Multihomed sources: those of the paper
    /// and `delay-growth`, whichever theirs is.
    #[must_use]
    pub fn baselines(traffic: SenderTraffic<'_>) -> Vec<Self> {
        match traffic {
            SenderTraffic::Multihomed(traffic) => {
                let growth = PolicyConfig::DelayGrowth(GrowthConfig {
                    heartbeats: traffic.policy.heartbeats(),
                    ..GrowthConfig::default()
                });
                let mut all = Self::of_paper(traffic.policy);
                all.push(Self::named(growth.name(), growth));
                all
            }
            SenderTraffic::Tunnel(_) => {
                let mut others = Self::of_nodes(traffic.ways().len());
                let own = traffic.policy().or_hysteresis(true);
                others.retain(|setting| setting.policy != own);
                others
            }
        }
    }

    /// The policies of nodes with this number of paths that differ for datagrams: `duplicate-acks`
    /// treats them as `single-path` does, and `diversity` with copies as `duplicate-all`.
    pub(super) fn of_nodes(paths: usize) -> Vec<Self> {
        let fragments = PolicyConfig::Diversity(DiversityConfig {
            recovery: Some(1),
            ..DiversityConfig::default()
        });
        let guarded = PolicyConfig::PredictiveDelayCentric(PredictiveConfig {
            guard: Self::guard_of_paper(),
            ..PredictiveConfig::default()
        });
        let all = [
            PolicyConfig::single_path(0),
            PolicyConfig::RoundRobin {
                weights: Weights::default(),
            },
            PolicyConfig::probe_and_switch(0).or_hysteresis(true),
            PolicyConfig::DuplicateAll {},
            PolicyConfig::DelayCentric(ReactiveConfig::default()),
            PolicyConfig::PredictiveDelayCentric(PredictiveConfig::default()),
            PolicyConfig::DelayGrowth(GrowthConfig::default()),
            PolicyConfig::InTime(RepairConfig::default()),
        ];
        let named = all.map(|policy| Self::named(policy.name(), policy));
        let others = [
            Self::named("predictive-delay-centric, guard time", guarded),
            Self::named("fragments", fragments),
        ];
        let mut all: Vec<Self> = named.into_iter().chain(others).collect();
        // Fragments need three paths.
        all.retain(|setting| setting.policy.check(paths).is_ok());
        all
    }

    /// The guard time of the paper (IV.A).
    const fn guard_of_paper() -> Guard {
        Guard {
            least: Duration::from_secs(1),
            most: Duration::from_secs(4),
            ..Guard::NONE
        }
    }

    /// The mechanisms (i) to (iv) of the delay-centric paper (III), and the predictive ones with the
    /// original trend rule (IV.C), with the heartbeats of `policy`.
    #[must_use]
    pub fn of_paper(policy: DelayCentricConfig) -> Vec<Self> {
        let heartbeats = policy.heartbeats();
        let guard = Self::guard_of_paper();
        let reactive = |guard| {
            DelayCentricConfig::DelayCentric(ReactiveConfig {
                guard,
                heartbeats,
                ..ReactiveConfig::default()
            })
        };
        let predictive = |trend, guard| {
            DelayCentricConfig::PredictiveDelayCentric(PredictiveConfig {
                threshold: Duration::from_millis(70),
                trend,
                guard,
                heartbeats,
                ..PredictiveConfig::default()
            })
        };
        let none = Guard::default();
        let all = [
            ("pure", reactive(none)),
            ("guard", reactive(guard)),
            ("predictive", predictive(TrendRule::Modified, none)),
            ("predictive-guard", predictive(TrendRule::Modified, guard)),
            ("original", predictive(TrendRule::Original, none)),
            ("original-guard", predictive(TrendRule::Original, guard)),
        ];
        all.map(|(name, policy)| Self::named(name, policy.into()))
            .into()
    }
}

impl GridPoint {
    /// `policy` with the values of this point.
    #[must_use]
    pub fn applied(self, policy: DelayCentricConfig) -> DelayCentricConfig {
        let guard = Guard {
            least: self.guard_time.scale(2, 5),
            most: self.guard_time.scale(8, 5),
            ..policy.guard()
        };
        let heartbeats = Heartbeats {
            least: self.heartbeat.scale(1, 2),
            most: self.heartbeat.scale(3, 2),
            ..policy.heartbeats()
        };
        policy
            .with_margin(self.hysteresis)
            .with_guard(guard)
            .with_heartbeats(heartbeats)
    }
}

impl PolicyGrid {
    /// The points, the last value varying fastest.
    pub fn points(&self) -> impl Iterator<Item = GridPoint> {
        self.hysteresis.iter().flat_map(move |&hysteresis| {
            self.guard_time.iter().flat_map(move |&guard_time| {
                self.heartbeat.iter().map(move |&heartbeat| GridPoint {
                    hysteresis,
                    guard_time,
                    heartbeat,
                })
            })
        })
    }

    /// The settings of all points: `policy` with their values.
    #[must_use]
    pub fn settings(&self, policy: DelayCentricConfig) -> Vec<Setting> {
        let setting = |point: GridPoint| {
            let GridPoint {
                hysteresis,
                guard_time,
                heartbeat,
            } = point;
            let guard = if guard_time == Duration::ZERO {
                "no guard time".to_owned()
            } else {
                format!("guard time {guard_time}")
            };
            let margin = if hysteresis == Duration::ZERO {
                "0 s".to_owned()
            } else {
                hysteresis.to_string()
            };
            Setting {
                name: format!("{margin}, {guard}, heartbeats {heartbeat}"),
                policy: point.applied(policy).into(),
                point: Some(point),
                mode: RunMode::Simulation,
            }
        };
        self.points().map(setting).collect()
    }
}
