//! The datagrams in the packets of the peer.

use std::net::Ipv4Addr;

use bytes::Bytes;
use polypath_core::packet::{TrafficClass, traffic_class};
use polypath_core::time::Time;

use super::packet::{self, PeerPacket};
use super::reassembly::Reassembly;

/// A datagram of an application of the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerDatagram {
    /// The source address of its packet.
    pub source: Ipv4Addr,
    /// The destination address of its packet.
    pub destination: Ipv4Addr,
    /// The number of the UDP port that it goes to.
    pub port: u16,
    /// The payload.
    pub payload: Bytes,
    /// The traffic class of its packet.
    pub traffic_class: TrafficClass,
}

/// The packet has no intact UDP datagram in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a UDP datagram over IPv4")]
pub struct NotUdp;

/// Reads the datagrams of packets, and puts fragments together.
#[derive(Debug, Default)]
pub struct PeerDatagrams {
    reassembly: Reassembly,
}

impl PeerDatagrams {
    /// The datagram that `packet` has in it or completes; `None` for a fragment that completes none.
    ///
    /// # Errors
    /// The packet, or the datagram that it completes, is no UDP over IPv4.
    pub fn read(&mut self, now: Time, packet: &Bytes) -> Result<Option<PeerDatagram>, NotUdp> {
        let (header, datagram, traffic_class) = match packet::read(packet).ok_or(NotUdp)? {
            PeerPacket::Datagram(header, place) => {
                (header, packet.slice(place), traffic_class(packet))
            }
            PeerPacket::Fragment(header, payload) => {
                let Some(whole) = self.reassembly.add(now, &header, payload) else {
                    return Ok(None);
                };
                if !packet::is_intact(header.source(), header.destination(), &whole.datagram) {
                    return Err(NotUdp);
                }
                (header, whole.datagram.into(), whole.traffic_class)
            }
        };
        let (port, payload) = packet::read_udp(&datagram).ok_or(NotUdp)?;
        Ok(Some(PeerDatagram {
            source: header.source_addr(),
            destination: header.destination_addr(),
            port,
            payload: datagram.slice(payload),
            traffic_class,
        }))
    }

    /// The number of datagrams of which fragments are missing.
    #[must_use]
    pub fn incomplete(&self) -> usize {
        self.reassembly.incomplete()
    }
}
