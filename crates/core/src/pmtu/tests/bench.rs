use super::*;

/// A discovery over one path, the answers under way to it, and what it has said.
pub(super) struct Bench {
    /// What the interface was said to let through.
    room: u16,
    pub(super) sizes: Discovery,
    pub(super) watch: Liveness,
    pub(super) now: Time,
    flying: Vec<(Time, u64, Purpose)>,
    /// When the next packet goes, where any does.
    packet: Option<Time>,
    /// The probes that left, with their sizes.
    pub(super) probes: Vec<(Time, u16)>,
    /// The sizes that were answered.
    pub(super) answered: Vec<u16>,
    /// How far it said to be, and what it found, where that had changed.
    pub(super) told: Vec<(Time, MtuState, Option<u16>)>,
    /// The limit of each event.
    pub(super) limits: Vec<Option<u16>>,
}

impl Bench {
    pub(super) fn new(room: u16) -> Self {
        let mut sizes = Discovery::default();
        assert_eq!(sizes.set_interface_mtu(Time::ZERO, PATH, room, false), None);
        Self {
            room,
            sizes,
            watch: Liveness::new(&LivenessConfig::default(), 1),
            now: Time::ZERO,
            flying: Vec::new(),
            packet: None,
            probes: Vec::new(),
            answered: Vec::new(),
            told: Vec::new(),
            limits: Vec::new(),
        }
    }

    /// Has the interface let through `room` from now on.
    pub(super) fn set_interface_mtu(&mut self, room: u16, elsewhere: bool) -> Option<Event> {
        let event = self
            .sizes
            .set_interface_mtu(self.now, PATH, room, elsewhere);
        self.room = room;
        if let Some(event) = event {
            self.note(event);
        }
        event
    }

    /// With a packet every 20 ms.
    pub(super) fn busy(self) -> Self {
        let packet = Some(Time::ZERO);
        Self { packet, ..self }
    }

    /// Goes on until `until`; `fate` is the round-trip time of a heartbeat of this length that leaves now, none for
    /// one that is not answered.
    pub(super) fn run(&mut self, until: Time, mut fate: impl FnMut(Time, u16) -> Option<Duration>) {
        loop {
            let answer = self.flying.iter().map(|(at, ..)| *at).min();
            let due = self.watch.deadline().unwrap().at;
            let due = self.sizes.deadline().map_or(due, |size| size.at.min(due));
            let packet = self.packet.unwrap_or(Time::MAX);
            let next = due.min(packet).min(answer.unwrap_or(Time::MAX));
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if packet == next {
                let rested = self.watch.on_carried(self.now, PathSet::only(PATH));
                if rested {
                    self.sizes.refresh(self.now, &self.watch);
                }
                self.packet = Some(self.now + MS * 20);
            } else if answer == Some(next) {
                self.answer_next();
            } else {
                self.wake(&mut fate);
            }
            self.check();
        }
        self.now = until;
    }

    fn answer_next(&mut self) {
        let next = (0..self.flying.len()).min_by_key(|n| self.flying[*n].0);
        let (_, id, purpose) = self.flying.swap_remove(next.unwrap());
        if let Purpose::Size { len } = purpose {
            self.answered.push(len);
            let event = self.sizes.on_reply(self.now, PATH, id);
            if let Some(event) = event {
                self.note(event);
            }
        } else {
            self.watch.on_reply(self.now, PATH, id);
        }
        self.sizes.refresh(self.now, &self.watch);
    }

    fn wake(&mut self, fate: &mut impl FnMut(Time, u16) -> Option<Duration>) {
        let now = self.now;
        let mut wanted = Vec::new();
        self.watch.handle_timeout(now, |want| wanted.push(want));
        self.sizes
            .handle_timeout(now, &self.watch, |want| wanted.push(want));
        for want in wanted {
            match want {
                LivenessOutput::Event(event) => self.note(event),
                LivenessOutput::Heartbeat { id, purpose, .. } => {
                    if let Purpose::Size { len } = purpose {
                        self.probes.push((now, len));
                    }
                    let rtt = fate(now, purpose.body_len());
                    self.flying.extend(rtt.map(|rtt| (now + rtt, id, purpose)));
                }
            }
        }
        let due = self.sizes.deadline();
        assert!(due.is_none_or(|due| due.at > now), "{due:?} at {now}");
    }

    fn note(&mut self, event: Event) {
        let Event::PathMtu {
            state,
            packet,
            limit,
            ..
        } = event
        else {
            return;
        };
        // A search under way is where all begins.
        let newest = self.told.last().copied();
        let (_, before, found) = newest.unwrap_or((Time::ZERO, MtuState::Search, None));
        let is_another = (before, found) != (state, packet);
        assert!(is_another || self.limits.last() != Some(&limit));
        if is_another {
            self.told.push((self.now, state, packet));
        }
        self.limits.push(limit);
    }

    /// Nothing is said to cross that was not answered.
    fn check(&self) {
        assert!(self.sizes.is_fresh(&self.watch), "at {}", self.now);
        let Some(known) = self.sizes.of(PATH) else {
            return;
        };
        // Whoever drives this knows of every limit, of whatever packets.
        let told = self.limits.last().copied().flatten();
        match known.state {
            MtuState::Error => assert_eq!(told, None),
            _ => assert_eq!(told.unwrap_or(self.room), self.limit()),
        }
        if let Some(size) = known.confirmed {
            assert!(self.answered.contains(&size), "{known:?}");
        }
        if known.state == MtuState::Complete {
            assert_eq!(known.confirmed, Some(self.limit()));
        }
    }

    pub(super) fn known(&self) -> PathMtu {
        self.sizes.of(PATH).unwrap()
    }

    /// The number of the newest probe.
    pub(super) fn asked(&self) -> u64 {
        self.probes.len() as u64 - 1
    }

    pub(super) fn limit(&self) -> u16 {
        self.sizes.search(PATH).unwrap().limit()
    }
}
