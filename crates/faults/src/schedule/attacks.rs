//! What strangers send, and when.

use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};

use super::{Attack, Disturbance, Ruse, Schedule, Span, pick};
use crate::parcel::End;

/// Handshakes a second in a flood: three times what a node reads.
const FLOOD: f64 = 60.0;
/// How long a flood takes.
const FLOODED: Duration = Duration::from_secs(3);
/// Within this time after a flood a node reads as much as ever.
pub(super) const EARNED_AGAIN: Duration = Duration::from_secs(1);

/// Draws what strangers send from start to end, and whether they flood a path.
pub(super) fn draw(schedule: &mut Schedule) {
    let mut stream = schedule.seed.stream("faults/attacks");
    let rate = pick(&mut stream, &[0.0, 1.0, 5.0]);
    let whole = Span {
        from: Time::ZERO,
        until: schedule.end,
    };
    send(schedule, &mut stream, whole, rate);
    if stream.chance(0.15) {
        flood(schedule, &mut stream);
    }
    schedule.attacks.sort_by_key(|attack| attack.at);
}

fn send(schedule: &mut Schedule, stream: &mut Stream, span: Span, rate: f64) {
    if rate <= 0.0 {
        return;
    }
    let mut at = span.from;
    loop {
        at += Duration::from_secs_f64(stream.exponential(1.0 / rate));
        if !span.contains(at) {
            return;
        }
        let ruse = pick(stream, &Ruse::ALL);
        let attack = draw_attack(schedule, stream, at, ruse);
        schedule.attacks.push(attack);
    }
}

fn draw_attack(schedule: &Schedule, stream: &mut Stream, at: Time, ruse: Ruse) -> Attack {
    let target = pick(stream, &End::ALL);
    let path = pick(stream, &schedule.path_ids().collect::<Vec<_>>());
    Attack {
        at,
        target,
        at_relay: schedule.paths[path.index()].by_relay && stream.chance(0.5),
        path,
        ruse,
        is_spoofed: stream.chance(0.4),
    }
}

/// Handshakes on one path of one node, more than it reads: there, nothing is promised meanwhile.
fn flood(schedule: &mut Schedule, stream: &mut Stream) {
    let from = Time(stream.below(schedule.calm_from.0));
    let until = (from + FLOODED).min(schedule.calm_from);
    let first = draw_attack(schedule, stream, from, Ruse::WrongKey);
    let mut at = from;
    while at <= until {
        schedule.attacks.push(Attack { at, ..first });
        at += Duration::from_secs_f64(stream.exponential(1.0 / FLOOD));
    }
    let span = Span {
        from,
        until: until + EARNED_AGAIN,
    };
    schedule
        .disturbances
        .push(Disturbance::of(first.path, span));
}
