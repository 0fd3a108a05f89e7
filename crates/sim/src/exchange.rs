//! Pairs of hosts, each behind endpoints of their own, and the network between them.
//!
//! *Order at equal times.* First everything that is due in the network, then the deadlines of the pairs, in their order
//! and of each the server's first. Frames that leave the network reach their host at once, in the order in which they left.

use std::collections::VecDeque;

use polypath_core::endpoint::EndpointConfig;
use polypath_core::frame::{Body, Encapsulation, Frame, Payload};
use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::packet::Ecn;
use polypath_core::time::Time;

use crate::host::{Host, HostInput, HostOutput};
use crate::observer::SimEvent;
use crate::run::RunError;
use crate::tcp::{Client, ClientInput, Segment, Server};
use crate::world::{Overflow, PortId, PortInput, Side, World, WorldOutput};

/// A frame on the links, with its size there and the pair to which it belongs.
///
/// Its outer header has the ECN field of the packet inside, and gives marks back to it (RFC 6040).
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    frame: Frame<Segment>,
    size: u32,
    pair: u32,
}

impl Payload for Carried {
    fn len(&self) -> usize {
        self.size as usize
    }

    fn ecn(&self) -> Ecn {
        match &self.frame.body {
            Body::Data(segment) => segment.ecn(),
            _ => Ecn::NotEct,
        }
    }

    fn mark_ce(&mut self) {
        if let Body::Data(segment) = &mut self.frame.body {
            segment.mark_ce();
        }
    }
}

/// A server and its client.
#[derive(Debug)]
struct Pair {
    server: Host<Server>,
    client: Host<Client>,
}

/// Hears what happens.
pub(crate) trait Listener {
    /// An endpoint of a pair reports.
    fn on_event(&mut self, now: Time, pair: u32, event: &SimEvent);

    /// A frame came to the client of a pair.
    fn on_client(&mut self, now: Time, pair: u32, client: &Client);
}

/// A frame that left the network.
type Arrival = (u32, Side, Frame<Segment>);

/// Hosts and the network between them.
#[derive(Debug)]
pub(crate) struct Exchange {
    network: World<Carried>,
    pairs: Vec<Pair>,
    encapsulation: Encapsulation,
    /// What the network and the hosts said and nobody has taken yet; empty between wakes.
    arrived: VecDeque<Arrival>,
    outputs: Vec<HostOutput>,
}

/// The frame that leaves the network with an output, and where it does.
fn exit(output: WorldOutput<Carried>) -> Option<Arrival> {
    match output {
        WorldOutput::Deliver { port, payload } => {
            let mut frame = payload.frame;
            frame.path = port.path;
            Some((payload.pair, port.side, frame))
        }
        WorldOutput::Dropped { .. } => None,
    }
}

impl Exchange {
    pub(crate) fn new(network: World<Carried>, endpoint: &EndpointConfig) -> Self {
        Self {
            network,
            pairs: Vec::new(),
            encapsulation: endpoint.encapsulation,
            arrived: VecDeque::new(),
            outputs: Vec::new(),
        }
    }

    /// Adds a pair.
    pub(crate) fn add(
        &mut self,
        server: Server,
        client: Client,
        endpoint: &EndpointConfig,
    ) -> Result<(), RunError> {
        self.pairs.push(Pair {
            server: Host::new(server, endpoint)?,
            client: Host::new(client, endpoint)?,
        });
        Ok(())
    }

    pub(crate) const fn network(&self) -> &World<Carried> {
        &self.network
    }

    /// The servers, in the order of the pairs.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &Server> {
        self.pairs.iter().map(|pair| pair.server.tcp())
    }

    /// The clients, likewise.
    pub(crate) fn clients(&self) -> impl Iterator<Item = &Client> {
        self.pairs.iter().map(|pair| pair.client.tcp())
    }

    /// Fails once the network holds more packets than memory is for.
    pub(crate) fn fits_memory(&self) -> Result<(), Overflow> {
        self.network.overflow().cloned().map_or(Ok(()), Err)
    }

    /// Runs on until `limit`, and all that is due then.
    pub(crate) fn run_until(&mut self, limit: Time, listener: &mut impl Listener) {
        while self.wake_next(limit, listener) {}
    }

    /// Takes the simulation on to the next thing that concerns the hosts, if that is at `limit` or before.
    pub(crate) fn wake_next(&mut self, limit: Time, listener: &mut impl Listener) -> bool {
        let host = self.next_host().filter(|(d, ..)| d.at <= limit);
        let until = host.map_or(limit, |(d, ..)| d.at);
        let arrived = &mut self.arrived;
        let exits = &mut |output| arrived.extend(exit(output));
        let now = match (self.network.run_until_output(until, exits), host) {
            (Some(now), _) => now,
            (None, Some((deadline, pair, side))) => {
                self.wake_host(deadline, (pair, side), listener);
                deadline.at
            }
            (None, None) => return false,
        };
        self.take_arrived(now, listener);
        true
    }

    /// The host that is due first; of those that tie the first pair's, and there the server.
    fn next_host(&self) -> Option<(Deadline, u32, Side)> {
        let of = |(number, pair): (u32, &Pair)| {
            let server = pair.server.deadline().map(|d| (d, number, Side::Server));
            let client = pair.client.deadline().map(|d| (d, number, Side::Client));
            server.into_iter().chain(client)
        };
        let all = (0..).zip(&self.pairs).flat_map(of);
        all.min_by_key(|(d, ..)| d.at)
    }

    fn wake_host(
        &mut self,
        deadline: Deadline,
        (number, side): (u32, Side),
        listener: &mut impl Listener,
    ) {
        let now = deadline.at;
        let outputs = &mut self.outputs;
        let out = &mut |output| outputs.push(output);
        let pair = &mut self.pairs[number as usize];
        let next = match side {
            Side::Server => step(&mut pair.server, now, Wake::Timeout, out),
            Side::Client => step(&mut pair.client, now, Wake::Timeout, out),
        };
        assert!(
            next.is_none_or(|d| d.at > now),
            "the {side:?} does not advance at {now}: {}",
            deadline.why
        );
        self.pass_on(now, (number, side), listener);
    }

    /// Hands frames that left the network to their hosts.
    fn take_arrived(&mut self, now: Time, listener: &mut impl Listener) {
        while let Some((number, side, frame)) = self.arrived.pop_front() {
            let outputs = &mut self.outputs;
            let out = &mut |output| outputs.push(output);
            let pair = &mut self.pairs[number as usize];
            match side {
                Side::Server => pair.server.handle_input(now, HostInput::Frame(frame), out),
                Side::Client => pair.client.handle_input(now, HostInput::Frame(frame), out),
            }
            self.pass_on(now, (number, side), listener);
            if side == Side::Client {
                listener.on_client(now, number, self.pairs[number as usize].client.tcp());
            }
        }
    }

    /// Tells the client of a pair something that is not from the network.
    pub(crate) fn tell_client(
        &mut self,
        now: Time,
        pair: u32,
        input: ClientInput,
        listener: &mut impl Listener,
    ) {
        let outputs = &mut self.outputs;
        self.pairs[pair as usize]
            .client
            .handle_input(now, HostInput::Tcp(input), &mut |o| outputs.push(o));
        self.pass_on(now, (pair, Side::Client), listener);
        self.take_arrived(now, listener);
    }

    /// Sends what a host transmits, and reports what it reports.
    fn pass_on(&mut self, now: Time, (pair, side): (u32, Side), listener: &mut impl Listener) {
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            match output {
                HostOutput::Event(event) => {
                    listener.on_event(now, pair, &SimEvent::Overlay { side, event });
                }
                HostOutput::Transmit(frame) => {
                    let payload = Carried {
                        size: self.encapsulation.size(&frame.body),
                        frame,
                        pair,
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
}
