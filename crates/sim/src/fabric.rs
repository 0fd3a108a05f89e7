//! What carries packets: links, routes, the packets under way and the calendar.
//!
//! A link mostly knows a packet's fate when it arrives there, so that a hop is one event. A link that holds its
//! packets ([`polypath_link`], `CoDel`) is woken besides when its line is free for the next.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use polypath_core::frame::Payload;
use polypath_core::machine::{Deadline, Wake, step};
use polypath_core::packet::Ecn;
use polypath_core::time::Time;
use polypath_link::{DropReason, Link, Output};

use crate::calendar::Calendar;
use crate::route::{Cursor, Hop, Routes, Terminal};
use crate::slab::Slab;
use crate::tcp::{Segment, TcpEvent};
use crate::timer::Timer;
use crate::world::{MultihomedFrame, PathChange, SpacingEvent, Streamed};

/// What falls due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A packet comes to the end of a link.
    Arrival(u32),
    /// A link that holds packets wants to be woken.
    Link(u32),
    /// A background TCP source wants to be woken.
    Source(u32),
    /// A background TCP sink wants to be woken.
    Sink(u32),
    /// A background UDP source wants to be woken.
    Datagrams(u32),
    /// A source of spaced packets wants to be woken.
    SpacedSource(u32),
    /// A receiver of spaced packets wants to be woken.
    SpacedReceiver(u32),
    /// A source over several ways wants to be woken.
    Multihomed(u32),
    /// The source of a stream over several connections wants to be woken.
    StripedSource(u32),
    /// The receiver of one wants to be woken.
    StripedSink(u32),
    /// An application changes the receiver window of a TCP sink.
    ReceiverWindow(u32),
}

/// What a packet is to the agent that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketKind {
    Segment(Segment),
    /// A datagram, by its number within its flow from 1.
    Datagram(u32),
    /// A message of a spaced flow, by its number among those under way.
    Spaced(u32),
    /// A datagram over one of several ways, or its answer.
    Multihomed(MultihomedFrame),
    /// The payload of an external packet, by its number, and the ECN field of its header.
    External(u32, Ecn),
}

impl PacketKind {
    #[inline]
    fn ecn(&self) -> Ecn {
        match self {
            Self::Segment(segment) => segment.ecn,
            Self::Datagram(_) | Self::Spaced(_) | Self::Multihomed(_) => Ecn::NotEct,
            Self::External(_, ecn) => *ecn,
        }
    }

    #[inline]
    const fn is_external(&self) -> bool {
        matches!(self, Self::External(..))
    }

    fn mark_ce(&mut self) {
        match self {
            Self::Segment(segment) => segment.mark_ce(),
            Self::Datagram(_) | Self::Spaced(_) | Self::Multihomed(_) => {}
            Self::External(_, ecn) => *ecn = Ecn::Ce,
        }
    }
}

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) cursor: Cursor,
    pub(crate) size: u32,
    /// When it left its sender.
    pub(crate) sent: Time,
    pub(crate) kind: PacketKind,
}

/// What a link knows of a packet.
///
/// Three words: bytes that are written one by one and read together would hold the processor up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkPacket {
    packet: u32,
    size: u32,
    notes: u32,
}

impl LinkPacket {
    const CAPABLE: u32 = 1;
    const MARKED: u32 = 2;
    /// An external packet on the last link of its route.
    const LEAVES: u32 = 4;

    #[inline]
    fn new(number: u32, packet: &Packet) -> Self {
        let mut notes = 0;
        if packet.kind.ecn().is_capable() {
            notes |= Self::CAPABLE;
        }
        if packet.kind.is_external() && packet.cursor.is_at_end() {
            notes |= Self::LEAVES;
        }
        Self {
            packet: number,
            size: packet.size,
            notes,
        }
    }
}

impl Payload for LinkPacket {
    #[inline]
    fn len(&self) -> usize {
        self.size as usize
    }

    /// Whether it is capable is all that a link asks: ECT(0) stands for each of the capable codepoints.
    #[inline]
    fn ecn(&self) -> Ecn {
        match self.notes & (Self::CAPABLE | Self::MARKED) {
            0 => Ecn::NotEct,
            Self::CAPABLE => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    #[inline]
    fn mark_ce(&mut self) {
        self.notes |= Self::MARKED;
    }
}

/// A packet that a link dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) link: u32,
    pub(crate) reason: DropReason,
    pub(crate) packet: Packet,
}

/// Links and everything that moves over them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fabric {
    pub(crate) links: Vec<Link<LinkPacket>>,
    pub(crate) routes: Routes,
    pub(crate) calendar: Calendar<Event>,
    /// What TCP agents that are observed said and nobody has taken yet, with their numbers and
    /// connections.
    pub(crate) said: Vec<(u32, u32, TcpEvent)>,
    /// What feedback did to the spacing of the flows of these numbers, likewise.
    pub(crate) spacings: Vec<(u32, SpacingEvent)>,
    /// The paths to which the flows of these numbers went, likewise.
    pub(crate) path_changes: Vec<(u32, PathChange)>,
    /// What happened to the streams over several connections of these numbers, likewise.
    pub(crate) streams: Vec<(u32, Streamed)>,
    /// What was dropped and nobody has taken yet.
    lost: VecDeque<Lost>,
    packets: Slab<Packet>,
    /// The wakes of the links that hold packets, as far as there are any.
    wakes: Vec<Timer>,
    /// When the external packets on the last link of their route come to its end.
    departures: BinaryHeap<Reverse<Time>>,
}

impl Fabric {
    /// When the next external packet leaves the network, of those on the last link of their route.
    pub(crate) fn next_departure(&self) -> Option<Time> {
        self.departures.peek().map(|Reverse(at)| *at)
    }

    /// The first packet that was dropped and that nobody has taken yet.
    #[inline]
    pub(crate) fn take_lost(&mut self) -> Option<Lost> {
        self.lost.pop_front()
    }

    /// What was dropped and nobody has taken yet.
    pub(crate) fn lost(&self) -> impl Iterator<Item = &Lost> {
        self.lost.iter()
    }

    /// How many packets are under way.
    pub(crate) fn held(&self) -> usize {
        self.packets.len()
    }

    /// The link with the longest queue at `now`, and its packets.
    pub(crate) fn longest_queue(&self, now: Time) -> Option<(usize, usize)> {
        let lengths = self.links.iter().map(|link| link.queue_len(now));
        lengths.enumerate().max_by_key(|(_, length)| *length)
    }

    /// The packet of this number, which is under way.
    pub(crate) fn under_way(&self, number: u32) -> &Packet {
        self.packets.get(number)
    }

    /// Sends a packet from the start of its route.
    ///
    /// A route begins with a link: the packet never arrives before something falls due.
    #[inline]
    pub(crate) fn send(&mut self, now: Time, packet: Packet) {
        let number = self.packets.put(packet);
        let end = self.hop(now, number);
        debug_assert!(end.is_none(), "a route without links");
    }

    /// Takes a packet that came to the end of a link on to its next hop, or says where its route ends.
    #[inline]
    pub(crate) fn hop(&mut self, now: Time, number: u32) -> Option<Terminal> {
        let packet = self.packets.get_mut(number);
        match self.routes.advance(&mut packet.cursor) {
            Hop::Link(link) => {
                let packet = LinkPacket::new(number, packet);
                self.step(now, link, Wake::Input(packet));
                None
            }
            Hop::End(end) => Some(end),
        }
    }

    /// Takes a packet that came to the end of its route out of the network.
    #[expect(
        clippy::inline_always,
        reason = "it is small, every packet comes here, and with many callers the compiler calls it"
    )]
    #[inline(always)]
    pub(crate) fn take(&mut self, number: u32) -> Packet {
        let packet = *self.packets.release(number);
        if packet.kind.is_external() {
            self.departures.pop();
        }
        packet
    }

    /// Wakes a link that holds packets.
    pub(crate) fn wake_link(&mut self, now: Time, link: u32) {
        if self.wakes[link as usize].expires(now) {
            self.step(now, link, Wake::Timeout);
        }
    }

    #[inline]
    fn step(&mut self, now: Time, link: u32, wake: Wake<LinkPacket>) {
        let (calendar, packets) = (&mut self.calendar, &mut self.packets);
        let (departures, lost) = (&mut self.departures, &mut self.lost);
        let mut settle = |output: Output<LinkPacket>| match output {
            Output::Deliver { at, packet } => {
                calendar.schedule(at, Event::Arrival(packet.packet));
                if packet.notes & LinkPacket::MARKED != 0 {
                    packets.get_mut(packet.packet).kind.mark_ce();
                }
                if packet.notes & LinkPacket::LEAVES != 0 {
                    departures.push(Reverse(at));
                }
            }
            Output::Dropped { reason, packet } => {
                let packet = *packets.release(packet.packet);
                lost.push_back(Lost {
                    link,
                    reason,
                    packet,
                });
            }
        };
        let machine = &mut self.links[link as usize];
        if let Some(deadline) = step(machine, now, wake, &mut settle) {
            self.arm(link, deadline);
        }
    }

    fn arm(&mut self, link: u32, deadline: Deadline) {
        let place = link as usize;
        if self.wakes.len() <= place {
            self.wakes.resize_with(place + 1, Timer::default);
        }
        let event = Event::Link(link);
        self.wakes[place].arm(Some(deadline), &mut self.calendar, event);
    }
}
