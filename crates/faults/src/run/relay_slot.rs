//! The successive instances of each relay, and the checks of their outputs.

use std::collections::BTreeSet;

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::packet::TrafficClass;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;
use polypath_session::datagram::{
    COOKIE_REPLY_LEN, INITIATION, RESPONSE, RESPONSE_LEN, is_transport,
};
use polypath_session::entropy::BoxedEntropy;
use polypath_session::event::{Reject, SessionEvent};
use polypath_session::relay::{CAPACITY, Input, Output, Relay, RelayConfig, RelayEvent};

use super::Run;
use super::outputs::check_cookie;
use crate::coverage::Coverage;
use crate::datagram::{Address, End, Host, Provenance, TestDatagram};
use crate::mutants::Mutant;
use crate::node::{MAX_DATAGRAM, public_key, relay_key};
use crate::schedule::Schedule;
use crate::trace::TraceEvent;
use crate::violation::Violation;

/// The successive instances of the relay of one path.
pub(super) struct RelaySlot {
    path: PathId,
    relay: Option<Relay<Address>>,
    /// The time of its start, which is zero on its own clock.
    started: Time,
    starts: u32,
    /// The genuine datagrams that this instance accepted.
    accepted: BTreeSet<u64>,
    /// The responses that this instance sent.
    responses: BTreeSet<Bytes>,
    /// The addresses from which nodes proved their keys since its start.
    proven: BTreeSet<Address>,
}

impl RelaySlot {
    pub(super) fn new(path: PathId) -> Self {
        Self {
            path,
            relay: None,
            started: Time::ZERO,
            starts: 0,
            accepted: BTreeSet::new(),
            responses: BTreeSet::new(),
            proven: BTreeSet::new(),
        }
    }

    /// Whether all datagrams that the outputs send are responses that were sent before.
    fn repeats(&self, outputs: &[Output<Address>]) -> bool {
        outputs.iter().all(|output| match output {
            Output::Send { datagram, .. } => self.responses.contains(datagram),
            Output::Event(_) => true,
        })
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        let deadline = self.relay.as_ref()?.deadline()?;
        Some(self.started + Duration(deadline.at.0))
    }

    pub(super) fn start(
        &mut self,
        at: Time,
        schedule: &Schedule,
        mutant: Mutant,
        coverage: &mut Coverage,
    ) {
        let seed = schedule.seed;
        let config = RelayConfig {
            private_key: relay_key(seed, self.path),
            nodes: End::ALL.map(|end| public_key(seed, end)),
            max_datagram: MAX_DATAGRAM,
            rate: Rate(schedule.paths[self.path.index()].relay_kbits * 1_000),
            limits: schedule.nodes.limits,
            receives_ecn: mutant.receives_ecn(schedule.ecn.is_received_by(Host::Relay)),
        };
        let (path, number) = (self.path.0, self.starts);
        let entropy = End::ALL.map(|end| {
            let name = format!("faults/entropy/relay/{path}/{}/{number}", end.name());
            Box::new(seed.stream(&name)) as BoxedEntropy
        });
        self.relay = Some(Relay::new(&config, entropy));
        self.started = at;
        self.starts += 1;
        coverage.relay_restarts += u64::from(number > 0);
    }

    /// Whether it has run for at least 45 s.
    pub(super) fn is_old(&self, now: Time) -> bool {
        now >= self.started + Duration::from_secs(45)
    }

    pub(super) fn stop(&mut self, coverage: &mut Coverage) {
        if let Some(relay) = self.relay.take() {
            coverage.add_relay(&relay);
        }
        self.accepted.clear();
        self.responses.clear();
        self.proven.clear();
    }

    /// Its address, which never changes.
    pub(super) fn address(path: PathId) -> Address {
        Address {
            host: Host::Relay,
            path,
            number: 0,
        }
    }
}

impl Run<'_> {
    pub(super) fn relay(&mut self, path: PathId) -> Option<&mut RelaySlot> {
        self.relays.iter_mut().find(|slot| slot.path == path)
    }

    pub(super) fn start_relay(&mut self, path: PathId) {
        self.attacker.observe_restart(Host::Relay, Some(path));
        let (now, schedule, mutant) = (self.now, self.schedule, self.mutant);
        if let Some(slot) = self.relays.iter_mut().find(|slot| slot.path == path) {
            slot.start(now, schedule, mutant, &mut self.coverage);
        }
    }

    pub(super) fn stop_relay(&mut self, path: PathId) {
        if let Some(slot) = self.relays.iter_mut().find(|slot| slot.path == path) {
            slot.stop(&mut self.coverage);
        }
    }

    pub(super) fn wake_relays(&mut self) -> Result<(), Violation> {
        for path in self.schedule.relayed_paths() {
            let next = self.relay(path).and_then(|slot| slot.deadline());
            if next.is_some_and(|at| at <= self.now) {
                self.wake_relay(path, Wake::Timeout, None)?;
            }
        }
        Ok(())
    }

    /// Delivers a datagram to its relay.
    pub(super) fn deliver_to_relay(&mut self, datagram: &TestDatagram) -> Result<(), Violation> {
        let path = datagram.to.path;
        let is_there = self.relay(path).is_some_and(|slot| slot.relay.is_some());
        if !is_there {
            self.coverage.unreachable += 1;
            let event = TraceEvent::Lost(datagram, "no relay at the address");
            self.trace.record(self.now, &event);
            return Ok(());
        }
        self.trace.record(self.now, &TraceEvent::Arrived(datagram));
        let input = Input {
            source: datagram.source,
            datagram: self.mutant.received(&datagram.bytes),
            traffic_class: TrafficClass {
                ecn: datagram.ecn,
                ..TrafficClass::DEFAULT
            },
        };
        self.wake_relay(path, Wake::Input(input), Some(datagram))
    }

    /// Wakes a relay, and checks and performs its outputs; `datagram` is its input, if any.
    fn wake_relay(
        &mut self,
        path: PathId,
        wake: Wake<Input<Address>>,
        datagram: Option<&TestDatagram>,
    ) -> Result<(), Violation> {
        let host = Host::Relay;
        let (now, mutant) = (self.now, self.mutant);
        let Some(slot) = self.relay(path) else {
            return Ok(());
        };
        let (started, is_timeout) = (slot.started, wake == Wake::Timeout);
        let Some(relay) = &mut slot.relay else {
            return Ok(());
        };
        let own = Time(now.since(started).0);
        let mut outputs = Vec::new();
        step(relay, own, wake, &mut |output| outputs.push(output));
        let buffered = mutant.buffered(relay.buffered());
        if let Some(due) = relay.deadline().filter(|due| is_timeout && due.at <= own) {
            let why = due.why;
            return Err(Violation::StuckDeadline { host, why });
        }
        if buffered > CAPACITY {
            return Err(Violation::OverCapacity { host, buffered });
        }
        if let Some(datagram) = datagram {
            self.mutate_relay_outputs(datagram, &mut outputs);
            self.check_relay_outputs(datagram, &outputs)?;
        }
        for output in outputs {
            self.handle_relay_output(path, output, datagram)?;
        }
        Ok(())
    }

    fn mutate_relay_outputs(
        &mut self,
        datagram: &TestDatagram,
        outputs: &mut Vec<Output<Address>>,
    ) {
        let mutant = self.mutant;
        let is_rejected = outputs.iter().any(|output| rejection(output).is_some());
        let Some(slot) = self.relay(datagram.to.path) else {
            return;
        };
        let mut others = slot.proven.iter().filter(|at| **at != datagram.source);
        let other = others.next().copied();
        match (mutant, other) {
            (Mutant::RelaysUnauthenticated, Some(to)) if is_rejected => {
                outputs.push(Output::Send {
                    to,
                    datagram: datagram.bytes.clone(),
                    traffic_class: TrafficClass::DEFAULT,
                });
            }
            (Mutant::AnswersFirstCopy, _) => {
                let copy = Reject::HandshakeCopy.name();
                if outputs.iter().any(|output| rejection(output) == Some(copy)) {
                    outputs.retain(|output| !matches!(output, Output::Send { .. }));
                }
            }
            (Mutant::RelayRepliesToRejected, _) if is_rejected => outputs.push(Output::Send {
                to: datagram.source,
                datagram: Bytes::from_static(b"who are you?"),
                traffic_class: TrafficClass::DEFAULT,
            }),
            (Mutant::RelaysTwice, _) => {
                let is_forwarded = |output: &&Output<Address>| matches!(output, Output::Send { to, .. } if *to != datagram.source);
                let again = outputs.iter().find(is_forwarded).cloned();
                outputs.extend(again);
            }
            _ => {}
        }
    }

    /// Checks that a forged, modified or replayed datagram has no effect except the response to an
    /// initiation from before the start of the relay, and that no more is forwarded than received.
    fn check_relay_outputs(
        &mut self,
        datagram: &TestDatagram,
        outputs: &[Output<Address>],
    ) -> Result<(), Violation> {
        let (id, received) = (datagram.id, datagram.bytes.len());
        let acted = Violation::ActedOnForgery {
            host: Host::Relay,
            id,
        };
        let rejected = outputs.iter().find_map(rejection);
        self.progress.rejected = rejected;
        let is_located = outputs.iter().any(is_located);
        let sent = |is_back: bool| {
            let sends = outputs.iter().filter_map(move |output| match output {
                Output::Send {
                    to,
                    datagram: bytes,
                    ..
                } => ((*to == datagram.source) == is_back).then_some(bytes.len()),
                Output::Event(_) => None,
            });
            sends.sum::<usize>()
        };
        let (back, onward) = (sent(true), sent(false));
        let Some(slot) = self.relay(datagram.to.path) else {
            return Ok(());
        };
        let is_old = slot.accepted.contains(&id);
        if datagram.provenance != Provenance::Genuine || is_old {
            let is_answered = datagram.provenance == Provenance::UnknownCopy && !is_old;
            let is_rejected = |reason: Reject| rejected == Some(reason.name());
            let answer = match datagram.bytes.first() {
                _ if is_answered => received,
                Some(&INITIATION) if is_rejected(Reject::CookieRequired) => COOKIE_REPLY_LEN,
                Some(&INITIATION)
                    if is_rejected(Reject::HandshakeCopy) && slot.repeats(outputs) =>
                {
                    RESPONSE_LEN
                }
                _ => 0,
            };
            if is_located || onward > 0 || back > answer {
                return Err(acted);
            }
        } else if rejected.is_none() {
            slot.accepted.insert(id);
            if datagram.bytes.first().copied().is_some_and(is_transport) {
                slot.proven.insert(datagram.source);
            }
            self.attacker.observe_accepted(Host::Relay, datagram);
        }
        if onward > received {
            let sent = onward;
            return Err(Violation::Amplified { id, received, sent });
        }
        if let Some(reason) = rejected {
            let event = TraceEvent::Rejected(Host::Relay, reason);
            self.trace.record(self.now, &event);
        }
        Ok(())
    }

    fn handle_relay_output(
        &mut self,
        path: PathId,
        output: Output<Address>,
        datagram: Option<&TestDatagram>,
    ) -> Result<(), Violation> {
        let host = Host::Relay;
        match output {
            Output::Send {
                to,
                datagram: bytes,
                traffic_class,
            } => {
                let is_answer = |datagram: &TestDatagram| {
                    datagram.bytes.first() == Some(&INITIATION) && datagram.source == to
                };
                let slot = self.relay(path);
                let is_proven = slot.is_some_and(|slot| {
                    if bytes.first() == Some(&RESPONSE) {
                        slot.responses.insert(bytes.clone());
                    }
                    slot.proven.contains(&to)
                });
                if !is_proven && !datagram.is_some_and(is_answer) {
                    return Err(Violation::UnprovenDestination { host, to });
                }
                if let Some(datagram) = datagram {
                    check_cookie(host, datagram.source, to, &bytes)?;
                }
                let datagram =
                    self.new_datagram(RelaySlot::address(path), to, Provenance::Genuine, bytes);
                let ecn = traffic_class.ecn;
                self.transmit(TestDatagram { ecn, ..datagram });
            }
            Output::Event(RelayEvent::Located { at, .. }) => {
                self.trace
                    .record(self.now, &TraceEvent::AddressLearned(host, at));
            }
            Output::Event(event) => self
                .trace
                .record(self.now, &TraceEvent::Event(host, &event)),
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
