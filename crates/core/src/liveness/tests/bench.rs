use super::*;

/// A watch, the answers under way to it, and what it has said.
pub(super) struct Bench {
    pub(super) watch: Liveness,
    pub(super) now: Time,
    flying: Vec<(Time, PathId, u64)>,
    /// The paths that carry a packet every 20 ms, and when the next comes.
    carrying: (PathSet, Time),
    pub(super) sent: Vec<(Time, PathId)>,
    pub(super) told: Vec<(Time, Event)>,
}

impl Bench {
    pub(super) fn new(config: &LivenessConfig, paths: u8) -> Self {
        Self {
            watch: Liveness::new(config, paths),
            now: Time::ZERO,
            flying: Vec::new(),
            carrying: (PathSet::EMPTY, Time::ZERO),
            sent: Vec::new(),
            told: Vec::new(),
        }
    }

    pub(super) fn carrying(mut self, paths: PathSet) -> Self {
        self.carrying.0 = paths;
        self
    }

    /// Goes on until `until`; `fate` is the round-trip time of the heartbeat that leaves on a path at a
    /// time, none for one that is not answered.
    pub(super) fn run(
        &mut self,
        until: Time,
        mut fate: impl FnMut(PathId, Time) -> Option<Duration>,
    ) {
        loop {
            let answer = self.flying.iter().map(|(at, ..)| *at).min();
            let due = self.watch.deadline().unwrap().at;
            let packet = self.carrying.1;
            let next = due.min(packet).min(answer.unwrap_or(Time::MAX));
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if packet == next {
                self.watch.on_carried(self.now, self.carrying.0);
                self.carrying.1 = self.now + MS * 20;
            } else if answer == Some(next) {
                self.answer_next();
            } else {
                self.wake(&mut fate);
            }
        }
        self.now = until;
    }

    fn answer_next(&mut self) {
        let next = (0..self.flying.len()).min_by_key(|n| self.flying[*n].0);
        let (_, path, id) = self.flying.swap_remove(next.unwrap());
        let said = self.watch.on_reply(self.now, path, id);
        self.told.extend(said.map(|event| (self.now, event)));
    }

    fn wake(&mut self, fate: &mut impl FnMut(PathId, Time) -> Option<Duration>) {
        let now = self.now;
        let (flying, sent, told) = (&mut self.flying, &mut self.sent, &mut self.told);
        self.watch.handle_timeout(now, |wanted| match wanted {
            LivenessOutput::Event(event) => told.push((now, event)),
            LivenessOutput::Heartbeat { path, id, .. } => {
                sent.push((now, path));
                flying.extend(fate(path, now).map(|rtt| (now + rtt, path, id)));
            }
        });
        let due = self.watch.deadline().unwrap();
        assert!(due.at > now, "{due:?} at {now}");
    }

    /// When which path fell silent (false) or came back (true), in milliseconds.
    pub(super) fn changes(&self) -> Vec<(u64, PathId, bool)> {
        let change = |(time, event): &(Time, Event)| {
            let ms = time.since(Time::ZERO).as_nanos() / MS.as_nanos();
            match event {
                Event::PathSilent { path, .. } => (ms, *path, false),
                Event::PathBack { path, .. } => (ms, *path, true),
                other => panic!("{other:?}"),
            }
        };
        self.told.iter().map(change).collect()
    }

    pub(super) fn state(&self, path: PathId) -> PathState {
        self.watch.health(path).unwrap().state
    }
}
