//! What befalls the paths.

use polypath_core::frame::PathId;
use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};

use super::{Disturbance, Schedule, Span, Spell, Trouble, pick};
use crate::parcel::End;

/// Most spells of trouble of a schedule before it is calm.
const MOST: u64 = 12;

/// Draws what befalls the paths; from the calm on, only those that are not needed.
pub(super) fn draw(schedule: &mut Schedule) {
    let mut stream = schedule.seed.stream("faults/spells");
    for _ in 0..stream.below(MOST + 1) {
        let spell = draw_spell(schedule, &mut stream);
        add(schedule, spell);
    }
    for path in draw_fallen(schedule, &mut stream) {
        let spell = Spell {
            path,
            from: draw_side(&mut stream),
            span: Span {
                from: schedule.calm_from,
                until: schedule.end,
            },
            trouble: draw_trouble(&mut stream),
        };
        add(schedule, spell);
    }
}

fn add(schedule: &mut Schedule, spell: Spell) {
    schedule.spells.push(spell);
    let Spell { path, span, .. } = spell;
    let path = Some(path);
    schedule.disturbances.push(Disturbance { path, span });
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

/// The paths that do not live in the calm: as many as leave one that carries data.
fn draw_fallen(schedule: &Schedule, stream: &mut Stream) -> Vec<PathId> {
    let mut fallen = Vec::new();
    for path in schedule.path_ids() {
        let without = |other| other != path && !fallen.contains(&other);
        if schedule.carries(without) && stream.chance(0.5) {
            fallen.push(path);
        }
    }
    fallen
}

fn draw_side(stream: &mut Stream) -> Option<End> {
    pick(stream, &[None, Some(End::A), Some(End::B)])
}

fn draw_trouble(stream: &mut Stream) -> Trouble {
    let share = 0.01 + stream.uniform() * pick(stream, &[0.1, 0.9]);
    let by = Duration::from_millis(1 + stream.below(500));
    let troubles = [
        Trouble::Down,
        Trouble::Down,
        Trouble::Loss(share),
        Trouble::Corruption(share),
        Trouble::Duplication(share),
        Trouble::Reordering(share, by),
    ];
    pick(stream, &troubles)
}
