//! One scheme's simulation: a network of its own, a server and a client, each behind an endpoint.
//!
//! *Order at equal times.* First everything that is due in the network, then the server's deadline, then
//! the client's. Frames that leave the network reach their host at once, in the order in which they left.

use std::collections::VecDeque;

use polypath_core::frame::{Encapsulation, Frame, Payload};
use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_scenario::{Scenario, Scheme};

use crate::host::{Host, HostInput, HostOutput};
use crate::network::{build, foreground_tcp};
use crate::observer::SimEvent;
use crate::run::RunError;
use crate::tcp::{Client, ClientInput, Segment, Server};
use crate::world::{BackgroundBytes, Overflow, PortId, PortInput, Side, World, WorldOutput};

/// A frame on the links, with its size there.
#[derive(Clone, Debug)]
struct Carried {
    frame: Frame<Segment>,
    size: u32,
}

impl Payload for Carried {
    fn len(&self) -> usize {
        self.size as usize
    }
}

/// The file that every transfer carries.
#[derive(Clone, Copy, Debug)]
struct File {
    bytes: u64,
    segments: u32,
    segment: u32,
}

/// The transfer that is under way or came last.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    round: u32,
    in_order: u32,
    finished: Option<Time>,
}

/// The simulation of one scheme.
#[derive(Debug)]
pub(crate) struct Lane {
    network: World<Carried>,
    server: Host<Server>,
    client: Host<Client>,
    encapsulation: Encapsulation,
    file: File,
    transfer: Transfer,
    /// What the network and the hosts said and nobody has taken yet; empty between wakes.
    arrived: VecDeque<(Side, Frame<Segment>)>,
    outputs: Vec<HostOutput>,
}

/// The frame that leaves the network with an output, and the side on which it does.
fn exit(output: WorldOutput<Carried>) -> Option<(Side, Frame<Segment>)> {
    match output {
        WorldOutput::Deliver { port, payload } => {
            let mut frame = payload.frame;
            frame.path = port.path;
            Some((port.side, frame))
        }
        WorldOutput::Dropped { .. } => None,
    }
}

/// Takes what happens in one scheme.
pub(crate) type Report<'a> = dyn FnMut(Time, &SimEvent) + 'a;

impl Lane {
    pub(crate) fn new(scenario: &Scenario, scheme: Scheme, seed: Seed) -> Result<Self, RunError> {
        let tcp = foreground_tcp(scenario);
        let endpoint = scenario.endpoint(scheme);
        let file = File {
            bytes: scenario.transfer.size.0,
            segments: tcp.segments(scenario.transfer.size.0),
            segment: tcp.segment,
        };
        let overhead = seed.stream("server/overhead");
        let server = Server::new(tcp, file.segments);
        let server = server.with_overhead(scenario.tcp.overhead, overhead);
        Ok(Self {
            network: build(scenario, seed)?,
            server: Host::new(server, &endpoint)?,
            client: Host::new(Client::new(tcp), &endpoint)?,
            encapsulation: endpoint.encapsulation,
            file,
            transfer: Transfer {
                round: 0,
                in_order: 0,
                finished: None,
            },
            arrived: VecDeque::new(),
            outputs: Vec::new(),
        })
    }

    pub(crate) fn network(&self) -> &World<impl Payload + use<>> {
        &self.network
    }

    /// Fails once the network holds more packets than memory is for.
    pub(crate) fn fits_memory(&self) -> Result<(), Overflow> {
        self.network.overflow().cloned().map_or(Ok(()), Err)
    }

    pub(crate) fn background(&self) -> BackgroundBytes {
        self.network.background()
    }

    /// Carries out one transfer from `start`, to which the lane has run; says when it was complete, or
    /// nothing if it was given up after `timeout`.
    pub(crate) fn transfer(
        &mut self,
        round: u32,
        start: Time,
        timeout: Duration,
        report: &mut Report<'_>,
    ) -> Option<Time> {
        self.transfer = Transfer {
            round,
            in_order: 0,
            finished: None,
        };
        report(start, &SimEvent::TransferStarted { round });
        self.tell_client(start, ClientInput::Open(round + 1), report);
        let limit = start + timeout;
        while self.transfer.finished.is_none() && self.wake_next(limit, report) {}
        if self.transfer.finished.is_none() {
            self.tell_client(limit, ClientInput::Close, report);
            report(limit, &SimEvent::TransferFinished { round, ok: false });
        }
        self.transfer.finished
    }

    /// Runs on until `limit`, and all that is due then.
    pub(crate) fn run_until(&mut self, limit: Time, report: &mut Report<'_>) {
        while self.wake_next(limit, report) {}
    }

    /// Takes the simulation on to the next thing that concerns the hosts, if that is at `limit` or before.
    fn wake_next(&mut self, limit: Time, report: &mut Report<'_>) -> bool {
        let host = self.next_host().filter(|(d, _)| d.at <= limit);
        let until = host.map_or(limit, |(d, _)| d.at);
        let arrived = &mut self.arrived;
        let exits = &mut |output| arrived.extend(exit(output));
        let now = match (self.network.run_until_output(until, exits), host) {
            (Some(now), _) => now,
            (None, Some((deadline, side))) => {
                self.wake_host(deadline, side, report);
                deadline.at
            }
            (None, None) => return false,
        };
        self.take_arrived(now, report);
        true
    }

    /// The host that is due first; the server where they tie.
    fn next_host(&self) -> Option<(Deadline, Side)> {
        let server = self.server.deadline().map(|d| (d, Side::Server));
        let client = self.client.deadline().map(|d| (d, Side::Client));
        server.into_iter().chain(client).min_by_key(|(d, _)| d.at)
    }

    fn wake_host(&mut self, deadline: Deadline, side: Side, report: &mut Report<'_>) {
        let now = deadline.at;
        let outputs = &mut self.outputs;
        let out = &mut |output| outputs.push(output);
        let next = match side {
            Side::Server => step(&mut self.server, now, Wake::Timeout, out),
            Side::Client => step(&mut self.client, now, Wake::Timeout, out),
        };
        assert!(
            next.is_none_or(|d| d.at > now),
            "the {side:?} does not advance at {now}: {}",
            deadline.why
        );
        self.pass_on(now, side, report);
    }

    /// Hands frames that left the network to their hosts.
    fn take_arrived(&mut self, now: Time, report: &mut Report<'_>) {
        while let Some((side, frame)) = self.arrived.pop_front() {
            let outputs = &mut self.outputs;
            let out = &mut |output| outputs.push(output);
            match side {
                Side::Server => self.server.handle_input(now, HostInput::Frame(frame), out),
                Side::Client => self.client.handle_input(now, HostInput::Frame(frame), out),
            }
            self.pass_on(now, side, report);
            if side == Side::Client {
                self.note_progress(now, report);
            }
        }
    }

    fn tell_client(&mut self, now: Time, input: ClientInput, report: &mut Report<'_>) {
        let outputs = &mut self.outputs;
        self.client
            .handle_input(now, HostInput::Tcp(input), &mut |o| outputs.push(o));
        self.pass_on(now, Side::Client, report);
        self.take_arrived(now, report);
    }

    /// Sends what a host transmits, and reports what it reports.
    fn pass_on(&mut self, now: Time, side: Side, report: &mut Report<'_>) {
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            match output {
                HostOutput::Event(event) => report(now, &SimEvent::Overlay { side, event }),
                HostOutput::Transmit(frame) => {
                    let payload = Carried {
                        size: self.encapsulation.size(&frame.body),
                        frame,
                    };
                    let port = PortId {
                        path: payload.frame.path,
                        side,
                    };
                    let input = PortInput { port, payload };
                    let arrived = &mut self.arrived;
                    self.network
                        .handle_input(now, input, &mut |output| arrived.extend(exit(output)));
                }
            }
        }
        self.outputs = outputs;
    }

    fn note_progress(&mut self, now: Time, report: &mut Report<'_>) {
        let in_order = self.client.tcp().in_order();
        if in_order <= self.transfer.in_order || self.transfer.finished.is_some() {
            return;
        }
        self.transfer.in_order = in_order;
        let round = self.transfer.round;
        let bytes = (u64::from(in_order) * u64::from(self.file.segment)).min(self.file.bytes);
        report(now, &SimEvent::Progress { round, bytes });
        if in_order >= self.file.segments {
            self.transfer.finished = Some(now);
            report(now, &SimEvent::TransferFinished { round, ok: true });
        }
    }
}
