//! The times at which nodes and relays run, their clocks, keys and addresses.

use polypath_core::frame::PathId;
use polypath_core::liveness::LivenessConfig;
use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};

use super::{Disturbance, Incident, Schedule, Settings, Span, pick, policies};
use crate::datagram::End;

/// The correct wall clock at the start of the run: 2026, in nanoseconds since 1970.
const START_WALL_CLOCK: u64 = 1_790_000_000_000_000_000;
/// The minimum advance of a clock beyond the latest timestamp, unless it is behind.
const MIN_ADVANCE: Duration = Duration::from_millis(1);
/// The time within which a relay may stop again: its path is then about to return.
const RETURN_TIME: Duration = Duration::from_secs(3);

/// Draws the incidents at nodes and relays; returns the time after `until` from which there are
/// none.
pub(super) fn draw(schedule: &mut Schedule, until: Time) -> Time {
    let seed = schedule.seed;
    let mut calm_from = until;
    for end in End::ALL {
        let stream = seed.stream(&format!("faults/life/{}", end.name()));
        let mut lifetimes = NodeLifetimes::new(end, stream, schedule);
        lifetimes.draw(until);
        calm_from = calm_from.max(lifetimes.at);
    }
    calm_from = calm_from.max(draw_relays(schedule, until));
    draw_moves(schedule, until);
    draw_reloads_and_stalls(schedule, until);
    schedule.incidents.sort_by_key(|(at, _)| *at);
    calm_from
}

/// The successive instances of one node.
struct NodeLifetimes<'a> {
    end: End,
    stream: Stream,
    schedule: &'a mut Schedule,
    at: Time,
    /// The offset of its clock, in nanoseconds.
    offset: i64,
    /// The latest timestamp sent to its peer.
    latest_timestamp: u64,
}

/// A defect of one instance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StartFault {
    None,
    ClockBehind,
    Impostor,
}

impl<'a> NodeLifetimes<'a> {
    fn new(end: End, stream: Stream, schedule: &'a mut Schedule) -> Self {
        Self {
            end,
            stream,
            schedule,
            at: Time::ZERO,
            offset: 0,
            latest_timestamp: 0,
        }
    }

    fn draw(&mut self, until: Time) {
        let mean_lifetime = pick(&mut self.stream, &[10.0, 30.0, 1e6]);
        let late = pick(&mut self.stream, &[0, 500, 3_000]);
        let mut down = Span {
            from: Time::ZERO,
            until: Time::ZERO + Duration::from_millis(self.stream.below(late + 1)),
        };
        let mut fault = StartFault::None;
        loop {
            self.start(down, fault);
            let lifetime =
                Duration::from_secs_f64(0.05 + self.stream.exponential(mean_lifetime).min(1e5));
            let most = Duration::from_secs(9);
            let lifetime = if fault == StartFault::None {
                lifetime
            } else {
                lifetime.min(most)
            };
            let stops = self.at + lifetime;
            if stops > until && fault == StartFault::None {
                return;
            }
            down = self.stop(stops, fault);
            fault = self.draw_fault(down.until < until);
        }
    }

    fn draw_fault(&mut self, is_wanted: bool) -> StartFault {
        let faults = [
            StartFault::None,
            StartFault::None,
            StartFault::None,
            StartFault::ClockBehind,
            StartFault::Impostor,
        ];
        let fault = pick(&mut self.stream, &faults);
        if is_wanted { fault } else { StartFault::None }
    }

    /// Stops an instance with `fault`; returns the interval in which the node is down.
    fn stop(&mut self, at: Time, fault: StartFault) -> Span {
        self.schedule.incidents.push((at, Incident::Stop(self.end)));
        if fault != StartFault::None {
            let span = Span {
                from: self.at,
                until: at,
            };
            self.schedule
                .disturbances
                .push(Disturbance::on_all_paths(span));
        }
        self.latest_timestamp = self.latest_timestamp.max(self.wall_clock(at));
        let most_ms = pick(&mut self.stream, &[1, 50, 5_000]);
        let down = Duration::from_micros(10 + self.stream.below(most_ms * 1000));
        Span {
            from: at,
            until: at + down,
        }
    }

    fn start(&mut self, down: Span, fault: StartFault) {
        self.at = down.until;
        self.set_clock(down, fault);
        let wall_clock = self.wall_clock(self.at);
        let incident = Incident::Start {
            end: self.end,
            wall_clock,
            is_clock_behind: wall_clock <= self.latest_timestamp,
            is_impostor: fault == StartFault::Impostor,
        };
        self.schedule.incidents.push((self.at, incident));
        self.schedule
            .disturbances
            .push(Disturbance::on_all_paths(down));
    }

    /// Draws a change of the clock, usually none: ahead by up to a day, or back by less than the
    /// downtime.
    fn set_clock(&mut self, down: Span, fault: StartFault) {
        let stream = &mut self.stream;
        let (hour, day) = (3_600_000_000_000, 86_400_000_000_000);
        let most_ahead = pick(stream, &[1_000_000, hour, day]);
        let ahead = stream.below(most_ahead);
        let back = stream.below(down.until.since(down.from).0.max(1));
        let far_back = 1_000_000_000 + stream.below(hour);
        let jump = if fault == StartFault::ClockBehind {
            -far_back.cast_signed()
        } else {
            pick(stream, &[0, 0, 0, ahead.cast_signed(), -back.cast_signed()])
        };
        self.offset = self.offset.saturating_add(jump);
        let least = self.latest_timestamp.saturating_add(MIN_ADVANCE.0);
        let behind = least.saturating_sub(self.wall_clock(self.at));
        if fault != StartFault::ClockBehind {
            self.offset = self.offset.saturating_add(behind.cast_signed());
        }
    }

    fn wall_clock(&self, at: Time) -> u64 {
        (START_WALL_CLOCK + at.0).saturating_add_signed(self.offset)
    }
}

/// Draws starts and restarts of the relays; returns the time of the last one.
fn draw_relays(schedule: &mut Schedule, until: Time) -> Time {
    let mut stream = schedule.seed.stream("faults/relays");
    let mut again = schedule.seed.stream("faults/relays/again");
    let mut last = Time::ZERO;
    for path in schedule.relayed_paths().collect::<Vec<_>>() {
        let restarts = pick(&mut stream, &[0, 0, 1, 1, 2]);
        let mut stops: Vec<Time> = (0..restarts).map(|_| Time(stream.below(until.0))).collect();
        stops.sort();
        let mut started = start_relay(schedule, &mut stream, path, Time::ZERO);
        for stop in stops {
            let mut next = Some(stop.max(started + Duration(1)));
            while let Some(stop) = next {
                schedule.incidents.push((stop, Incident::StopRelay(path)));
                started = start_relay(schedule, &mut stream, path, stop);
                next = again.chance(0.4).then(|| {
                    let after = Duration(1 + again.below(RETURN_TIME.0));
                    started + after
                });
            }
        }
        last = last.max(started);
    }
    last
}

/// Starts the relay of `path`, which is down since `from`; returns the time of the start.
fn start_relay(schedule: &mut Schedule, stream: &mut Stream, path: PathId, from: Time) -> Time {
    let most_ms = pick(stream, &[1, 50, 5_000, 15_000]);
    let until = from + Duration::from_micros(10 + stream.below(most_ms * 1000));
    schedule.incidents.push((until, Incident::StartRelay(path)));
    let span = Span { from, until };
    let disturbance = Disturbance::on_path(path, span);
    schedule.disturbances.push(disturbance.with_outage(true));
    until
}

/// Draws address changes, on paths where the peer or a relay learns the address.
fn draw_moves(schedule: &mut Schedule, until: Time) {
    let mut stream = schedule.seed.stream("faults/moves");
    for path in schedule.path_ids() {
        let plan = schedule.paths[path.index()];
        let mover = if plan.is_relayed {
            Some(pick(&mut stream, &End::ALL))
        } else {
            plan.learner.map(End::other)
        };
        let Some(mover) = mover else {
            continue;
        };
        for _ in 0..pick(&mut stream, &[0, 0, 1, 1, 3]) {
            let at = Time(stream.below(until.0));
            schedule.incidents.push((at, Incident::Move(mover, path)));
            let span = Span {
                from: at,
                until: at,
            };
            schedule.disturbances.push(Disturbance::on_path(path, span));
        }
    }
}

/// Draws reloads of settings, and stalls of drivers.
fn draw_reloads_and_stalls(schedule: &mut Schedule, until: Time) {
    let mut stream = schedule.seed.stream("faults/orders");
    for end in End::ALL {
        draw_reloads(schedule, &mut stream, end, until);
        for _ in 0..pick(&mut stream, &[0, 0, 0, 1, 3]) {
            let from = Time(stream.below(until.0));
            let most_ms = pick(&mut stream, &[20, 200, 2_000]);
            let served = from + Duration::from_millis(6 + stream.below(most_ms));
            let until = served.min(until);
            schedule.incidents.push((from, Incident::Stall(end, until)));
            let disturbance = Disturbance::on_all_paths(Span { from, until });
            schedule.disturbances.push(disturbance);
        }
    }
}

/// Draws reloads. A change of the policy disturbs nothing, since each packet follows the current
/// one; newly enabled liveness monitoring starts without knowledge of the paths.
fn draw_reloads(schedule: &mut Schedule, stream: &mut Stream, end: End, until: Time) {
    let count = pick(stream, &[0, 0, 1, 2]);
    let mut times: Vec<Time> = (0..count).map(|_| Time(stream.below(until.0))).collect();
    times.sort();
    let mut watched = schedule.nodes.settings[end.index()].liveness.is_some();
    for at in times {
        let named = stream.below(schedule.paths.len() as u64);
        let policy = policies::draw(stream, u8::try_from(named).unwrap_or(0));
        let is_watched = watched != stream.chance(0.2);
        let liveness = is_watched.then(LivenessConfig::default);
        let settings = Settings {
            policy,
            liveness,
            spacing: None,
        };
        let incident = Incident::Reload(end, settings);
        schedule.incidents.push((at, incident));
        if is_watched != std::mem::replace(&mut watched, is_watched) {
            let span = Span {
                from: at,
                until: at,
            };
            schedule.disturbances.push(Disturbance::on_all_paths(span));
        }
    }
}
