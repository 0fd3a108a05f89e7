//! What carries packets: links, routes, the packets under way and the calendar.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use polypath_core::frame::Payload;
use polypath_core::machine::Machine;
use polypath_core::time::Time;
use polypath_link::{DropReason, Link, Output};

use crate::calendar::Calendar;
use crate::route::{Cursor, Hop, Routes, Terminal};
use crate::slab::Slab;
use crate::tcp::Segment;

/// What falls due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A packet comes to the end of a link.
    Arrival(u32),
    /// A background TCP source wants to be woken.
    Source(u32),
    /// A background TCP sink wants to be woken.
    Sink(u32),
    /// A background UDP source wants to be woken.
    Datagrams(u32),
}

/// What a packet is to the agent that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cargo {
    Segment(Segment),
    Datagram,
    /// The payload of an external packet, by its number.
    External(u32),
}

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) cursor: Cursor,
    pub(crate) size: u32,
    /// When it left its sender.
    pub(crate) sent: Time,
    pub(crate) cargo: Cargo,
}

/// What a link knows of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel {
    packet: u32,
    size: u32,
}

impl Payload for Parcel {
    fn len(&self) -> usize {
        self.size as usize
    }
}

/// A packet that came to the end of its route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) end: Terminal,
    pub(crate) cargo: Cargo,
    pub(crate) size: u32,
    pub(crate) sent: Time,
}

/// A packet that a link dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) link: u32,
    pub(crate) reason: DropReason,
    pub(crate) cargo: Cargo,
}

/// Links and everything that moves over them.
#[derive(Debug, Default)]
pub(crate) struct Fabric {
    pub(crate) links: Vec<Link<Parcel>>,
    pub(crate) routes: Routes,
    pub(crate) calendar: Calendar<Event>,
    packets: Slab<Packet>,
    /// When the external packets on the last link of their route come to its end.
    departures: BinaryHeap<Reverse<Time>>,
}

impl Fabric {
    /// When the next external packet leaves the network, of those on the last link of their route.
    pub(crate) fn next_departure(&self) -> Option<Time> {
        self.departures.peek().map(|Reverse(at)| *at)
    }

    /// Sends a packet from the start of its route.
    ///
    /// A route begins with a link: the packet never arrives before something falls due.
    #[inline]
    pub(crate) fn send(&mut self, now: Time, packet: Packet) -> Result<(), Lost> {
        let number = self.packets.put(packet);
        self.hop(now, number).map(|_| ())
    }

    /// Takes a packet that came to the end of a link on to its next hop.
    #[inline]
    pub(crate) fn hop(&mut self, now: Time, number: u32) -> Result<Option<Arrived>, Lost> {
        let packet = self.packets.get_mut(number);
        let (size, sent, cargo) = (packet.size, packet.sent, packet.cargo);
        match self.routes.advance(&mut packet.cursor) {
            Hop::Link(link) => {
                let leaves =
                    matches!(cargo, Cargo::External(_)) && self.routes.is_at_end(packet.cursor);
                let parcel = Parcel {
                    packet: number,
                    size,
                };
                let at = self.carry(now, link, parcel).map_err(|reason| Lost {
                    link,
                    reason,
                    cargo,
                })?;
                if leaves {
                    self.departures.push(Reverse(at));
                }
                Ok(None)
            }
            Hop::End(end) => {
                if matches!(cargo, Cargo::External(_)) {
                    self.departures.pop();
                }
                self.packets.release(number);
                Ok(Some(Arrived {
                    end,
                    cargo,
                    size,
                    sent,
                }))
            }
        }
    }

    #[inline]
    fn carry(&mut self, now: Time, link: u32, parcel: Parcel) -> Result<Time, DropReason> {
        let mut result = Ok(now);
        let (calendar, packets) = (&mut self.calendar, &mut self.packets);
        self.links[link as usize].handle_input(now, parcel, &mut |output| match output {
            Output::Deliver { at, packet } => {
                calendar.schedule(at, Event::Arrival(packet.packet));
                result = Ok(at);
            }
            Output::Dropped { reason, packet } => {
                packets.release(packet.packet);
                result = Err(reason);
            }
        });
        result
    }
}
