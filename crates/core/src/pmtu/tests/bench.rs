use super::*;

/// A [`Discovery`] on one path, the replies in flight to it, and its results.
pub(super) struct Bench {
    /// The MTU of the interface.
    interface_mtu: u16,
    pub(super) discovery: Discovery,
    pub(super) liveness: Liveness,
    pub(super) now: Time,
    in_flight: Vec<(Time, u64, Purpose)>,
    /// The time of the next packet, if the path carries packets.
    packet: Option<Time>,
    /// The probes sent, with their sizes.
    pub(super) probes: Vec<(Time, u16)>,
    /// The sizes that were answered.
    pub(super) answered: Vec<u16>,
    /// The changes of state and confirmed size.
    pub(super) changes: Vec<(Time, MtuState, Option<u16>)>,
    /// The limit of each event.
    pub(super) limits: Vec<Option<u16>>,
}

impl Bench {
    pub(super) fn new(interface_mtu: u16) -> Self {
        let mut discovery = Discovery::default();
        assert_eq!(
            discovery.set_interface_mtu(Time::ZERO, PATH, interface_mtu, false),
            None
        );
        Self {
            interface_mtu,
            discovery,
            liveness: Liveness::new(&LivenessConfig::default(), 1),
            now: Time::ZERO,
            in_flight: Vec::new(),
            packet: None,
            probes: Vec::new(),
            answered: Vec::new(),
            changes: Vec::new(),
            limits: Vec::new(),
        }
    }

    /// Changes the MTU of the interface.
    pub(super) fn set_interface_mtu(
        &mut self,
        interface_mtu: u16,
        is_rerouted: bool,
    ) -> Option<Event> {
        let event = self
            .discovery
            .set_interface_mtu(self.now, PATH, interface_mtu, is_rerouted);
        self.interface_mtu = interface_mtu;
        if let Some(event) = event {
            self.note(event);
        }
        event
    }

    /// Makes the path carry a packet every 20 ms.
    pub(super) fn busy(self) -> Self {
        let packet = Some(Time::ZERO);
        Self { packet, ..self }
    }

    /// Runs until `until`; `outcome` is the round-trip time of a heartbeat of this length sent at
    /// this time, `None` if it is not answered.
    pub(super) fn run(
        &mut self,
        until: Time,
        mut outcome: impl FnMut(Time, u16) -> Option<Duration>,
    ) {
        loop {
            let answer = self.in_flight.iter().map(|(at, ..)| *at).min();
            let due = self.liveness.deadline().unwrap().at;
            let due = self
                .discovery
                .deadline()
                .map_or(due, |size| size.at.min(due));
            let packet = self.packet.unwrap_or(Time::MAX);
            let next = due.min(packet).min(answer.unwrap_or(Time::MAX));
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if packet == next {
                let was_idle = self.liveness.on_carried(self.now, PathSet::only(PATH));
                if was_idle {
                    self.discovery.refresh(self.now, &self.liveness);
                }
                self.packet = Some(self.now + MS * 20);
            } else if answer == Some(next) {
                self.answer_next();
            } else {
                self.wake(&mut outcome);
            }
            self.check();
        }
        self.now = until;
    }

    fn answer_next(&mut self) {
        let next = (0..self.in_flight.len()).min_by_key(|n| self.in_flight[*n].0);
        let (_, id, purpose) = self.in_flight.swap_remove(next.unwrap());
        if let Purpose::Size { len } = purpose {
            self.answered.push(len);
            let event = self.discovery.on_reply(self.now, PATH, id);
            if let Some(event) = event {
                self.note(event);
            }
        } else {
            self.liveness.on_reply(self.now, PATH, id);
        }
        self.discovery.refresh(self.now, &self.liveness);
    }

    fn wake(&mut self, outcome: &mut impl FnMut(Time, u16) -> Option<Duration>) {
        let now = self.now;
        let mut wanted = Vec::new();
        self.liveness.handle_timeout(now, |want| wanted.push(want));
        self.discovery
            .handle_timeout(now, &self.liveness, |want| wanted.push(want));
        for want in wanted {
            match want {
                LivenessOutput::Event(event) => self.note(event),
                LivenessOutput::Heartbeat { id, purpose, .. } => {
                    if let Purpose::Size { len } = purpose {
                        self.probes.push((now, len));
                    }
                    let rtt = outcome(now, purpose.body_len());
                    self.in_flight
                        .extend(rtt.map(|rtt| (now + rtt, id, purpose)));
                }
            }
        }
        let due = self.discovery.deadline();
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
        // The initial state is a search without result.
        let newest = self.changes.last().copied();
        let (_, before, found) = newest.unwrap_or((Time::ZERO, MtuState::Search, None));
        let is_changed = (before, found) != (state, packet);
        assert!(is_changed || self.limits.last() != Some(&limit));
        if is_changed {
            self.changes.push((self.now, state, packet));
        }
        self.limits.push(limit);
    }

    /// Checks that every reported size has been answered.
    fn check(&self) {
        assert!(self.discovery.is_fresh(&self.liveness), "at {}", self.now);
        let Some(known) = self.discovery.of(PATH) else {
            return;
        };
        // The driver has been notified of the current limit.
        let reported = self.limits.last().copied().flatten();
        match known.state {
            MtuState::Error => assert_eq!(reported, None),
            _ => assert_eq!(reported.unwrap_or(self.interface_mtu), self.limit()),
        }
        if let Some(size) = known.confirmed {
            assert!(self.answered.contains(&size), "{known:?}");
        }
        if known.state == MtuState::Complete {
            assert_eq!(known.confirmed, Some(self.limit()));
        }
    }

    pub(super) fn known(&self) -> PathMtu {
        self.discovery.of(PATH).unwrap()
    }

    /// The identifier of the newest probe.
    pub(super) fn last_probe(&self) -> u64 {
        self.probes.len() as u64 - 1
    }

    pub(super) fn limit(&self) -> u16 {
        self.discovery.search(PATH).unwrap().limit()
    }
}
