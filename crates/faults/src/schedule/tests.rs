use super::*;

#[test]
fn the_calm_is_promised_and_the_start_is_not() {
    for seed in 0..300 {
        let schedule = Schedule::draw(seed);
        assert!(!schedule.promises(Time::ZERO), "seed {seed}");
        // A flood may be earned again a little after the calm has begun.
        let settled = schedule.calm_from + schedule.settled_after() + Duration::from_millis(1_001);
        assert!(schedule.promises(settled), "seed {seed}");
        assert!(schedule.promises(schedule.closing), "seed {seed}");
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
                assert!(!schedule.promises(*at), "seed {seed}, {incident:?}");
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
