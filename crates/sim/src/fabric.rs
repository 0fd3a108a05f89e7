//! The links, the routes, the packets in flight and the calendar.
//!
//! Most links decide the fate of a packet when it arrives, so that a hop is one event. A link that
//! holds its packets ([`polypath_link`], `CoDel`) has a second event: its line is free for the next
//! packet.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use polypath_core::machine::{Deadline, Wake, step};
use polypath_core::time::Time;
use polypath_link::{DropReason, Link, Output};

use crate::calendar::Calendar;
use crate::event::Event;
use crate::packet::{LinkPacket, Packet};
use crate::route::{Hop, Routes, Terminal};
use crate::slab::Slab;
use crate::timer::Timer;

/// A packet that a link dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostPacket {
    pub(crate) link: u32,
    pub(crate) reason: DropReason,
    pub(crate) packet: Packet,
}

/// The links and the packets on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fabric {
    pub(crate) links: Vec<Link<LinkPacket>>,
    pub(crate) routes: Routes,
    pub(crate) calendar: Calendar<Event>,
    /// The dropped packets that have not been read.
    lost: VecDeque<LostPacket>,
    packets: Slab<Packet>,
    /// The timers of the links that hold packets.
    wakes: Vec<Timer>,
    /// The arrival times of external packets on the last link of their route.
    departures: BinaryHeap<Reverse<Time>>,
}

impl Fabric {
    /// The time at which the next external packet on the last link of its route leaves the network.
    pub(crate) fn next_departure(&self) -> Option<Time> {
        self.departures.peek().map(|Reverse(at)| *at)
    }

    /// Removes and returns the first dropped packet.
    #[inline]
    pub(crate) fn take_lost(&mut self) -> Option<LostPacket> {
        self.lost.pop_front()
    }

    /// The dropped packets that have not been read.
    pub(crate) fn lost(&self) -> impl Iterator<Item = &LostPacket> {
        self.lost.iter()
    }

    /// The number of packets in flight.
    pub(crate) fn held(&self) -> usize {
        self.packets.len()
    }

    /// The link with the longest queue at `now`, and the number of packets in it.
    pub(crate) fn longest_queue(&self, now: Time) -> Option<(usize, usize)> {
        let lengths = self.links.iter().map(|link| link.queue_len(now));
        lengths.enumerate().max_by_key(|(_, length)| *length)
    }

    /// The packet in flight of this number.
    pub(crate) fn in_flight(&self, number: u32) -> &Packet {
        self.packets.get(number)
    }

    /// Sends a packet from the start of its route.
    ///
    /// A route starts with a link, so the packet always arrives by a later event.
    #[inline]
    pub(crate) fn send(&mut self, now: Time, packet: Packet) {
        let number = self.packets.put(packet);
        let end = self.hop(now, number);
        debug_assert!(end.is_none(), "a route without links");
    }

    /// Moves a packet from the end of a link to its next hop, or returns the end of its route.
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

    /// Removes a packet that arrived at the end of its route from the network.
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
                calendar.schedule(at, Event::Arrival(packet.number()));
                if packet.is_marked() {
                    packets.get_mut(packet.number()).kind.mark_ce();
                }
                if packet.leaves() {
                    departures.push(Reverse(at));
                }
            }
            Output::Dropped { reason, packet } => {
                let packet = *packets.release(packet.number());
                lost.push_back(LostPacket {
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
