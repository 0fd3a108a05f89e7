use super::*;

/// Whether short packets of both nodes have to arrive.
fn must_deliver(schedule: &Schedule, at: Time) -> bool {
    let by = |end| schedule.must_deliver(end, at, packet::MIN_LEN + 1);
    End::ALL.into_iter().all(by)
}

#[test]
fn delivery_is_required_in_the_calm_and_not_at_the_start() {
    for seed in 0..300 {
        let schedule = Schedule::draw(seed);
        assert!(!must_deliver(&schedule, Time::ZERO), "seed {seed}");
        // The rate limit may recover from a flood only after the start of the calm.
        let settled = schedule.calm_from + schedule.settling_time() + Duration::from_millis(1_001);
        assert!(must_deliver(&schedule, settled), "seed {seed}");
        assert!(
            must_deliver(&schedule, schedule.last_packet_at),
            "seed {seed}"
        );
        let last = schedule.incidents.last().map(|(at, _)| *at);
        assert!(last <= Some(schedule.calm_from), "seed {seed}");
    }
}

#[test]
fn no_delivery_is_required_around_incidents() {
    for seed in 0..300 {
        let schedule = Schedule::draw(seed);
        for (at, incident) in &schedule.incidents {
            use Incident::{Start, Stop};
            let is_at_a_node = matches!(incident, Start { .. } | Stop(_));
            if is_at_a_node && *at < schedule.calm_from {
                assert!(!must_deliver(&schedule, *at), "seed {seed}, {incident:?}");
            }
        }
    }
}

/// A clock is behind only where the schedule marks it, and such an instance is not the last.
#[test]
fn clocks_satisfy_the_requirements_of_a_session() {
    let mut behind = 0;
    for seed in 0..300 {
        let schedule = Schedule::draw(seed);
        for end in End::ALL {
            let mut latest_timestamp = 0;
            let mut last = None;
            for (at, incident) in &schedule.incidents {
                match *incident {
                    Incident::Start {
                        end: who,
                        wall_clock,
                        is_clock_behind,
                        is_impostor,
                    } if who == end => {
                        assert_eq!(
                            wall_clock <= latest_timestamp,
                            is_clock_behind,
                            "seed {seed}"
                        );
                        behind += u32::from(is_clock_behind);
                        last = Some((*at, wall_clock, is_clock_behind || is_impostor));
                    }
                    Incident::Stop(who) if who == end => {
                        let (since, wall_clock, _) = last.expect("it was started");
                        latest_timestamp = latest_timestamp.max(wall_clock + at.since(since).0);
                    }
                    _ => {}
                }
            }
            assert_eq!(
                last.map(|(_, _, is_faulty)| is_faulty),
                Some(false),
                "seed {seed}"
            );
        }
    }
    assert!(behind > 20, "{behind}");
}

/// The path on which a monitored policy starts is down, and short packets have to arrive on
/// another.
#[test]
fn a_silent_path_is_not_needed_if_paths_are_monitored() {
    let mut needless = 0;
    for seed in 0..300 {
        let schedule = Schedule::draw(seed);
        let at = schedule.last_packet_at;
        for end in End::ALL {
            let Settings {
                policy, liveness, ..
            } = schedule.settings(end, at);
            let is_down = |path| {
                let mut fault_intervals = schedule.fault_intervals.iter();
                fault_intervals.any(|s| {
                    s.path == path && s.span.contains(at) && s.impairment == Impairment::Down
                })
            };
            if policy.named_path().is_some_and(is_down) {
                assert!(liveness.is_some(), "seed {seed}");
                assert!(
                    schedule.must_deliver(end, at, packet::MIN_LEN + 1),
                    "seed {seed}"
                );
                needless += 1;
            }
        }
    }
    assert!(needless > 5, "{needless}");
}

/// A packet that may exceed the real or the discovered MTU is not required.
#[test]
fn long_packets_are_required_if_they_fit_and_no_size_failed() {
    let (mut required, mut not) = (0, 0);
    for seed in 0..2_000 {
        let schedule = Schedule::draw(seed);
        let at = schedule.last_packet_at;
        let all = |what: fn(&Schedule, PathId) -> bool| {
            schedule.path_ids().all(|path| what(&schedule, path))
        };
        let has_to = schedule.must_deliver(End::A, at, schedule.tun_mtu());
        if all(|schedule, path| schedule.paths[path.index()].is_narrow()) {
            assert!(!has_to, "seed {seed}");
            not += 1;
        }
        let is_calm = schedule.disturbances.iter().all(|d| d.span.until < at);
        let is_wide = all(|schedule, path| !schedule.paths[path.index()].is_narrow());
        if is_wide
            && is_calm
            && all(|schedule, path| !schedule.mtu_in_doubt(path, schedule.last_packet_at))
        {
            assert!(has_to, "seed {seed}");
            required += 1;
        }
    }
    assert!(required > 5 && not > 5, "{required}, {not}");
}
