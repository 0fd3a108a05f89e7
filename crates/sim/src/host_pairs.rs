//! Pairs of hosts, each behind endpoints of their own, and the network between them.
//!
//! *Order at equal times.* First everything that is due in the network, then the deadlines of the
//! pairs, in their order and of each the server's first. Frames that leave the network reach their
//! host immediately, in the order in which they left.

use std::collections::{BTreeSet, VecDeque};

use polypath_core::endpoint::EndpointConfig;
use polypath_core::frame::{Encapsulation, Frame, Payload};
use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::packet::{Ecn, FlowId};
use polypath_core::time::Time;

use crate::error::RunError;
use crate::host::{Application, Host, HostInput, HostOutput};
use crate::observer::SimEvent;
use crate::world::{Overflow, PortId, PortInput, Side, World, WorldOutput};

/// A frame on the links, with its size there and the pair to which it belongs.
///
/// Its outer header has the ECN field of the inner packet, which receives its marks (RFC 6040).
#[derive(Clone, Debug)]
pub(crate) struct LinkFrame<P> {
    frame: Frame<P>,
    size: u32,
    pair: u32,
}

impl<P: Payload> Payload for LinkFrame<P> {
    fn len(&self) -> usize {
        self.size as usize
    }

    fn ecn(&self) -> Ecn {
        self.frame.body.traffic_class().ecn
    }

    /// All frames of a pair have one outer header. Without one, a fair queue takes the connections of a
    /// pair for one flow.
    fn flow(&self) -> FlowId {
        FlowId(u64::from(self.pair))
    }

    fn mark_ce(&mut self) {
        self.frame.body.mark_ce();
    }
}

/// A server and its client.
#[derive(Debug)]
struct Pair<S: Application, C: Application> {
    server: Host<S>,
    client: Host<C>,
}

/// Receives the events of pairs with clients `C`.
pub(crate) trait Listener<C> {
    /// An event of an endpoint of a pair.
    fn on_event(&mut self, now: Time, pair: u32, event: &SimEvent);

    /// A frame arrived at the client of a pair.
    fn on_client(&mut self, now: Time, pair: u32, client: &C);
}

/// A host, by its pair and side.
#[derive(Clone, Copy, Debug)]
struct HostId {
    pair: u32,
    side: Side,
}

/// The deadline of each host, by pair and side.
#[derive(Debug, Default)]
struct Deadlines {
    /// Ordered as they act at equal times.
    due: BTreeSet<(Time, u32, bool)>,
    /// Those of the server and the client of each pair.
    known: Vec<[Option<Time>; 2]>,
}

impl Deadlines {
    fn note(&mut self, HostId { pair, side }: HostId, at: Option<Time>) {
        let is_client = side == Side::Client;
        let known = &mut self.known[pair as usize][usize::from(is_client)];
        let before = std::mem::replace(known, at);
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.due.remove(&(before, pair, is_client));
        }
        if let Some(at) = at {
            self.due.insert((at, pair, is_client));
        }
    }

    /// The host with the earliest deadline; of several, the one of the first pair, and of a pair
    /// the server.
    fn first(&self) -> Option<(Time, HostId)> {
        let (at, pair, is_client) = *self.due.first()?;
        let side = if is_client {
            Side::Client
        } else {
            Side::Server
        };
        Some((at, HostId { pair, side }))
    }
}

/// A frame that left the network.
type Arrival<P> = (u32, Side, Frame<P>);

/// Hosts with servers `S` and clients `C`, and the network between them.
#[derive(Debug)]
pub(crate) struct HostPairs<S: Application, C: Application> {
    network: World<LinkFrame<S::Packet>>,
    pairs: Vec<Pair<S, C>>,
    deadlines: Deadlines,
    encapsulation: Encapsulation,
    /// Outputs of the network and of the hosts that have not been handled; empty between wakes.
    arrived: VecDeque<Arrival<S::Packet>>,
    outputs: Vec<HostOutput<S::Packet>>,
}

/// The frame that leaves the network with an output, and where it does.
fn exit<P>(output: WorldOutput<LinkFrame<P>>) -> Option<Arrival<P>> {
    match output {
        WorldOutput::Deliver { port, payload } => {
            let mut frame = payload.frame;
            frame.path = port.path;
            Some((payload.pair, port.side, frame))
        }
        WorldOutput::Dropped { .. } => None,
    }
}

impl<S: Application, C: Application<Packet = S::Packet>> HostPairs<S, C> {
    pub(crate) fn new(network: World<LinkFrame<S::Packet>>, endpoint: &EndpointConfig) -> Self {
        Self {
            network,
            pairs: Vec::new(),
            deadlines: Deadlines::default(),
            encapsulation: endpoint.encapsulation,
            arrived: VecDeque::new(),
            outputs: Vec::new(),
        }
    }

    /// Adds a pair.
    pub(crate) fn add(
        &mut self,
        server: S,
        client: C,
        endpoint: &EndpointConfig,
    ) -> Result<(), RunError> {
        let number = u32::try_from(self.pairs.len()).expect("fewer than 2^32 pairs");
        let of = |side: &str| EndpointConfig {
            seed: endpoint.seed.child(&format!("{number}/{side}")),
            ..endpoint.clone()
        };
        self.pairs.push(Pair {
            server: Host::new(server, &of("server"))?,
            client: Host::new(client, &of("client"))?,
        });
        self.deadlines.known.push([None; 2]);
        for side in [Side::Server, Side::Client] {
            self.note_deadline(HostId { pair: number, side });
        }
        Ok(())
    }

    pub(crate) const fn network(&self) -> &World<LinkFrame<S::Packet>> {
        &self.network
    }

    /// The servers, in the order of the pairs.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &S> {
        self.pairs.iter().map(|pair| pair.server.application())
    }

    /// The clients, in the order of the pairs.
    pub(crate) fn clients(&self) -> impl Iterator<Item = &C> {
        self.pairs.iter().map(|pair| pair.client.application())
    }

    /// Fails if the network holds more packets than the memory bound.
    pub(crate) fn fits_memory(&self) -> Result<(), Overflow> {
        self.network.overflow().cloned().map_or(Ok(()), Err)
    }

    /// Runs until `limit`, events due at `limit` included.
    pub(crate) fn run_until(&mut self, limit: Time, listener: &mut impl Listener<C>) {
        while self.wake_next(limit, listener) {}
    }

    /// Advances to the next event of the hosts, if that is at `limit` or before.
    pub(crate) fn wake_next(&mut self, limit: Time, listener: &mut impl Listener<C>) -> bool {
        let host = self.deadlines.first().filter(|(at, _)| *at <= limit);
        let until = host.map_or(limit, |(at, _)| at);
        let arrived = &mut self.arrived;
        let exits = &mut |output| arrived.extend(exit(output));
        let now = match (self.network.run_until_output(until, exits), host) {
            (Some(now), _) => now,
            (None, Some((at, host))) => {
                self.wake_host(at, host, listener);
                at
            }
            (None, None) => return false,
        };
        self.take_arrived(now, listener);
        true
    }

    fn deadline(&self, HostId { pair, side }: HostId) -> Option<Deadline> {
        let pair = &self.pairs[pair as usize];
        match side {
            Side::Server => pair.server.deadline(),
            Side::Client => pair.client.deadline(),
        }
    }

    /// Updates the deadline of a host; called after each change of the host.
    fn note_deadline(&mut self, host: HostId) {
        let deadline = self.deadline(host);
        self.deadlines.note(host, deadline.map(|d| d.at));
    }

    fn wake_host(&mut self, now: Time, host: HostId, listener: &mut impl Listener<C>) {
        let HostId { pair: number, side } = host;
        let why = self.deadline(host).map_or("", |deadline| deadline.why);
        let outputs = &mut self.outputs;
        let out = &mut |output| outputs.push(output);
        let pair = &mut self.pairs[number as usize];
        let next = match side {
            Side::Server => step(&mut pair.server, now, Wake::Timeout, out),
            Side::Client => step(&mut pair.client, now, Wake::Timeout, out),
        };
        assert!(
            next.is_none_or(|d| d.at > now),
            "the {side:?} does not advance at {now}: {why}"
        );
        self.pass_on(now, host, listener);
    }

    /// Passes frames that left the network to their hosts.
    fn take_arrived(&mut self, now: Time, listener: &mut impl Listener<C>) {
        while let Some((number, side, frame)) = self.arrived.pop_front() {
            let outputs = &mut self.outputs;
            let out = &mut |output| outputs.push(output);
            let pair = &mut self.pairs[number as usize];
            match side {
                Side::Server => pair.server.handle_input(now, HostInput::Frame(frame), out),
                Side::Client => pair.client.handle_input(now, HostInput::Frame(frame), out),
            }
            self.pass_on(now, HostId { pair: number, side }, listener);
            if side == Side::Client {
                listener.on_client(
                    now,
                    number,
                    self.pairs[number as usize].client.application(),
                );
            }
        }
    }

    /// Passes an input that is not from the network to the client of a pair.
    pub(crate) fn input_to_client(
        &mut self,
        now: Time,
        pair: u32,
        input: C::Input,
        listener: &mut impl Listener<C>,
    ) {
        let outputs = &mut self.outputs;
        self.pairs[pair as usize].client.handle_input(
            now,
            HostInput::Application(input),
            &mut |o| outputs.push(o),
        );
        let side = Side::Client;
        self.pass_on(now, HostId { pair, side }, listener);
        self.take_arrived(now, listener);
    }

    /// Handles the outputs of a host: sends its frames and reports its events.
    fn pass_on(&mut self, now: Time, host: HostId, listener: &mut impl Listener<C>) {
        self.note_deadline(host);
        let HostId { pair, side } = host;
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            match output {
                HostOutput::Event(event) => {
                    listener.on_event(now, pair, &SimEvent::Overlay { side, event });
                }
                HostOutput::Transmit(frame) => {
                    let payload = LinkFrame {
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
