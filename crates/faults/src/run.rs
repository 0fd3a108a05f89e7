//! The run of one schedule.

mod attacks;
mod checks;
mod driver;
mod limits;
mod mtu;
mod node_slot;
mod outputs;
mod relay_slot;

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use polypath_core::machine::Wake;
use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};
use polypath_session::tunnel::Input;

use crate::attacker::Attacker;
use crate::coverage::Coverage;
use crate::datagram::{End, Host, TestDatagram};
use crate::ledger::PacketLedger;
use crate::mutants::Mutant;
use crate::network::{Network, NetworkError, NetworkOutput};
use crate::node::StuckDeadline;
use crate::packet;
use crate::schedule::{Attack, Incident, Schedule};
use crate::trace::{Trace, TraceEvent};
use crate::violation::Violation;
use limits::{check_closed, still_closed};
use node_slot::NodeSlot;
use relay_slot::RelaySlot;

/// Options of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The deliberate defect.
    pub mutant: Mutant,
    /// Whether all events are printed.
    pub verbose: bool,
}

/// The result of a run without a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<C> {
    /// The counts of what it exercised.
    pub coverage: C,
    /// The digest of its events.
    pub digest: u64,
}

/// The failure of a run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An invariant is violated.
    #[error("seed {seed}: at {at}, {violation}")]
    Violated {
        /// The seed of the schedule.
        seed: u64,
        /// The time of the violation.
        at: Time,
        /// The violation.
        violation: Violation,
    },
    /// A node, a relay or the network panicked.
    #[error("seed {seed}: panicked: {message}")]
    Panicked {
        /// The seed of the schedule.
        seed: u64,
        /// The message of the panic.
        message: String,
    },
    /// Two runs of the schedule differ.
    #[error("seed {seed}: two runs differ")]
    Differs {
        /// The seed of the schedule.
        seed: u64,
    },
    /// The network is invalid.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// Runs the schedule of a seed to its end.
///
/// # Errors
/// The first violated invariant, or a panic.
pub fn run(seed: u64, options: Options) -> Result<Outcome<Coverage>, Failure> {
    catch_panic(seed, || run_schedule(seed, options))
}

/// The result of `run`, with a panic as a failure.
pub(crate) fn catch_panic<C>(
    seed: u64,
    run: impl FnOnce() -> Result<Outcome<C>, Failure>,
) -> Result<Outcome<C>, Failure> {
    // Nothing that a panic could leave inconsistent outlives the run.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let message = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let message = message.unwrap_or_default();
        Err(Failure::Panicked { seed, message })
    })
}

fn run_schedule(seed: u64, options: Options) -> Result<Outcome<Coverage>, Failure> {
    let schedule = Schedule::draw(seed);
    let mut run = Run::new(&schedule, options)?;
    let ran = run.run_events();
    let finished = ran.and_then(|()| run.finish());
    match finished {
        Ok(()) => Ok(Outcome {
            digest: run.trace.digest(),
            coverage: run.coverage,
        }),
        Err(violation) => Err(Failure::Violated {
            seed,
            at: run.now,
            violation,
        }),
    }
}

/// Two nodes, the relays, the network and an attacker.
struct Run<'a> {
    schedule: &'a Schedule,
    mutant: Mutant,
    now: Time,
    slots: [NodeSlot; 2],
    relays: Vec<RelaySlot>,
    network: Network,
    attacker: Attacker,
    ledger: PacketLedger,
    trace: Trace,
    coverage: Coverage,
    progress: Progress,
}

/// The position in the schedule, and counters.
struct Progress {
    incidents: usize,
    attacks: usize,
    /// The attacks that react to initiations, in the order of time.
    reactions: VecDeque<Attack>,
    /// The reason why the last datagram that arrived at a host was rejected, if it was.
    rejected: Option<&'static str>,
    /// The cookie replies that hosts sent.
    cookies: BTreeSet<Bytes>,
    datagrams: u64,
    deliveries: u64,
}

impl<'a> Run<'a> {
    fn new(schedule: &'a Schedule, options: Options) -> Result<Self, NetworkError> {
        let mut run = Self {
            schedule,
            mutant: options.mutant,
            now: Time::ZERO,
            slots: End::ALL.map(|end| NodeSlot::new(end, schedule)),
            relays: schedule.relayed_paths().map(RelaySlot::new).collect(),
            network: Network::new(schedule)?,
            attacker: Attacker::new(schedule.seed),
            ledger: PacketLedger::default(),
            trace: Trace::new(options.verbose),
            coverage: Coverage {
                schedules: 1,
                ..Coverage::default()
            },
            progress: Progress {
                incidents: 0,
                attacks: 0,
                reactions: VecDeque::new(),
                rejected: None,
                cookies: BTreeSet::new(),
                datagrams: 0,
                deliveries: 0,
            },
        };
        for interval in &schedule.fault_intervals {
            let event =
                TraceEvent::Impairment(interval.from, interval.path.0, &interval.impairment);
            run.trace.record(interval.span.from, &event);
        }
        Ok(run)
    }

    /// Processes all events in the order of time; at equal times incidents, arrivals, timers,
    /// packets, relays and attacks, in this order.
    fn run_events(&mut self) -> Result<(), Violation> {
        while let Some(next) = self.deadline().filter(|at| *at <= self.schedule.end) {
            self.now = next.max(self.now);
            self.apply_incidents()?;
            self.deliver_datagrams()?;
            for end in End::ALL {
                if self.slot(end).deadline().is_some_and(|at| at <= self.now) {
                    self.handle_wakeup(end)?;
                }
                self.send_app_packet(end)?;
            }
            self.wake_relays()?;
            self.attack()?;
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        let incident = self.schedule.incidents.get(self.progress.incidents);
        let attack = self.schedule.attacks.get(self.progress.attacks);
        let reaction = self.progress.reactions.front();
        let nodes = self.slots.iter().filter_map(NodeSlot::deadline);
        let relays = self.relays.iter().filter_map(RelaySlot::deadline);
        let apps = self.slots.iter().map(|slot| slot.next_packet);
        let rest = [
            incident.map(|(at, _)| *at),
            attack.map(|attack| attack.at),
            reaction.map(|attack| attack.at),
            self.network.deadline(),
        ];
        let machines = nodes.chain(relays);
        machines.chain(apps).chain(rest.into_iter().flatten()).min()
    }

    fn slot(&mut self, end: End) -> &mut NodeSlot {
        &mut self.slots[end.index()]
    }

    fn apply_incidents(&mut self) -> Result<(), Violation> {
        let schedule = self.schedule;
        while let Some((_, incident)) = schedule.incidents.get(self.progress.incidents)
            && schedule.incidents[self.progress.incidents].0 <= self.now
        {
            self.progress.incidents += 1;
            self.trace.record(self.now, &TraceEvent::Incident(incident));
            let (now, mutant) = (self.now, self.mutant);
            match *incident {
                Incident::Start { end, .. } => {
                    self.attacker.observe_restart(Host::Node(end), None);
                    let slot = &mut self.slots[end.index()];
                    slot.start(now, incident, schedule, mutant, &mut self.coverage);
                    self.set_interface_mtus(end)?;
                }
                Incident::Reload(end, settings) => self.reload(end, settings)?,
                Incident::Stall(end, until) => self.slots[end.index()].stall_until(until),
                Incident::Stop(end) => self.stop_node(end),
                Incident::Move(end, path) => {
                    self.slots[end.index()].change_address(path);
                    self.coverage.moves += 1;
                }
                Incident::StopRelay(path) => self.stop_relay(path),
                Incident::StartRelay(path) => self.start_relay(path),
                Incident::Renew(end, path) => self.renew(end, path)?,
            }
        }
        Ok(())
    }

    fn stop_node(&mut self, end: End) {
        let keeps_timestamp = self.schedule.nodes.state.keeps_timestamp[end.index()];
        self.slots[end.index()].stop(keeps_timestamp, &mut self.coverage);
    }

    fn deliver_datagrams(&mut self) -> Result<(), Violation> {
        let mut outputs = Vec::new();
        self.network
            .advance(self.now, &mut self.coverage, &mut |output| {
                outputs.push(output);
            });
        for output in outputs {
            match output {
                NetworkOutput::Arrived(datagram) => self.deliver_datagram(&datagram)?,
                NetworkOutput::Lost(datagram, why) => self
                    .trace
                    .record(self.now, &TraceEvent::Lost(&datagram, why)),
            }
        }
        Ok(())
    }

    /// Delivers a datagram to the host at its destination address.
    fn deliver_datagram(&mut self, datagram: &TestDatagram) -> Result<(), Violation> {
        self.check_ecn(datagram)?;
        let end = match datagram.to.host {
            Host::Node(end) => end,
            Host::Relay => return self.deliver_to_relay(datagram),
            Host::Attacker => {
                self.attacker.receive(self.now, datagram);
                return Ok(());
            }
        };
        if !self.slot(end).is_at(datagram.to) {
            self.coverage.unreachable += 1;
            self.trace.record(
                self.now,
                &TraceEvent::Lost(datagram, "no host at the address"),
            );
            return Ok(());
        }
        self.trace.record(self.now, &TraceEvent::Arrived(datagram));
        if let Some(stall) = &mut self.slots[end.index()].stall {
            stall.datagrams.push((self.now, datagram.clone()));
            return Ok(());
        }
        self.wake_with_datagram(end, self.now, datagram)
    }

    /// Delivers a datagram to a node as if it were `at`.
    fn wake_with_datagram(
        &mut self,
        end: End,
        at: Time,
        datagram: &TestDatagram,
    ) -> Result<(), Violation> {
        let input = Input::Datagram {
            path: datagram.to.path,
            source: self.mutant.source(datagram),
            ecn: datagram.ecn,
            datagram: self.mutant.received(&datagram.bytes),
        };
        self.wake_at(end, at, Wake::Input(input), Some(datagram))
    }

    fn wake(&mut self, end: End, wake: Wake<Input>) -> Result<(), Violation> {
        self.wake_at(end, self.now, wake, None)
    }

    /// Wakes a node as if it were `at`, and checks and performs its outputs; `datagram` is its
    /// input, if any.
    fn wake_at(
        &mut self,
        end: End,
        at: Time,
        wake: Wake<Input>,
        datagram: Option<&TestDatagram>,
    ) -> Result<(), Violation> {
        let Some(node) = self.slot(end).node.as_mut() else {
            return Ok(());
        };
        let mut outputs = Vec::new();
        let closed = node.tunnel().endpoint().closed_paths();
        let change = matches!(wake, Wake::Input(Input::Adjust(_)));
        let woken = node.wake(at, wake, &mut |output| outputs.push(output));
        let (buffered, capacity) = (node.tunnel().buffered(), node.tunnel().capacity());
        let host = Host::Node(end);
        let closed = still_closed(node.tunnel(), closed);
        woken.map_err(|StuckDeadline(why)| Violation::StuckDeadline { host, why })?;
        if let Some(datagram) = datagram {
            self.mutate_outputs(datagram, &mut outputs);
            self.check_outputs(end, datagram, &outputs)?;
        }
        self.mutant.mutate_closed(closed, &mut outputs);
        check_closed(end, closed, &outputs)?;
        self.check_ceiling(end, change, &outputs)?;
        let buffered = self.mutant.buffered(buffered);
        self.coverage.max_buffered = self.coverage.max_buffered.max(buffered);
        if buffered > capacity {
            return Err(Violation::OverCapacity { host, buffered });
        }
        for output in outputs {
            self.handle_output(end, output, datagram)?;
        }
        self.check_assumed_mtus(end)
    }

    /// Sends the next packet of an application, if it is due.
    fn send_app_packet(&mut self, end: End) -> Result<(), Violation> {
        let (now, app) = (self.now, self.schedule.nodes.apps[end.index()]);
        let slot = &mut self.slots[end.index()];
        if slot.next_packet > now {
            return Ok(());
        }
        let (len, gap) = draw_packet(&mut slot.packets, app.min_interval, app.max_len);
        slot.next_packet = if now < self.schedule.last_packet_at {
            now + gap
        } else {
            Time::MAX
        };
        let Some(node) = &slot.node else {
            return Ok(());
        };
        let spec = self.ledger.record_sent(now, end, len, !node.is_impostor);
        self.trace
            .record(now, &TraceEvent::PacketSent(end, spec.id));
        if let Some(stall) = &mut self.slots[end.index()].stall {
            stall.packets.push(spec.bytes());
            return Ok(());
        }
        self.wake(end, Wake::Input(Input::Packet(spec.bytes())))
    }

    /// Completes the counts, and checks that all required packets arrived.
    fn finish(&mut self) -> Result<(), Violation> {
        self.check_discovered_mtus()?;
        for end in End::ALL {
            self.stop_node(end);
        }
        for slot in &mut self.relays {
            slot.stop(&mut self.coverage);
        }
        self.ledger.close(self.schedule, &mut self.coverage)
    }
}

/// The length of the next packet, and the time until the one after it; one in four is an ACK.
fn draw_packet(stream: &mut Stream, min_interval: Duration, max_len: u16) -> (u16, Duration) {
    let payload = max_len.saturating_sub(packet::MIN_LEN);
    let extra = u16::try_from(stream.below(u64::from(payload) + 1)).unwrap_or(0);
    let is_ack = stream.chance(0.25);
    let len = packet::MIN_LEN + if is_ack { 0 } else { extra };
    (len, min_interval + Duration(stream.below(min_interval.0)))
}
