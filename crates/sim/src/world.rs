//! A simulated network as a machine: packets enter and leave at named ports, with one deadline.
//!
//! # Model
//!
//! Paths of links ([`polypath_link`]) connect two sides. A packet that enters a port crosses the
//! links of its path and leaves at the port of the other side. It shares queues with background
//! traffic, which the world generates itself. A driver (a simulation, or the lab in real time)
//! advances the world with [`step`](polypath_core::machine::step).
//!
//! *Simultaneous events.* Internal events, packets and timers alike, happen in order of (time,
//! sequence of scheduling) ([`crate::calendar`]). An input at `now` comes after all internal events
//! that are due at `now`. If the world is woken late, its events happen at the times at which they
//! were due, so a late driver does not distort the background.
//!
//! *Copies.* A copy of a world continues as the original would; later inputs to one do not affect
//! the other.

mod flow;
mod port;
mod report;
mod watch;

use polypath_core::frame::Payload;
use polypath_core::machine::{Deadline, Machine};
use polypath_core::packet::Ecn;
use polypath_core::time::Time;
use polypath_link::DropReason;

use crate::agents::Agents;
use crate::event::Event;
use crate::fabric::{Fabric, LostPacket};
pub use crate::flow::BackgroundBytes;
use crate::packet::{Packet, PacketKind};
use crate::route::{Cursor, Terminal};
use crate::slab::Slab;
pub(crate) use flow::FlowName;
pub use flow::FlowReport;
pub use port::{PortId, PortInput, Side};
pub use report::{Direction, LinkId, LinkName, LinkReport, Overflow, path_load};
pub(crate) use watch::FlowIndex;
pub use watch::{Detail, FlowPacket, NetworkEvent};

/// The maximum number of events that one timeout handles: a driver that is far behind can do
/// other work, and finds a deadline that has passed. An input cannot wait: it is handled
/// after all events that are due before it.
const CATCH_UP: u32 = 1 << 20;

/// The maximum number of packets in all queues and links of a world; each takes about 100 bytes.
pub const MAX_IN_FLIGHT: usize = 1 << 23;

/// An output of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorldOutput<X> {
    /// A packet leaves the network.
    Deliver {
        /// The port at which it leaves: that of the other side of its path.
        port: PortId,
        /// The packet.
        payload: X,
    },
    /// A link dropped a packet that had entered at a port.
    Dropped {
        /// The link.
        link: LinkId,
        /// The cause.
        reason: DropReason,
        /// The packet.
        payload: X,
    },
}

/// A simulated network whose ports carry packets of type `X`.
///
/// Made by [`crate::network::build`].
#[derive(Clone, Debug)]
pub struct World<X> {
    pub(crate) fabric: Fabric,
    pub(crate) agents: Agents,
    pub(crate) ports: Vec<Port>,
    pub(crate) names: Names,
    external: Slab<Option<X>>,
    next_event: Option<Time>,
    overflow: Option<Overflow>,
    pub(crate) max_in_flight: usize,
}

/// The names of the parts of a network, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) links: Vec<LinkName>,
    pub(crate) flows: Vec<FlowName>,
}

/// An entry of the network, and the exit of packets in the opposite direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    pub(crate) id: PortId,
    /// The route of packets that enter here.
    pub(crate) route: Cursor,
}

impl<X: Payload> World<X> {
    pub(crate) fn new(mut fabric: Fabric, agents: Agents, ports: Vec<Port>, names: Names) -> Self {
        let next_event = fabric.calendar.next_at();
        Self {
            fabric,
            agents,
            ports,
            names,
            external: Slab::default(),
            next_event,
            overflow: None,
            max_in_flight: MAX_IN_FLIGHT,
        }
    }

    /// Handles all events that are due at `until` or before, unless the world comes to
    /// hold more than [`MAX_IN_FLIGHT`] packets.
    pub fn run_until(&mut self, until: Time, out: &mut impl FnMut(WorldOutput<X>)) {
        while let Some(at) = self.next_event.filter(|at| *at <= until)
            && !self.holds_too_much(at)
        {
            self.handle_timeout(until, out);
        }
    }

    /// The first overflow of memory; later results are invalid, and a run should stop.
    #[must_use]
    pub fn overflow(&self) -> Option<&Overflow> {
        self.overflow.as_ref()
    }

    /// The time at which the next external packet on the last link of its path leaves at a port.
    ///
    /// All other packets leave later than the end of that link's propagation delay from now. A
    /// driver in real time that wakes the world for each departure and also at intervals no
    /// longer than that delay sees every packet leave at its time, without a wake for each internal
    /// event.
    #[must_use]
    pub fn next_departure(&self) -> Option<Time> {
        self.fabric.next_departure()
    }

    /// Handles events until there is an output, and all others due at the same time, which
    /// it returns; `None` without an output at `until` or before.
    pub fn run_until_output(
        &mut self,
        until: Time,
        out: &mut impl FnMut(WorldOutput<X>),
    ) -> Option<Time> {
        while let Some(at) = self.next_event.filter(|at| *at <= until)
            && !self.holds_too_much(at)
        {
            let mut silent = true;
            self.handle_timeout(at, &mut |output| {
                silent = false;
                out(output);
            });
            if !silent {
                return Some(at);
            }
        }
        None
    }

    #[inline]
    fn handle_event(&mut self, at: Time, event: Event, out: &mut impl FnMut(WorldOutput<X>)) {
        self.dispatch::<false>(at, event, out);
        self.settle_lost(at, out);
    }

    /// Handles an event; with `WATCHED`, observed flows report their events.
    #[inline]
    fn dispatch<const WATCHED: bool>(
        &mut self,
        at: Time,
        event: Event,
        out: &mut impl FnMut(WorldOutput<X>),
    ) {
        let (agents, fabric) = (&mut self.agents, &mut self.fabric);
        match event {
            Event::Arrival(number) => {
                if let Some(end) = fabric.hop(at, number) {
                    self.arrive::<WATCHED>(at, end, number, out);
                }
            }
            Event::Link(link) => fabric.wake_link(at, link),
            Event::Source(source) => agents.tcp.wake_source::<WATCHED>(at, source, fabric),
            Event::Sink(sink) => agents.tcp.wake_sink(at, sink, fabric),
            Event::Datagrams(source) => agents.datagrams.wake(at, source, fabric),
            Event::Agent(end) => agents.wake_agent::<WATCHED>(at, end, fabric),
            Event::ReceiverWindow(change) => agents.tcp.change_window::<WATCHED>(change),
        }
    }

    #[inline]
    fn arrive<const WATCHED: bool>(
        &mut self,
        at: Time,
        end: Terminal,
        number: u32,
        out: &mut impl FnMut(WorldOutput<X>),
    ) {
        let (agents, fabric) = (&mut self.agents, &mut self.fabric);
        let packet = fabric.take(number);
        match (end, packet.kind) {
            (Terminal::Source(source), PacketKind::Segment(ack)) => {
                agents.tcp.receive_ack::<WATCHED>(at, source, ack, fabric);
            }
            (Terminal::Sink(sink), PacketKind::Segment(data)) => {
                let delays = &mut agents.delays;
                agents
                    .tcp
                    .receive_data::<WATCHED>(at, sink, data, packet.sent, fabric, delays);
            }
            (Terminal::DatagramSink(sink), _) => {
                let delays = &mut agents.delays;
                agents.datagrams.receive(at, sink, &packet, delays);
            }
            (Terminal::Agent(end), _) => {
                agents.receive::<WATCHED>(at, end, &packet, fabric);
            }
            (Terminal::Port(port), PacketKind::External(number, ecn)) => {
                let port = self.ports[port as usize].id;
                if let Some(mut payload) = self.external.take(number) {
                    if ecn == Ecn::Ce {
                        payload.mark_ce();
                    }
                    out(WorldOutput::Deliver { port, payload });
                }
            }
            (end, kind) => unreachable!("no route takes {kind:?} to {end:?}"),
        }
    }

    /// Reports the external packets that links have dropped since the last call.
    ///
    /// TCP detects its losses itself, and the counters of the link have those of datagrams.
    #[inline]
    fn settle_lost(&mut self, now: Time, out: &mut impl FnMut(WorldOutput<X>)) {
        while let Some(lost) = self.fabric.take_lost() {
            self.lose(now, lost, out);
        }
    }

    fn lose(&mut self, now: Time, lost: LostPacket, out: &mut impl FnMut(WorldOutput<X>)) {
        if lost.reason == DropReason::Overflow {
            self.overflow.get_or_insert(Overflow::Queue {
                link: self.names.links[lost.link as usize].name.clone(),
                at: now,
            });
        }
        if let PacketKind::Agent(payload) = lost.packet.kind
            && let Terminal::Agent(end) = self.fabric.routes.end(lost.packet.cursor)
        {
            self.agents.forget(end.agent(), payload);
        }
        if let PacketKind::External(number, _) = lost.packet.kind
            && let Some(payload) = self.external.take(number)
        {
            let (link, reason) = (LinkId(lost.link), lost.reason);
            out(WorldOutput::Dropped {
                link,
                reason,
                payload,
            });
        }
    }

    /// Whether there are more packets at `at` than the memory bound; keeps the first overflow.
    fn holds_too_much(&mut self, at: Time) -> bool {
        let held = self.fabric.held();
        if held <= self.max_in_flight {
            return false;
        }
        if self.overflow.is_none()
            && let Some((link, longest)) = self.fabric.longest_queue(at)
        {
            self.overflow = Some(Overflow::Total {
                held,
                longest,
                link: self.names.links[link].name.clone(),
                at,
            });
        }
        true
    }
}

impl<X: Payload> Machine for World<X> {
    type Input = PortInput<X>;
    type Output = WorldOutput<X>;

    /// A packet for a port that the network does not have is dropped silently.
    fn handle_input(
        &mut self,
        now: Time,
        input: PortInput<X>,
        out: &mut impl FnMut(WorldOutput<X>),
    ) {
        self.run_until(now, out);
        let Some(port) = self.ports.get(input.port.position()) else {
            return;
        };
        let size = u32::try_from(input.payload.len()).unwrap_or(u32::MAX);
        let ecn = input.payload.ecn();
        let packet = Packet {
            cursor: port.route.of_flow(input.payload.flow()),
            size,
            sent: now,
            kind: PacketKind::External(self.external.put(Some(input.payload)), ecn),
        };
        self.fabric.send(now, packet);
        self.settle_lost(now, out);
        self.next_event = self.fabric.calendar.next_at();
    }

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(WorldOutput<X>)) {
        for _ in 0..CATCH_UP {
            let Some(entry) = self.fabric.calendar.pop_until(now) else {
                break;
            };
            self.handle_event(entry.at, entry.item, out);
        }
        self.next_event = self.fabric.calendar.next_at();
    }

    fn deadline(&self) -> Option<Deadline> {
        self.next_event.map(|at| Deadline {
            at,
            why: "next event of the simulated network",
        })
    }
}
