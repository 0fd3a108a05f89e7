//! The places of relays: their runs, what came there, and what must hold of them.

use std::collections::BTreeSet;

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;
use polypath_session::entropy::BoxedEntropy;
use polypath_session::event::SessionEvent;
use polypath_session::relay::{CAPACITY, Input, Output, Relay, RelayConfig, RelayEvent};

use super::Run;
use crate::node::{MAX_DATAGRAM, public_key, relay_key};
use crate::parcel::{Address, End, Host, Parcel, Truth};
use crate::sabotage::Sabotage;
use crate::schedule::Schedule;
use crate::tally::Tally;
use crate::trace::Entry;
use crate::violation::Violation;

/// The types of datagrams.
const INITIATION: u8 = 1;
const TRANSPORT: u8 = 3;

/// The place of a relay.
pub(super) struct RelaySite {
    path: PathId,
    relay: Option<Relay<Address>>,
    /// When it started: its own time counts from there.
    started: Time,
    starts: u32,
    /// The datagrams that this run has taken.
    taken: BTreeSet<u64>,
    /// From where nodes proved their keys since its start.
    proven: BTreeSet<Address>,
}

impl RelaySite {
    pub(super) fn new(path: PathId) -> Self {
        Self {
            path,
            relay: None,
            started: Time::ZERO,
            starts: 0,
            taken: BTreeSet::new(),
            proven: BTreeSet::new(),
        }
    }

    pub(super) fn next_at(&self) -> Option<Time> {
        let deadline = self.relay.as_ref()?.deadline()?;
        Some(self.started + Duration(deadline.at.0))
    }

    pub(super) fn start(&mut self, at: Time, schedule: &Schedule, tally: &mut Tally) {
        let seed = schedule.seed;
        let config = RelayConfig {
            private_key: relay_key(seed, self.path),
            nodes: End::ALL.map(|end| public_key(seed, end)),
            max_datagram: MAX_DATAGRAM,
            rate: Rate(schedule.paths[self.path.index()].relay_kbits * 1_000),
            limits: schedule.nodes.limits,
        };
        let (path, number) = (self.path.0, self.starts);
        let entropy = End::ALL.map(|end| {
            let name = format!("faults/entropy/relay/{path}/{}/{number}", end.name());
            Box::new(seed.stream(&name)) as BoxedEntropy
        });
        self.relay = Some(Relay::new(&config, entropy));
        self.started = at;
        self.starts += 1;
        tally.relay_restarts += u64::from(number > 0);
    }

    pub(super) fn stop(&mut self, tally: &mut Tally) {
        if let Some(relay) = self.relay.take() {
            tally.add_relay(&relay);
        }
        self.taken.clear();
        self.proven.clear();
    }

    /// Its address, which it keeps.
    pub(super) fn address(path: PathId) -> Address {
        Address {
            host: Host::Relay,
            path,
            number: 0,
        }
    }
}

impl Run<'_> {
    fn relay(&mut self, path: PathId) -> Option<&mut RelaySite> {
        self.relays.iter_mut().find(|site| site.path == path)
    }

    pub(super) fn start_relay(&mut self, path: PathId) {
        self.stranger.see_start(Host::Relay, Some(path));
        let (now, schedule) = (self.now, self.schedule);
        if let Some(site) = self.relays.iter_mut().find(|site| site.path == path) {
            site.start(now, schedule, &mut self.tally);
        }
    }

    pub(super) fn stop_relay(&mut self, path: PathId) {
        if let Some(site) = self.relays.iter_mut().find(|site| site.path == path) {
            site.stop(&mut self.tally);
        }
    }

    pub(super) fn wake_relays(&mut self) -> Result<(), Violation> {
        for path in self.schedule.relayed() {
            let next = self.relay(path).and_then(|site| site.next_at());
            if next.is_some_and(|at| at <= self.now) {
                self.wake_relay(path, Wake::Timeout, None)?;
            }
        }
        Ok(())
    }

    /// Hands a parcel to the relay that it goes to.
    pub(super) fn take_at_relay(&mut self, parcel: &Parcel) -> Result<(), Violation> {
        let path = parcel.to.path;
        let is_there = self.relay(path).is_some_and(|site| site.relay.is_some());
        if !is_there {
            self.tally.unreached += 1;
            let entry = Entry::Lost(parcel, "no relay is there");
            self.trace.note(self.now, &entry);
            return Ok(());
        }
        self.trace.note(self.now, &Entry::Arrived(parcel));
        let input = Input {
            source: parcel.source,
            datagram: parcel.bytes.clone(),
        };
        self.wake_relay(path, Wake::Input(input), Some(parcel))
    }

    /// Wakes a relay, and does and checks what it says; `parcel` is what it takes, if it takes one.
    fn wake_relay(
        &mut self,
        path: PathId,
        wake: Wake<Input<Address>>,
        parcel: Option<&Parcel>,
    ) -> Result<(), Violation> {
        let host = Host::Relay;
        let (now, sabotage) = (self.now, self.sabotage);
        let Some(site) = self.relay(path) else {
            return Ok(());
        };
        let (started, is_timeout) = (site.started, wake == Wake::Timeout);
        let Some(relay) = &mut site.relay else {
            return Ok(());
        };
        let own = Time(now.since(started).0);
        let mut said = Vec::new();
        step(relay, own, wake, &mut |output| said.push(output));
        let held = sabotage.held(relay.buffered());
        if let Some(due) = relay.deadline().filter(|due| is_timeout && due.at <= own) {
            let why = due.why;
            return Err(Violation::Stuck { host, why });
        }
        if held > CAPACITY {
            return Err(Violation::Hoarded { host, held });
        }
        if let Some(parcel) = parcel {
            self.provoke_relay(parcel, &mut said);
            self.judge_relay(parcel, &said)?;
        }
        for output in said {
            self.hear_relay(path, output, parcel)?;
        }
        Ok(())
    }

    fn provoke_relay(&mut self, parcel: &Parcel, said: &mut Vec<Output<Address>>) {
        let sabotage = self.sabotage;
        let is_rejected = said.iter().any(|output| rejection(output).is_some());
        let Some(site) = self.relay(parcel.to.path) else {
            return;
        };
        let mut others = site.proven.iter().filter(|at| **at != parcel.source);
        let other = others.next().copied();
        match (sabotage, other) {
            (Sabotage::RelaysUnopened, Some(to)) if is_rejected => said.push(Output::Send {
                to,
                datagram: parcel.bytes.clone(),
            }),
            (Sabotage::RelayAnswersStrangers, _) if is_rejected => said.push(Output::Send {
                to: parcel.source,
                datagram: Bytes::from_static(b"who are you?"),
            }),
            (Sabotage::RelaysTwice, _) => {
                let is_onward = |output: &&Output<Address>| matches!(output, Output::Send { to, .. } if *to != parcel.source);
                let again = said.iter().find(is_onward).cloned();
                said.extend(again);
            }
            _ => {}
        }
    }

    /// Nothing may follow at a relay from a datagram that is forged, changed or taken before, but for the answer to a
    /// handshake of before its start; and no more may go on to others than came.
    fn judge_relay(&mut self, parcel: &Parcel, said: &[Output<Address>]) -> Result<(), Violation> {
        let (id, came) = (parcel.id, parcel.bytes.len());
        let acted = Violation::Acted {
            host: Host::Relay,
            id,
        };
        let rejected = said.iter().find_map(rejection);
        let is_located = said.iter().any(is_located);
        let sent = |is_back: bool| {
            let sends = said.iter().filter_map(move |output| match output {
                Output::Send { to, datagram } => {
                    ((*to == parcel.source) == is_back).then_some(datagram.len())
                }
                Output::Event(_) => None,
            });
            sends.sum::<usize>()
        };
        let (back, onward) = (sent(true), sent(false));
        let Some(site) = self.relay(parcel.to.path) else {
            return Ok(());
        };
        let is_old = site.taken.contains(&id);
        if parcel.truth != Truth::Genuine || is_old {
            let answer = if parcel.truth == Truth::Old && !is_old {
                came
            } else {
                0
            };
            if is_located || onward > 0 || back > answer {
                return Err(acted);
            }
        } else if rejected.is_none() {
            site.taken.insert(id);
            if parcel.bytes.first() == Some(&TRANSPORT) {
                site.proven.insert(parcel.source);
            }
            self.stranger.see_taken(Host::Relay, parcel);
        }
        if onward > came {
            let sent = onward;
            return Err(Violation::Amplified { id, came, sent });
        }
        if let Some(reason) = rejected {
            let entry = Entry::Rejected(Host::Relay, reason);
            self.trace.note(self.now, &entry);
        }
        Ok(())
    }

    fn hear_relay(
        &mut self,
        path: PathId,
        output: Output<Address>,
        parcel: Option<&Parcel>,
    ) -> Result<(), Violation> {
        let host = Host::Relay;
        match output {
            Output::Send { to, datagram } => {
                let is_answer = |parcel: &Parcel| {
                    parcel.bytes.first() == Some(&INITIATION) && parcel.source == to
                };
                let may = self
                    .relay(path)
                    .is_some_and(|site| site.proven.contains(&to));
                if !may && !parcel.is_some_and(is_answer) {
                    return Err(Violation::Unproven { host, to });
                }
                self.carry(RelaySite::address(path), to, Truth::Genuine, datagram);
            }
            Output::Event(RelayEvent::Located { at, .. }) => {
                self.trace.note(self.now, &Entry::Followed(host, at));
            }
            Output::Event(event) => self.trace.note(self.now, &Entry::Said(host, &event)),
        }
        Ok(())
    }
}

fn rejection(output: &Output<Address>) -> Option<&'static str> {
    match output {
        Output::Event(
            RelayEvent::Rejected(reason)
            | RelayEvent::Session {
                event: SessionEvent::Rejected { reason, .. },
                ..
            },
        ) => Some(reason.name()),
        _ => None,
    }
}

fn is_located(output: &Output<Address>) -> bool {
    matches!(output, Output::Event(RelayEvent::Located { .. }))
}
