//! The impairments of the paths.

use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};

use super::delivery_oracle::MAX_REORDERING;
use super::{Disturbance, FaultInterval, Impairment, Schedule, Span, pick};
use crate::datagram::End;

/// The largest difference between the starts of a correlated outage on two paths.
const MAX_SKEW: Duration = Duration::from_millis(200);
/// The maximum number of fault intervals before the calm.
const MAX_INTERVALS: u64 = 12;

/// Draws the impairments; during the calm only those that no required packet depends on.
pub(super) fn draw(schedule: &mut Schedule) {
    draw_slow_relays(schedule);
    let mut stream = schedule.seed.stream("faults/spells");
    for _ in 0..stream.below(MAX_INTERVALS + 1) {
        let interval = draw_interval(schedule, &mut stream);
        add(schedule, interval);
    }
    draw_correlated_outages(schedule);
    draw_calm_faults(schedule, &mut stream);
}

/// Draws outages of all paths at nearly the same time, as of the one modem or mast behind them.
fn draw_correlated_outages(schedule: &mut Schedule) {
    let mut stream = schedule.seed.stream("faults/correlated");
    if !stream.chance(0.3) {
        return;
    }
    let from = Time(stream.below(schedule.calm_from.0));
    let most_ms = pick(&mut stream, &[100, 1_000, 20_000]);
    let length = Duration::from_millis(1 + stream.below(most_ms));
    for path in schedule.path_ids() {
        let from = from + Duration(stream.below(MAX_SKEW.0));
        let span = Span {
            from: from.min(schedule.calm_from),
            until: (from + length).min(schedule.calm_from),
        };
        add(
            schedule,
            FaultInterval::of_path(path, span, Impairment::Down),
        );
    }
}

/// Adds losses of this share on all paths at the same time, before the calm.
pub(super) fn lose_on_all_paths(schedule: &mut Schedule, from: Time, share: f64) {
    let until = schedule.calm_from;
    for path in schedule.path_ids() {
        let span = Span { from, until };
        add(
            schedule,
            FaultInterval::of_path(path, span, Impairment::Loss(share)),
        );
    }
}

/// Draws relays whose rate limit is below the traffic; no delivery is required on their paths.
fn draw_slow_relays(schedule: &mut Schedule) {
    let mut stream = schedule.seed.stream("faults/slow");
    for path in schedule.relayed_paths().collect::<Vec<_>>() {
        let kbits = pick(&mut stream, &[8, 32, 128]);
        if !stream.chance(0.15) {
            continue;
        }
        let entire_run = Span {
            from: Time::ZERO,
            until: schedule.end,
        };
        schedule
            .disturbances
            .push(Disturbance::on_path(path, entire_run));
        if schedule.calm_guarantees_delivery() {
            schedule.paths[path.index()].relay_kbits = kbits;
        } else {
            schedule.disturbances.pop();
        }
    }
}

fn add(schedule: &mut Schedule, interval: FaultInterval) {
    schedule.fault_intervals.push(interval);
    let FaultInterval { path, span, .. } = interval;
    let is_down = interval.impairment == Impairment::Down;
    let disturbance = Disturbance::on_path(path, span);
    schedule.disturbances.push(disturbance.with_outage(is_down));
}

fn draw_interval(schedule: &Schedule, stream: &mut Stream) -> FaultInterval {
    let path = pick(stream, &schedule.path_ids().collect::<Vec<_>>());
    let from = Time(stream.below(schedule.calm_from.0));
    let most_ms = pick(stream, &[100, 1_000, 20_000]);
    let until = from + Duration::from_millis(1 + stream.below(most_ms));
    FaultInterval {
        path,
        from: draw_direction(stream),
        span: Span {
            from,
            until: until.min(schedule.calm_from),
        },
        impairment: draw_impairment(stream),
    }
}

/// Draws impairments for the calm, as far as the required deliveries permit.
fn draw_calm_faults(schedule: &mut Schedule, stream: &mut Stream) {
    for path in schedule.path_ids() {
        let interval = FaultInterval {
            path,
            from: draw_direction(stream),
            span: Span {
                from: schedule.calm_from,
                until: schedule.end,
            },
            impairment: draw_impairment(stream),
        };
        if stream.chance(0.5) {
            continue;
        }
        add(schedule, interval);
        if !schedule.calm_guarantees_delivery() {
            schedule.fault_intervals.pop();
            schedule.disturbances.pop();
        }
    }
}

fn draw_direction(stream: &mut Stream) -> Option<End> {
    pick(stream, &[None, Some(End::A), Some(End::B)])
}

fn draw_impairment(stream: &mut Stream) -> Impairment {
    let fraction = 0.01 + stream.uniform() * pick(stream, &[0.1, 0.9]);
    let by = Duration::from_millis(1 + stream.below(MAX_REORDERING.0 / 1_000_000));
    let mtu = 576 + stream.below(900);
    let impairments = [
        Impairment::ReducedMtu(u16::try_from(mtu).unwrap_or(576)),
        Impairment::Down,
        Impairment::Down,
        Impairment::Loss(fraction),
        Impairment::Corruption(fraction),
        Impairment::Duplication(fraction),
        Impairment::Reordering(fraction, by),
    ];
    pick(stream, &impairments)
}
