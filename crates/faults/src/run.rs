//! One schedule from start to end.

mod attacks;
mod judge;
mod orders;
mod relays;
mod site;
mod sizes;

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use polypath_core::machine::Wake;
use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};
use polypath_session::tunnel::{Input, Output};

use crate::ledger::Ledger;
use crate::network::{Network, NetworkError, Passage};
use crate::node::Stuck;
use crate::packet;
use crate::parcel::{Address, End, Host, Parcel, Truth};
use crate::sabotage::Sabotage;
use crate::schedule::{Incident, Schedule};
use crate::stranger::Stranger;
use crate::tally::Tally;
use crate::trace::{Entry, Trace};
use crate::violation::Violation;
use relays::RelaySite;
use site::Site;

/// How a schedule is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What is broken on purpose.
    pub sabotage: Sabotage,
    /// Whether all that happens is printed.
    pub words: bool,
}

/// What a schedule came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What it exercised.
    pub tally: Tally,
    /// The digest of all that happened.
    pub digest: u64,
}

/// Why a schedule failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An invariant does not hold.
    #[error("seed {seed}: at {at}, {violation}")]
    Violated {
        /// The seed of the schedule.
        seed: u64,
        /// When.
        at: Time,
        /// Which.
        violation: Violation,
    },
    /// A node, a relay or the network panicked.
    #[error("seed {seed}: panicked: {message}")]
    Panicked {
        /// The seed of the schedule.
        seed: u64,
        /// What it said.
        message: String,
    },
    /// Two runs of one schedule were not the same.
    #[error("seed {seed}: two runs differ")]
    Differs {
        /// The seed of the schedule.
        seed: u64,
    },
    /// There is no network.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// Runs the schedule of a seed to its end.
///
/// # Errors
/// The first invariant that does not hold; no panic is one of them.
pub fn run(seed: u64, options: Options) -> Result<Outcome, Failure> {
    caught(seed, || run_schedule(seed, options))
}

/// What `run` comes to, or that it panicked.
pub(crate) fn caught(
    seed: u64,
    run: impl FnOnce() -> Result<Outcome, Failure>,
) -> Result<Outcome, Failure> {
    // Nothing outlasts a run that it could have left half done.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let message = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let message = message.unwrap_or_default();
        Err(Failure::Panicked { seed, message })
    })
}

fn run_schedule(seed: u64, options: Options) -> Result<Outcome, Failure> {
    let schedule = Schedule::draw(seed);
    let mut run = Run::new(&schedule, options)?;
    let played = run.play();
    let closed = played.and_then(|()| run.close());
    match closed {
        Ok(()) => Ok(Outcome {
            digest: run.trace.digest(),
            tally: run.tally,
        }),
        Err(violation) => Err(Failure::Violated {
            seed,
            at: run.now,
            violation,
        }),
    }
}

/// Two nodes, the relays, the network and a stranger.
struct Run<'a> {
    schedule: &'a Schedule,
    sabotage: Sabotage,
    now: Time,
    sites: [Site; 2],
    relays: Vec<RelaySite>,
    network: Network,
    stranger: Stranger,
    ledger: Ledger,
    trace: Trace,
    tally: Tally,
    plan: Plan,
}

/// What of the schedule is still to come.
struct Plan {
    incidents: usize,
    attacks: usize,
    parcels: u64,
    deliveries: u64,
}

impl<'a> Run<'a> {
    fn new(schedule: &'a Schedule, options: Options) -> Result<Self, NetworkError> {
        let mut run = Self {
            schedule,
            sabotage: options.sabotage,
            now: Time::ZERO,
            sites: End::ALL.map(|end| Site::new(end, schedule)),
            relays: schedule.relayed().map(RelaySite::new).collect(),
            network: Network::new(schedule)?,
            stranger: Stranger::new(schedule.seed),
            ledger: Ledger::default(),
            trace: Trace::new(options.words),
            tally: Tally {
                schedules: 1,
                ..Tally::default()
            },
            plan: Plan {
                incidents: 0,
                attacks: 0,
                parcels: 0,
                deliveries: 0,
            },
        };
        for spell in &schedule.spells {
            let entry = Entry::Trouble(spell.from, spell.path.0, &spell.trouble);
            run.trace.note(spell.span.from, &entry);
        }
        Ok(run)
    }

    /// Does everything in order of time; at equal times incidents, arrivals, timers, packets, relays and attacks, in this
    /// order.
    fn play(&mut self) -> Result<(), Violation> {
        while let Some(next) = self.next_at().filter(|at| *at <= self.schedule.end) {
            self.now = next.max(self.now);
            self.befall()?;
            self.arrive()?;
            for end in End::ALL {
                if self.site(end).next_at().is_some_and(|at| at <= self.now) {
                    self.serve(end)?;
                }
                self.offer(end)?;
            }
            self.wake_relays()?;
            self.attack()?;
        }
        Ok(())
    }

    fn next_at(&self) -> Option<Time> {
        let incident = self.schedule.incidents.get(self.plan.incidents);
        let attack = self.schedule.attacks.get(self.plan.attacks);
        let nodes = self.sites.iter().filter_map(Site::next_at);
        let relays = self.relays.iter().filter_map(RelaySite::next_at);
        let apps = self.sites.iter().map(|site| site.next_packet);
        let rest = [
            incident.map(|(at, _)| *at),
            attack.map(|attack| attack.at),
            self.network.next_at(),
        ];
        let machines = nodes.chain(relays);
        machines.chain(apps).chain(rest.into_iter().flatten()).min()
    }

    fn site(&mut self, end: End) -> &mut Site {
        &mut self.sites[end.index()]
    }

    fn befall(&mut self) -> Result<(), Violation> {
        let schedule = self.schedule;
        while let Some((_, incident)) = schedule.incidents.get(self.plan.incidents)
            && schedule.incidents[self.plan.incidents].0 <= self.now
        {
            self.plan.incidents += 1;
            self.trace.note(self.now, &Entry::Incident(incident));
            let (now, sabotage) = (self.now, self.sabotage);
            match *incident {
                Incident::Start { end, .. } => {
                    self.stranger.see_start(Host::Node(end), None);
                    let site = &mut self.sites[end.index()];
                    site.start(now, incident, schedule, sabotage, &mut self.tally);
                    self.tell_rooms(end)?;
                }
                Incident::Adjust(end, settings) => self.adjust(end, settings)?,
                Incident::Stall(end, until) => self.sites[end.index()].hold(until),
                Incident::Stop(end) => self.sites[end.index()].stop(&mut self.tally),
                Incident::Move(end, path) => {
                    self.sites[end.index()].relocate(path);
                    self.tally.moves += 1;
                }
                Incident::StopRelay(path) => self.stop_relay(path),
                Incident::StartRelay(path) => self.start_relay(path),
            }
        }
        Ok(())
    }

    fn arrive(&mut self) -> Result<(), Violation> {
        let mut passages = Vec::new();
        self.network
            .advance(self.now, &mut self.tally, &mut |passage| {
                passages.push(passage);
            });
        for passage in passages {
            match passage {
                Passage::Arrived(parcel) => self.take(&parcel)?,
                Passage::Lost(parcel, why) => self.trace.note(self.now, &Entry::Lost(&parcel, why)),
            }
        }
        Ok(())
    }

    /// Hands a parcel to whoever is at its address.
    fn take(&mut self, parcel: &Parcel) -> Result<(), Violation> {
        let end = match parcel.to.host {
            Host::Node(end) => end,
            Host::Relay => return self.take_at_relay(parcel),
            Host::Stranger => return Ok(()),
        };
        if !self.site(end).is_at(parcel.to) {
            self.tally.unreached += 1;
            self.trace
                .note(self.now, &Entry::Lost(parcel, "nobody is there"));
            return Ok(());
        }
        self.trace.note(self.now, &Entry::Arrived(parcel));
        if let Some(stall) = &mut self.sites[end.index()].stall {
            stall.parcels.push((self.now, parcel.clone()));
            return Ok(());
        }
        self.hand_over(end, self.now, parcel)
    }

    /// Hands a datagram to a node as if it were `at`.
    fn hand_over(&mut self, end: End, at: Time, parcel: &Parcel) -> Result<(), Violation> {
        let input = Input::Datagram {
            path: parcel.to.path,
            datagram: parcel.bytes.clone(),
        };
        self.wake_at(end, at, Wake::Input(input), Some(parcel))
    }

    fn wake(&mut self, end: End, wake: Wake<Input>) -> Result<(), Violation> {
        self.wake_at(end, self.now, wake, None)
    }

    /// Wakes a node as if it were `at`, and does and checks what it says; `parcel` is what it takes, if it takes one.
    fn wake_at(
        &mut self,
        end: End,
        at: Time,
        wake: Wake<Input>,
        parcel: Option<&Parcel>,
    ) -> Result<(), Violation> {
        let Some(node) = self.site(end).node.as_mut() else {
            return Ok(());
        };
        let mut said = Vec::new();
        let woken = node.wake(at, wake, &mut |output| said.push(output));
        let (held, most_held) = (node.tunnel().buffered(), node.tunnel().capacity());
        let host = Host::Node(end);
        woken.map_err(|Stuck(why)| Violation::Stuck { host, why })?;
        if let Some(parcel) = parcel {
            self.provoke(parcel, &mut said);
            self.judge(end, parcel, &said)?;
        }
        let held = self.sabotage.held(held);
        self.tally.most_held = self.tally.most_held.max(held);
        if held > most_held {
            return Err(Violation::Hoarded { host, held });
        }
        for output in said {
            self.hear(end, output, parcel)?;
        }
        self.check_sizes(end)
    }

    fn hear(&mut self, end: End, output: Output, parcel: Option<&Parcel>) -> Result<(), Violation> {
        match output {
            Output::Packet(packet) => self.deliver(end, packet)?,
            Output::Datagram { path, datagram } => {
                let node = self.site(end).node.as_ref();
                if let Some(to) = node.and_then(|node| node.peer(path)) {
                    self.send(end, to, datagram)?;
                }
            }
            Output::Reply { datagram, .. } => {
                if let Some(parcel) = parcel {
                    self.reply(end, parcel.source, datagram);
                }
            }
            Output::Authenticated { .. } => {
                if let Some(parcel) = parcel {
                    self.follow(end, parcel.source)?;
                }
            }
            Output::Event(said) => {
                self.tally.watch.note(&said);
                let entry = Entry::Said(Host::Node(end), &said);
                self.trace.note(self.now, &entry);
            }
            Output::Session(event) | Output::Relay { event, .. } => {
                let entry = Entry::Said(Host::Node(end), &event);
                self.trace.note(self.now, &entry);
            }
            Output::PacketTooBig { packet, .. } => self.ledger.refuse(&packet),
            Output::RelayAuthenticated { .. } => {}
        }
        Ok(())
    }

    /// Answers a handshake, which may be an old one: where it came from, or where the configuration says that the peer is.
    fn reply(&mut self, end: End, source: Address, bytes: Bytes) {
        let node = self.site(end).node.as_ref();
        if let Some(to) = node.map(|node| node.answer(source)) {
            self.carry_own(end, to, bytes);
        }
    }

    fn follow(&mut self, end: End, source: Address) -> Result<(), Violation> {
        let is_deaf = self.sabotage == Sabotage::FollowsNobody;
        let Some(node) = self.site(end).node.as_mut() else {
            return Ok(());
        };
        let is_known = node.peer(source.path).is_some();
        if !(is_deaf && is_known) && node.hear(source) {
            self.tally.followed += u64::from(is_known);
            let entry = Entry::Followed(Host::Node(end), source);
            self.trace.note(self.now, &entry);
            if is_known {
                self.tell_room(end, source.path, true)?;
            }
        }
        Ok(())
    }

    fn deliver(&mut self, end: End, packet: Bytes) -> Result<(), Violation> {
        if self
            .site(end)
            .node
            .as_ref()
            .is_some_and(|node| node.is_impostor)
        {
            return Err(Violation::Read { end });
        }
        self.plan.deliveries += 1;
        assert!(self.sabotage != Sabotage::Panics, "a node panics");
        let is_hundredth = self.plan.deliveries.is_multiple_of(100);
        let packet = match self.sabotage {
            Sabotage::DeliversForged if is_hundredth => {
                let mut changed = packet.to_vec();
                changed[packet.len() - 1] ^= 1;
                changed.into()
            }
            _ => packet,
        };
        let id = self.ledger.deliver(self.now, end, &packet)?;
        self.trace.note(self.now, &Entry::Packet(end, id));
        if self.sabotage == Sabotage::DeliversTwice && is_hundredth {
            self.ledger.deliver(self.now, end, &packet)?;
        }
        Ok(())
    }

    /// Sends a datagram of a node, if that may go there.
    fn send(&mut self, end: End, to: Address, bytes: Bytes) -> Result<(), Violation> {
        if !self.site(end).may_send_to(to) {
            let host = Host::Node(end);
            return Err(Violation::Unproven { host, to });
        }
        self.carry_own(end, to, bytes);
        Ok(())
    }

    fn carry_own(&mut self, end: End, to: Address, bytes: Bytes) {
        let site = self.site(end);
        let source = site.address(to.path);
        let is_impostor = site.node.as_ref().is_some_and(|node| node.is_impostor);
        let truth = if is_impostor && self.sabotage != Sabotage::SharesKeys {
            Truth::Forged
        } else {
            Truth::Genuine
        };
        self.carry(source, to, truth, bytes);
    }

    fn carry(&mut self, source: Address, to: Address, truth: Truth, bytes: Bytes) {
        let parcel = self.parcel(source, to, truth, bytes);
        self.tally.datagrams += 1;
        self.stranger.overhear(source.host, &parcel);
        self.trace.note(self.now, &Entry::Sent(&parcel));
        self.network.send(self.now, parcel, &mut self.tally);
    }

    fn parcel(&mut self, source: Address, to: Address, truth: Truth, bytes: Bytes) -> Parcel {
        self.plan.parcels += 1;
        Parcel {
            id: self.plan.parcels,
            source,
            to,
            truth,
            bytes,
        }
    }

    /// Lets an application send a packet, if it is time.
    fn offer(&mut self, end: End) -> Result<(), Violation> {
        let (now, app) = (self.now, self.schedule.nodes.apps[end.index()]);
        let site = &mut self.sites[end.index()];
        if site.next_packet > now {
            return Ok(());
        }
        let (len, gap) = draw_packet(&mut site.packets, app.every, app.longest);
        site.next_packet = if now < self.schedule.closing {
            now + gap
        } else {
            Time::MAX
        };
        let Some(node) = &site.node else {
            return Ok(());
        };
        let make = self.ledger.offer(now, end, len, !node.is_impostor);
        self.trace.note(now, &Entry::Offered(end, make.id));
        if let Some(stall) = &mut self.sites[end.index()].stall {
            stall.packets.push(make.bytes());
            return Ok(());
        }
        self.wake(end, Wake::Input(Input::Packet(make.bytes())))
    }

    /// Counts what is left to count, and checks that all that had to arrive did.
    fn close(&mut self) -> Result<(), Violation> {
        self.check_found()?;
        for site in &mut self.sites {
            site.stop(&mut self.tally);
        }
        for site in &mut self.relays {
            site.stop(&mut self.tally);
        }
        self.ledger.close(self.schedule, &mut self.tally)
    }
}

/// The length of the next packet, and the time to the one after it; one in four is an ACK.
fn draw_packet(stream: &mut Stream, every: Duration, longest: u16) -> (u16, Duration) {
    let room = longest.saturating_sub(packet::LEAST);
    let further = u16::try_from(stream.below(u64::from(room) + 1)).unwrap_or(0);
    let is_ack = stream.chance(0.25);
    let len = packet::LEAST + if is_ack { 0 } else { further };
    (len, every + Duration(stream.below(every.0)))
}
