//! The two applications of a media stream: the source at the server, the sink at the client.

use polypath_core::frame::Payload;
use polypath_core::machine::{Deadline, Machine};
use polypath_core::packet::{PacketFields, PacketMeta};
use polypath_core::time::Time;
use polypath_scenario::Media;

use super::outcome::Delivery;
use crate::host::Application;

/// A packet of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MediaPacket {
    /// Its number, from 0.
    pub(crate) number: u64,
    /// The length of the IP packet in bytes.
    pub(crate) len: u32,
}

impl MediaPacket {
    /// The view of a path policy: a datagram.
    fn meta(&self) -> PacketMeta {
        PacketMeta::udp(self.len)
    }
}

impl Payload for MediaPacket {
    fn len(&self) -> usize {
        self.len as usize
    }

    fn fields(&self) -> Option<PacketFields> {
        Some(self.meta().fields())
    }
}

/// The times at which the packets of a stream are sent.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    media: Media,
    start: Time,
    packets: u64,
}

impl Schedule {
    pub(crate) fn new(media: &Media, start: Time) -> Self {
        Self {
            media: media.clone(),
            start,
            packets: media.packets(),
        }
    }

    /// The time of packet `number`.
    fn at(&self, number: u64) -> Time {
        self.start + self.media.offset(number)
    }
}

/// Sends the packets of a stream at their times.
#[derive(Debug)]
pub(crate) struct Source {
    schedule: Schedule,
    len: u32,
    next: u64,
}

impl Source {
    pub(crate) fn new(schedule: Schedule) -> Self {
        Self {
            len: u32::try_from(schedule.media.packet_len().0).unwrap_or(u32::MAX),
            schedule,
            next: 0,
        }
    }
}

impl Machine for Source {
    type Input = MediaPacket;
    type Output = MediaPacket;

    /// The stream has one direction.
    fn handle_input(&mut self, _: Time, _: MediaPacket, _: &mut impl FnMut(MediaPacket)) {}

    fn handle_timeout(&mut self, now: Time, out: &mut impl FnMut(MediaPacket)) {
        while self.deadline().is_some_and(|due| due.at <= now) {
            let (number, len) = (self.next, self.len);
            self.next += 1;
            out(MediaPacket { number, len });
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        (self.next < self.schedule.packets).then(|| Deadline {
            at: self.schedule.at(self.next),
            why: "next packet of the stream",
        })
    }
}

impl Application for Source {
    type Packet = MediaPacket;

    fn input(packet: MediaPacket) -> MediaPacket {
        packet
    }

    fn packet(packet: MediaPacket) -> Option<MediaPacket> {
        Some(packet)
    }

    fn meta(packet: &MediaPacket) -> PacketMeta {
        packet.meta()
    }
}

/// Receives the packets of a stream.
#[derive(Debug)]
pub(crate) struct Sink {
    schedule: Schedule,
    /// All deliveries, in order.
    deliveries: Vec<Delivery>,
}

impl Sink {
    pub(crate) const fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            deliveries: Vec::new(),
        }
    }

    /// All deliveries, in order.
    pub(crate) fn deliveries(&self) -> &[Delivery] {
        &self.deliveries
    }
}

impl Machine for Sink {
    type Input = MediaPacket;
    type Output = MediaPacket;

    fn handle_input(&mut self, now: Time, packet: MediaPacket, _: &mut impl FnMut(MediaPacket)) {
        self.deliveries.push(Delivery {
            number: packet.number,
            at: now,
            delay: now.since(self.schedule.at(packet.number)),
        });
    }

    fn handle_timeout(&mut self, _: Time, _: &mut impl FnMut(MediaPacket)) {}

    fn deadline(&self) -> Option<Deadline> {
        None
    }
}

impl Application for Sink {
    type Packet = MediaPacket;

    fn input(packet: MediaPacket) -> MediaPacket {
        packet
    }

    fn packet(packet: MediaPacket) -> Option<MediaPacket> {
        Some(packet)
    }

    fn meta(packet: &MediaPacket) -> PacketMeta {
        packet.meta()
    }
}
