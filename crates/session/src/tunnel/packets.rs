//! The packets of applications, and those that no path carries whole.

use bytes::Bytes;
use polypath_core::endpoint;
use polypath_core::event::{DropReason, Event};
use polypath_core::machine::Wake;
use polypath_core::packet;
use polypath_core::time::Time;

use super::{Output, Tunnel, fragment};

/// A packet that the endpoint refused, and the longest that it accepts.
pub(super) struct Refused {
    pub(super) packet: Bytes,
    pub(super) limit: u16,
    pub(super) is_final: bool,
}

impl Tunnel {
    pub(super) fn on_packet(&mut self, now: Time, packet: Bytes, out: &mut impl FnMut(Output)) {
        match packet::parse(&packet) {
            Ok(meta) => {
                let payload = packet;
                let input = endpoint::Input::Packet { meta, payload };
                self.wake_endpoint(now, Wake::Input(input), out);
            }
            Err(_) => out(Output::Event(Event::Dropped {
                reason: DropReason::NotIp,
                len: u32::try_from(packet.len()).unwrap_or(u32::MAX),
            })),
        }
    }

    /// Fragments a packet that exceeds the MTU of every path, or drops it.
    pub(super) fn on_refused(&mut self, now: Time, refused: Refused, out: &mut impl FnMut(Output)) {
        let Refused {
            packet,
            limit,
            is_final,
        } = refused;
        if let Some(fragments) = fragment::split(&packet, limit) {
            for fragment in fragments {
                self.on_packet(now, fragment, out);
            }
            return;
        }
        out(Output::Event(Event::Dropped {
            reason: DropReason::TooLong,
            len: u32::try_from(packet.len()).unwrap_or(u32::MAX),
        }));
        // Hosts cache the MTU for minutes: none is reported that discovery may soon raise.
        if is_final {
            let mtu = limit;
            out(Output::PacketTooBig { packet, mtu });
        }
    }
}
