//! When nodes run, with which clock and key, and where.

use polypath_core::frame::PathId;
use polypath_core::liveness::LivenessConfig;
use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};

use super::{Disturbance, Incident, Schedule, Settings, Span, draw_policy, pick};
use crate::parcel::End;

/// 2026 in nanoseconds since 1970: the right time at the start of the run.
const WALL: u64 = 1_790_000_000_000_000_000;
/// A clock that is set is ahead of what it showed before by this much at least.
const AHEAD: Duration = Duration::from_millis(1);

/// Draws what befalls the nodes until `until` or a little later: from then on, nothing does.
pub(super) fn draw(schedule: &mut Schedule, until: Time) -> Time {
    let seed = schedule.seed;
    let mut calm_from = until;
    for end in End::ALL {
        let stream = seed.stream(&format!("faults/life/{}", end.name()));
        let mut life = Life::new(end, stream, schedule);
        life.run(until);
        calm_from = calm_from.max(life.at);
    }
    calm_from = calm_from.max(draw_relays(schedule, until));
    draw_moves(schedule, until);
    draw_orders(schedule, until);
    schedule.incidents.sort_by_key(|(at, _)| *at);
    calm_from
}

/// The runs of one node, one after another.
struct Life<'a> {
    end: End,
    stream: Stream,
    schedule: &'a mut Schedule,
    at: Time,
    /// Its clock against the right time, in nanoseconds.
    offset: i64,
    /// The highest time that it has shown its peer.
    shown: u64,
}

/// What is wrong with a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    Behind,
    Impostor,
}

impl<'a> Life<'a> {
    fn new(end: End, stream: Stream, schedule: &'a mut Schedule) -> Self {
        Self {
            end,
            stream,
            schedule,
            at: Time::ZERO,
            offset: 0,
            shown: 0,
        }
    }

    fn run(&mut self, until: Time) {
        let mean_life = pick(&mut self.stream, &[10.0, 30.0, 1e6]);
        let late = pick(&mut self.stream, &[0, 500, 3_000]);
        let mut down = Span {
            from: Time::ZERO,
            until: Time::ZERO + Duration::from_millis(self.stream.below(late + 1)),
        };
        let mut flaw = Flaw::None;
        loop {
            self.start(down, flaw);
            let lives = Duration::from_secs_f64(0.05 + self.stream.exponential(mean_life).min(1e5));
            let most = Duration::from_secs(9);
            let lives = if flaw == Flaw::None {
                lives
            } else {
                lives.min(most)
            };
            let stops = self.at + lives;
            if stops > until && flaw == Flaw::None {
                return;
            }
            down = self.stop(stops, flaw);
            flaw = self.draw_flaw(down.until < until);
        }
    }

    fn draw_flaw(&mut self, is_wanted: bool) -> Flaw {
        let flaws = [
            Flaw::None,
            Flaw::None,
            Flaw::None,
            Flaw::Behind,
            Flaw::Impostor,
        ];
        let flaw = pick(&mut self.stream, &flaws);
        if is_wanted { flaw } else { Flaw::None }
    }

    /// Stops the node after a run with `flaw`; gives the time that it is down.
    fn stop(&mut self, at: Time, flaw: Flaw) -> Span {
        self.schedule.incidents.push((at, Incident::Stop(self.end)));
        if flaw != Flaw::None {
            let span = Span {
                from: self.at,
                until: at,
            };
            self.schedule.disturbances.push(Disturbance::of_all(span));
        }
        self.shown = self.shown.max(self.wall(at));
        let most_ms = pick(&mut self.stream, &[1, 50, 5_000]);
        let down = Duration::from_micros(10 + self.stream.below(most_ms * 1000));
        Span {
            from: at,
            until: at + down,
        }
    }

    fn start(&mut self, down: Span, flaw: Flaw) {
        self.at = down.until;
        self.set_clock(down, flaw);
        let wall = self.wall(self.at);
        let incident = Incident::Start {
            end: self.end,
            wall,
            is_behind: wall <= self.shown,
            is_impostor: flaw == Flaw::Impostor,
        };
        self.schedule.incidents.push((self.at, incident));
        self.schedule.disturbances.push(Disturbance::of_all(down));
    }

    /// Sets the clock, mostly not: ahead by up to a day, or back by less than the node was down.
    fn set_clock(&mut self, down: Span, flaw: Flaw) {
        let stream = &mut self.stream;
        let (hour, day) = (3_600_000_000_000, 86_400_000_000_000);
        let most_ahead = pick(stream, &[1_000_000, hour, day]);
        let ahead = stream.below(most_ahead);
        let back = stream.below(down.until.since(down.from).0.max(1));
        let far_back = 1_000_000_000 + stream.below(hour);
        let jump = if flaw == Flaw::Behind {
            -far_back.cast_signed()
        } else {
            pick(stream, &[0, 0, 0, ahead.cast_signed(), -back.cast_signed()])
        };
        self.offset = self.offset.saturating_add(jump);
        let least = self.shown.saturating_add(AHEAD.0);
        let behind = least.saturating_sub(self.wall(self.at));
        if flaw != Flaw::Behind {
            self.offset = self.offset.saturating_add(behind.cast_signed());
        }
    }

    fn wall(&self, at: Time) -> u64 {
        (WALL + at.0).saturating_add_signed(self.offset)
    }
}

/// Starts and restarts of the relays, all of which have begun by `until`; gives when the last has started.
fn draw_relays(schedule: &mut Schedule, until: Time) -> Time {
    let mut stream = schedule.seed.stream("faults/relays");
    let mut last = Time::ZERO;
    for path in schedule.relayed().collect::<Vec<_>>() {
        let restarts = pick(&mut stream, &[0, 0, 1, 1, 2]);
        let mut stops: Vec<Time> = (0..restarts).map(|_| Time(stream.below(until.0))).collect();
        stops.sort();
        let mut started = start_relay(schedule, &mut stream, path, Time::ZERO);
        for stop in stops {
            let stop = stop.max(started + Duration(1));
            schedule.incidents.push((stop, Incident::StopRelay(path)));
            started = start_relay(schedule, &mut stream, path, stop);
        }
        last = last.max(started);
    }
    last
}

/// Starts the relay of `path` that is down since `from`, and gives when.
fn start_relay(schedule: &mut Schedule, stream: &mut Stream, path: PathId, from: Time) -> Time {
    let most_ms = pick(stream, &[1, 50, 5_000, 15_000]);
    let until = from + Duration::from_micros(10 + stream.below(most_ms * 1000));
    schedule.incidents.push((until, Incident::StartRelay(path)));
    let span = Span { from, until };
    let disturbance = Disturbance::of(path, span);
    schedule.disturbances.push(disturbance.silent(true));
    until
}

/// A node moves on a path only where its peer learns its address, or a relay does.
fn draw_moves(schedule: &mut Schedule, until: Time) {
    let mut stream = schedule.seed.stream("faults/moves");
    for path in schedule.path_ids() {
        let plan = schedule.paths[path.index()];
        let mover = if plan.by_relay {
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
            schedule.disturbances.push(Disturbance::of(path, span));
        }
    }
}

/// Nodes that read their files again, and nodes that are not served for a while.
fn draw_orders(schedule: &mut Schedule, until: Time) {
    let mut stream = schedule.seed.stream("faults/orders");
    for end in End::ALL {
        draw_reloads(schedule, &mut stream, end, until);
        for _ in 0..pick(&mut stream, &[0, 0, 0, 1, 3]) {
            let from = Time(stream.below(until.0));
            let most_ms = pick(&mut stream, &[20, 200, 2_000]);
            let served = from + Duration::from_millis(6 + stream.below(most_ms));
            let until = served.min(until);
            schedule.incidents.push((from, Incident::Stall(end, until)));
            let disturbance = Disturbance::of_all(Span { from, until });
            schedule.disturbances.push(disturbance);
        }
    }
}

/// A packet is sent as the policy says at that moment, so that another one disturbs nothing. A watch that begins knows of
/// no path.
fn draw_reloads(schedule: &mut Schedule, stream: &mut Stream, end: End, until: Time) {
    let count = pick(stream, &[0, 0, 1, 2]);
    let mut times: Vec<Time> = (0..count).map(|_| Time(stream.below(until.0))).collect();
    times.sort();
    let mut watched = schedule.nodes.settings[end.index()].liveness.is_some();
    for at in times {
        let named = stream.below(schedule.paths.len() as u64);
        let policy = draw_policy(stream, u8::try_from(named).unwrap_or(0));
        let is_watched = watched != stream.chance(0.2);
        let liveness = is_watched.then(LivenessConfig::default);
        let settings = Settings { policy, liveness };
        let incident = Incident::Adjust(end, settings);
        schedule.incidents.push((at, incident));
        if is_watched != std::mem::replace(&mut watched, is_watched) {
            let span = Span {
                from: at,
                until: at,
            };
            schedule.disturbances.push(Disturbance::of_all(span));
        }
    }
}
