//! The datagrams of attackers.

use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};

use super::{Attack, AttackKind, Reaction, ReactionKind, Schedule, Span, pick};
use crate::datagram::End;

/// Initiations per second in a flood of a path: twenty times the rate limit of a node, so that one
/// that admits all alike rarely admits its peer.
const FLOOD_RATE: f64 = 400.0;
/// The duration of a short flood; a long one lasts until the end of the run, and thus longer than
/// most keys.
const SHORT_FLOOD: Duration = Duration::from_secs(3);

/// Draws the attacks of the whole run, whether there is a flood, and whether an attacker reacts to
/// initiations.
pub(super) fn draw(schedule: &mut Schedule) {
    let mut stream = schedule.seed.stream("faults/attacks");
    let rate = pick(&mut stream, &[0.0, 1.0, 5.0]);
    let entire_run = Span {
        from: Time::ZERO,
        until: schedule.end,
    };
    send(schedule, &mut stream, entire_run, rate);
    if stream.chance(0.15) {
        flood(schedule, &mut stream);
    }
    schedule.attacks.sort_by_key(|attack| attack.at);
    draw_reactions(schedule);
}

/// Reactions to the initiations of a node: they are no excuse for lost packets.
fn draw_reactions(schedule: &mut Schedule) {
    let stream = &mut schedule.seed.stream("faults/reactions");
    for kind in ReactionKind::ALL {
        if !stream.chance(0.2) {
            continue;
        }
        let later = Time(stream.below(schedule.calm_from.0));
        let from = pick(stream, &[Time::ZERO, later]);
        let span = Span {
            from,
            until: schedule.end,
        };
        let to = pick(stream, &End::ALL);
        schedule.reactions.push(Reaction { to, span, kind });
    }
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
        let kind = pick(stream, &AttackKind::ALL);
        let attack = draw_attack(schedule, stream, at, kind);
        schedule.attacks.push(attack);
    }
}

fn draw_attack(schedule: &Schedule, stream: &mut Stream, at: Time, kind: AttackKind) -> Attack {
    let target = pick(stream, &End::ALL);
    let path = pick(stream, &schedule.path_ids().collect::<Vec<_>>());
    Attack {
        at,
        target,
        at_relay: schedule.paths[path.index()].is_relayed && stream.chance(0.5),
        path,
        kind,
        is_spoofed: stream.chance(0.4),
    }
}

/// A flood of initiations above the rate limit, of one node on one path, or of both nodes on all: a
/// node that is not flooded could initiate. It is no excuse for lost packets.
fn flood(schedule: &mut Schedule, stream: &mut Stream) {
    let from = Time(stream.below(schedule.calm_from.0));
    let is_short = stream.chance(0.5);
    let until = if is_short {
        from + SHORT_FLOOD
    } else {
        schedule.end
    };
    let first = draw_attack(schedule, stream, from, AttackKind::WrongKey);
    let mut kinds = schedule.seed.stream("faults/attacks/cookies");
    let kind = pick(&mut kinds, &[AttackKind::WrongKey, AttackKind::WithCookie]);
    let is_everywhere = kinds.chance(0.5);
    let targets = schedule
        .path_ids()
        .flat_map(|path| End::ALL.map(|end| (path, end)));
    for (path, target) in targets {
        if !is_everywhere && (path, target) != (first.path, first.target) {
            continue;
        }
        let at_relay = first.at_relay && schedule.paths[path.index()].is_relayed;
        let mut at = from;
        while at <= until {
            schedule.attacks.push(Attack {
                at,
                target,
                at_relay,
                path,
                kind,
                ..first
            });
            at += Duration::from_secs_f64(stream.exponential(1.0 / FLOOD_RATE));
        }
    }
}
