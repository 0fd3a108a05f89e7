//! The policies of the nodes.

use polypath_core::combine::Reaction;
use polypath_core::order::{MAX_HOLD, Order};
use polypath_core::policy::delay_centric::{Guard, GuardKind, Heartbeats, Scope, TrendRule};
use polypath_core::policy::{
    DiversityConfig, DiversitySignature, GrowthConfig, PolicyConfig, PredictiveConfig,
    ReactiveConfig, Weights,
};
use polypath_core::repair::{RepairConfig, Share};
use polypath_core::rng::Stream;
use polypath_core::spacing::{
    AdaptiveConfig, Attribution, ControlConfig, CubicConfig, RttSource, SpacingConfig,
};
use polypath_core::time::{Duration, Time};

use super::{
    CONGESTION_FROM, DELAY_CENTRIC_FROM, DIVERSITY_FROM, EcnPlan, FLOW_SCOPE_FROM, FRAGMENTS_FROM,
    IN_TIME_FROM, Incident, ROUND_ROBIN_FROM, SPACING_FROM, Schedule, Settings, fault_intervals,
    pick,
};

/// One of the policies of all schedules; those that name a path name `path`.
pub(super) fn draw(stream: &mut Stream, path: u8) -> PolicyConfig {
    let all = PolicyConfig::DuplicateAll {};
    let policies = [
        all,
        all,
        PolicyConfig::single_path(path),
        PolicyConfig::DuplicateAcks { path },
        PolicyConfig::probe_and_switch(path).or_hysteresis(true),
    ];
    pick(stream, &policies)
}

/// Replaces what schedules have from some seed on.
pub(super) fn draw_later(schedule: &mut Schedule) {
    type Draw = fn(&mut Schedule);
    let all: [(u64, Draw); 9] = [
        (IN_TIME_FROM, draw_in_time),
        (ROUND_ROBIN_FROM, draw_round_robin),
        (DELAY_CENTRIC_FROM, draw_delay_centric),
        (DIVERSITY_FROM, draw_diversity),
        (FLOW_SCOPE_FROM, draw_scopes),
        (FRAGMENTS_FROM, draw_fragments),
        (CONGESTION_FROM, EcnPlan::draw_all_marked),
        (CONGESTION_FROM, draw_masked_losses),
        (SPACING_FROM, draw_spacing),
    ];
    let seed = schedule.seed.0;
    for (_, draw) in all.iter().filter(|(from, _)| seed >= *from) {
        draw(schedule);
    }
}

/// The settings of the nodes at first and after each reload.
fn all_settings(schedule: &mut Schedule) -> impl Iterator<Item = &mut Settings> {
    let incidents = schedule.incidents.iter_mut();
    let reloads = incidents.filter_map(|(_, incident)| match incident {
        Incident::Reload(_, settings) => Some(settings),
        _ => None,
    });
    schedule.nodes.settings.iter_mut().chain(reloads)
}

/// The orders of packets; those of the longest hold also count for the oracles.
const ORDERS: [Order; 4] = [
    Order::Tcp,
    Order::None,
    Order::All(Duration::from_millis(30)),
    Order::All(MAX_HOLD),
];

/// Replaces half of the policies by `in-time`.
fn draw_in_time(schedule: &mut Schedule) {
    let stream = &mut schedule.seed.stream("faults/in-time");
    let orders = &mut schedule.seed.stream("faults/order");
    for settings in all_settings(schedule) {
        let config = RepairConfig {
            deadline: Duration::from_millis(pick(stream, &[20, 100, 200, 1000, 10_000])),
            redundancy: Share::from_millionths(pick(stream, &[0, 100_000, 1_000_000])),
            order: pick(orders, &ORDERS),
        };
        if stream.chance(0.5) {
            settings.policy = PolicyConfig::InTime(config);
        }
    }
}

/// Replaces a third of the policies by round robin, in which a third of the paths is a standby.
fn draw_round_robin(schedule: &mut Schedule) {
    let stream = &mut schedule.seed.stream("faults/round-robin");
    let paths = schedule.paths.len();
    for settings in all_settings(schedule) {
        let is_replaced = stream.chance(0.33);
        let mut weights: Vec<u8> = (0..paths).map(|_| pick(stream, &[0, 1, 3])).collect();
        weights[0] = weights[0].max(u8::from(weights.iter().all(|weight| *weight == 0)));
        if let Some(weights) = Weights::new(&weights).filter(|_| is_replaced) {
            settings.policy = PolicyConfig::RoundRobin { weights };
        }
    }
}

/// Replaces a third of the policies by a delay-centric one.
fn draw_delay_centric(schedule: &mut Schedule) {
    let stream = &mut schedule.seed.stream("faults/delay-centric");
    for settings in all_settings(schedule) {
        let seconds = pick(stream, &[0, 1, 4]);
        let guard = Guard {
            least: Duration::from_secs(seconds.min(1)),
            most: Duration::from_secs(seconds),
            kind: pick(stream, &[GuardKind::Confirm, GuardKind::Hold]),
        };
        let reactive = PolicyConfig::DelayCentric(ReactiveConfig {
            guard,
            ..ReactiveConfig::default()
        });
        let predictive = PolicyConfig::PredictiveDelayCentric(PredictiveConfig {
            threshold: Duration::from_millis(pick(stream, &[0, 70, 150])),
            trend: pick(stream, &[TrendRule::Original, TrendRule::Modified]),
            guard,
            ..PredictiveConfig::default()
        });
        let policy = pick(stream, &[reactive, predictive]);
        if stream.chance(0.33) {
            settings.policy = policy;
        }
    }
}

/// Replaces a fifth of the policies by `delay-growth`, lets each flow choose by itself under half of
/// the delay-centric policies, and heartbeats wait for their answers under a third.
fn draw_scopes(schedule: &mut Schedule) {
    let stream = &mut schedule.seed.stream("faults/delay-centric/scope");
    for settings in all_settings(schedule) {
        if stream.chance(0.2) {
            let ms = |ms| Duration::from_millis(ms);
            settings.policy = PolicyConfig::DelayGrowth(GrowthConfig {
                hysteresis: ms(pick(stream, &[0, 10])),
                window: ms(pick(stream, &[10, 1000])),
                reaction: ms(pick(stream, &[1, 20, 1000])),
                patience: ms(pick(stream, &[100, 20_000])),
                ..GrowthConfig::default()
            });
        }
        let Some(policy) = settings.policy.by_delay() else {
            continue;
        };
        let heartbeats = Heartbeats {
            wait: stream.chance(0.33),
            ..policy.heartbeats()
        };
        let scope = pick(stream, &[Scope::All, Scope::Flow]);
        settings.policy = policy.with_scope(scope).with_heartbeats(heartbeats).into();
    }
}

/// Splits packets under half of the policies `diversity`, and replaces an eighth of all policies by
/// such a one.
fn draw_fragments(schedule: &mut Schedule) {
    let stream = &mut schedule.seed.stream("faults/fragments");
    let paths = schedule.paths.len();
    for settings in all_settings(schedule) {
        // Fewer paths carry copies.
        let recovery = Some(pick(stream, &[1, 2]));
        let recovery = recovery.filter(|recovery| usize::from(*recovery) + 2 <= paths);
        let (is_split, is_replaced) = (stream.chance(0.5), stream.chance(0.125));
        match &mut settings.policy {
            PolicyConfig::Diversity(config) if is_split => config.recovery = recovery,
            policy if is_replaced => {
                *policy = PolicyConfig::Diversity(DiversityConfig {
                    recovery,
                    react: Reaction::Off,
                    ..DiversityConfig::default()
                });
            }
            _ => {}
        }
    }
}

/// In half of the schedules, loses packets on all paths at the same time, which copies mask for the
/// most part, and replaces most policies by `diversity`, with windows that are long enough for the few
/// packets of applications.
fn draw_masked_losses(schedule: &mut Schedule) {
    let stream = &mut schedule.seed.stream("faults/masked");
    if stream.chance(0.5) {
        return;
    }
    let from = Time(stream.below(schedule.calm_from.0));
    fault_intervals::lose_on_all_paths(schedule, from, pick(stream, &[0.1, 0.3]));
    for settings in all_settings(schedule) {
        let config = DiversityConfig {
            react: pick(stream, &[Reaction::Ecn, Reaction::Drop]),
            window: Duration::from_secs(pick(stream, &[3, 10])),
            ..DiversityConfig::default()
        };
        if stream.chance(0.75) {
            settings.policy = PolicyConfig::Diversity(config);
        }
    }
}

/// Replaces a third of the policies by `diversity`.
fn draw_diversity(schedule: &mut Schedule) {
    let stream = &mut schedule.seed.stream("faults/diversity");
    let signatures = [DiversitySignature::Likelihood, DiversitySignature::Paper];
    for settings in all_settings(schedule) {
        let config = DiversityConfig {
            signature: pick(stream, &signatures),
            react: pick(stream, &[Reaction::Ecn, Reaction::Drop, Reaction::Off]),
            window: Duration::from_millis(pick(stream, &[10, 100, 1000])),
            recovery: None,
        };
        if stream.chance(0.33) {
            settings.policy = PolicyConfig::Diversity(config);
        }
    }
}

/// Lets two thirds of the nodes space their packets.
fn draw_spacing(schedule: &mut Schedule) {
    let stream = &mut schedule.seed.stream("faults/spacing");
    for settings in all_settings(schedule) {
        let adaptive = AdaptiveConfig {
            initial: Duration::from_micros(pick(stream, &[0, 100, 5000])),
            attribution: pick(stream, &[Attribution::WhenSent, Attribution::Latest]),
            ..AdaptiveConfig::default()
        };
        let spacing = Duration::from_micros(pick(stream, &[100, 1000]));
        let controls = [
            ControlConfig::Fixed { spacing },
            ControlConfig::AdHoc(adaptive),
            ControlConfig::Damped(adaptive),
            ControlConfig::Cubic(CubicConfig {
                initial: Duration::from_micros(pick(stream, &[100, 5000])),
                max_queue: Duration::from_millis(pick(stream, &[0, 20])),
                ..CubicConfig::default()
            }),
        ];
        let config = SpacingConfig {
            rtt: pick(stream, &[RttSource::Base, RttSource::Smoothed]),
            ..SpacingConfig::new(pick(stream, &controls))
        };
        settings.spacing = stream.chance(0.67).then_some(config);
    }
}
