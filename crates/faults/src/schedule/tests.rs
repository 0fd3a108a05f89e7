use super::*;

/// Whether both ends' short packets have to arrive.
fn promises(schedule: &Schedule, at: Time) -> bool {
    let by = |end| schedule.promises(end, at, packet::LEAST + 1);
    End::ALL.into_iter().all(by)
}

#[test]
fn the_calm_is_promised_and_the_start_is_not() {
    for seed in 0..300 {
        let schedule = Schedule::draw(seed);
        assert!(!promises(&schedule, Time::ZERO), "seed {seed}");
        // A flood may be earned again a little after the calm has begun.
        let settled = schedule.calm_from + schedule.settled_after() + Duration::from_millis(1_001);
        assert!(promises(&schedule, settled), "seed {seed}");
        assert!(promises(&schedule, schedule.closing), "seed {seed}");
        let last = schedule.incidents.last().map(|(at, _)| *at);
        assert!(last <= Some(schedule.calm_from), "seed {seed}");
    }
}

#[test]
fn nothing_is_promised_around_what_befalls_a_node() {
    for seed in 0..300 {
        let schedule = Schedule::draw(seed);
        for (at, incident) in &schedule.incidents {
            use Incident::{Start, Stop};
            let concerns_all = matches!(incident, Start { .. } | Stop(_));
            if concerns_all && *at < schedule.calm_from {
                assert!(!promises(&schedule, *at), "seed {seed}, {incident:?}");
            }
        }
    }
}

/// Clocks are set back beyond what was shown only where that is said, and such a run is not the last.
#[test]
fn clocks_keep_to_what_a_session_asks_for() {
    let mut behind = 0;
    for seed in 0..300 {
        let schedule = Schedule::draw(seed);
        for end in End::ALL {
            let mut shown = 0;
            let mut last = None;
            for (at, incident) in &schedule.incidents {
                match *incident {
                    Incident::Start {
                        end: who,
                        wall,
                        is_behind,
                        is_impostor,
                    } if who == end => {
                        assert_eq!(wall <= shown, is_behind, "seed {seed}");
                        behind += u32::from(is_behind);
                        last = Some((*at, wall, is_behind || is_impostor));
                    }
                    Incident::Stop(who) if who == end => {
                        let (since, wall, _) = last.expect("it ran");
                        shown = shown.max(wall + at.since(since).0);
                    }
                    _ => {}
                }
            }
            assert_eq!(
                last.map(|(_, _, flawed)| flawed),
                Some(false),
                "seed {seed}"
            );
        }
    }
    assert!(behind > 20, "{behind}");
}

/// The path on which a watched policy begins is down, and every short packet has to arrive nevertheless, on another.
#[test]
fn a_silent_path_is_not_needed_where_paths_are_watched() {
    let mut needless = 0;
    for seed in 0..300 {
        let schedule = Schedule::draw(seed);
        let at = schedule.closing;
        for end in End::ALL {
            let Settings { policy, liveness } = schedule.settings(end, at);
            let is_down = |path| {
                let mut spells = schedule.spells.iter();
                spells.any(|s| s.path == path && s.span.contains(at) && s.trouble == Trouble::Down)
            };
            if policy.named_path().is_some_and(is_down) {
                assert!(liveness.is_some(), "seed {seed}");
                assert!(schedule.promises(end, at, packet::LEAST + 1), "seed {seed}");
                needless += 1;
            }
        }
    }
    assert!(needless > 5, "{needless}");
}

/// What may be too long for a path, or for what a search has found of it, is not promised there.
#[test]
fn long_packets_are_promised_where_they_cross_and_nothing_made_a_size_fail() {
    let (mut promised, mut not) = (0, 0);
    for seed in 0..2_000 {
        let schedule = Schedule::draw(seed);
        let at = schedule.closing;
        let all = |what: fn(&Schedule, PathId) -> bool| {
            schedule.path_ids().all(|path| what(&schedule, path))
        };
        let has_to = schedule.promises(End::A, at, schedule.tun_mtu());
        if all(|schedule, path| schedule.paths[path.index()].is_narrow()) {
            assert!(!has_to, "seed {seed}");
            not += 1;
        }
        let is_calm = schedule.disturbances.iter().all(|d| d.span.until < at);
        let is_wide = all(|schedule, path| !schedule.paths[path.index()].is_narrow());
        if is_wide && is_calm && all(|schedule, path| !schedule.is_doubted(path, schedule.closing))
        {
            assert!(has_to, "seed {seed}");
            promised += 1;
        }
    }
    assert!(promised > 5 && not > 5, "{promised}, {not}");
}
