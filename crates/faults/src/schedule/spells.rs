//! What befalls the paths.

use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};

use super::promise::MOST_LATE;
use super::{Disturbance, Schedule, Span, Spell, Trouble, pick};
use crate::parcel::End;

/// Most spells of trouble of a schedule before it is calm.
const MOST: u64 = 12;

/// Draws what befalls the paths; from the calm on, only those that are not needed.
pub(super) fn draw(schedule: &mut Schedule) {
    draw_slow_relays(schedule);
    let mut stream = schedule.seed.stream("faults/spells");
    for _ in 0..stream.below(MOST + 1) {
        let spell = draw_spell(schedule, &mut stream);
        add(schedule, spell);
    }
    draw_fallen(schedule, &mut stream);
}

/// Some relays forward less than nodes send; on their paths nothing is promised.
fn draw_slow_relays(schedule: &mut Schedule) {
    let mut stream = schedule.seed.stream("faults/slow");
    for path in schedule.relayed().collect::<Vec<_>>() {
        let kbits = pick(&mut stream, &[8, 32, 128]);
        if !stream.chance(0.15) {
            continue;
        }
        let whole = Span {
            from: Time::ZERO,
            until: schedule.end,
        };
        schedule.disturbances.push(Disturbance::of(path, whole));
        if schedule.promises_calm() {
            schedule.paths[path.index()].relay_kbits = kbits;
        } else {
            schedule.disturbances.pop();
        }
    }
}

fn add(schedule: &mut Schedule, spell: Spell) {
    schedule.spells.push(spell);
    let Spell { path, span, .. } = spell;
    let is_down = spell.trouble == Trouble::Down;
    let disturbance = Disturbance::of(path, span);
    schedule.disturbances.push(disturbance.silent(is_down));
}

fn draw_spell(schedule: &Schedule, stream: &mut Stream) -> Spell {
    let path = pick(stream, &schedule.path_ids().collect::<Vec<_>>());
    let from = Time(stream.below(schedule.calm_from.0));
    let most_ms = pick(stream, &[100, 1_000, 20_000]);
    let until = from + Duration::from_millis(1 + stream.below(most_ms));
    Spell {
        path,
        from: draw_side(stream),
        span: Span {
            from,
            until: until.min(schedule.calm_from),
        },
        trouble: draw_trouble(stream),
    }
}

/// What befalls paths in the calm: as many as leave what every packet needs.
fn draw_fallen(schedule: &mut Schedule, stream: &mut Stream) {
    for path in schedule.path_ids() {
        let spell = Spell {
            path,
            from: draw_side(stream),
            span: Span {
                from: schedule.calm_from,
                until: schedule.end,
            },
            trouble: draw_trouble(stream),
        };
        if stream.chance(0.5) {
            continue;
        }
        add(schedule, spell);
        if !schedule.promises_calm() {
            schedule.spells.pop();
            schedule.disturbances.pop();
        }
    }
}

fn draw_side(stream: &mut Stream) -> Option<End> {
    pick(stream, &[None, Some(End::A), Some(End::B)])
}

fn draw_trouble(stream: &mut Stream) -> Trouble {
    let share = 0.01 + stream.uniform() * pick(stream, &[0.1, 0.9]);
    let by = Duration::from_millis(1 + stream.below(MOST_LATE.0 / 1_000_000));
    let mtu = 576 + stream.below(900);
    let troubles = [
        Trouble::Narrow(u16::try_from(mtu).unwrap_or(576)),
        Trouble::Down,
        Trouble::Down,
        Trouble::Loss(share),
        Trouble::Corruption(share),
        Trouble::Duplication(share),
        Trouble::Reordering(share, by),
    ];
    pick(stream, &troubles)
}
