use super::*;

/// A [`Liveness`] machine, the replies in flight to it, and its events.
pub(super) struct Bench {
    pub(super) liveness: Liveness,
    pub(super) now: Time,
    in_flight: Vec<(Time, PathId, u64)>,
    /// The paths that carry a packet every 20 ms.
    busy_paths: PathSet,
    /// The time of the next packet.
    next_packet: Time,
    pub(super) sent: Vec<(Time, PathId)>,
    pub(super) events: Vec<(Time, Event)>,
}

impl Bench {
    pub(super) fn new(config: &LivenessConfig, paths: u8) -> Self {
        Self {
            liveness: Liveness::new(config, paths),
            now: Time::ZERO,
            in_flight: Vec::new(),
            busy_paths: PathSet::EMPTY,
            next_packet: Time::ZERO,
            sent: Vec::new(),
            events: Vec::new(),
        }
    }

    pub(super) fn carrying(mut self, paths: PathSet) -> Self {
        self.busy_paths = paths;
        self
    }

    /// Runs until `until`; `outcome` is the round-trip time of a heartbeat sent on a path at a
    /// time, `None` if it is not answered.
    pub(super) fn run(
        &mut self,
        until: Time,
        mut outcome: impl FnMut(PathId, Time) -> Option<Duration>,
    ) {
        loop {
            let answer = self.in_flight.iter().map(|(at, ..)| *at).min();
            let due = self.liveness.deadline().unwrap().at;
            let packet = self.next_packet;
            let next = due.min(packet).min(answer.unwrap_or(Time::MAX));
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if packet == next {
                self.liveness.on_carried(self.now, self.busy_paths);
                self.next_packet = self.now + MS * 20;
            } else if answer == Some(next) {
                self.answer_next();
            } else {
                self.wake(&mut outcome);
            }
        }
        self.now = until;
    }

    fn answer_next(&mut self) {
        let next = (0..self.in_flight.len()).min_by_key(|n| self.in_flight[*n].0);
        let (_, path, id) = self.in_flight.swap_remove(next.unwrap());
        let answer = self.liveness.on_reply(self.now, path, id);
        let event = answer.and_then(|answer| answer.event);
        self.events.extend(event.map(|event| (self.now, event)));
    }

    fn wake(&mut self, outcome: &mut impl FnMut(PathId, Time) -> Option<Duration>) {
        let now = self.now;
        let (in_flight, sent, events) = (&mut self.in_flight, &mut self.sent, &mut self.events);
        self.liveness.handle_timeout(now, |wanted| match wanted {
            LivenessOutput::Event(event) => events.push((now, event)),
            LivenessOutput::Heartbeat { path, id, .. } => {
                sent.push((now, path));
                in_flight.extend(outcome(path, now).map(|rtt| (now + rtt, path, id)));
            }
        });
        let due = self.liveness.deadline().unwrap();
        assert!(due.at > now, "{due:?} at {now}");
    }

    /// Changes of paths to silent (false) or back to live (true), with their times in milliseconds.
    pub(super) fn changes(&self) -> Vec<(u64, PathId, bool)> {
        let change = |(time, event): &(Time, Event)| {
            let ms = time.since(Time::ZERO).as_nanos() / MS.as_nanos();
            match event {
                Event::PathSilent { path, .. } => Some((ms, *path, false)),
                Event::PathBack { path, .. } => Some((ms, *path, true)),
                Event::PathSilentAgain { .. } => None,
                other => panic!("{other:?}"),
            }
        };
        self.events.iter().filter_map(change).collect()
    }

    pub(super) fn state(&self, path: PathId) -> PathState {
        self.liveness.health(path).unwrap().state
    }
}
