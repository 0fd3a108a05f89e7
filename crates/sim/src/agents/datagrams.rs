//! Datagrams whose times nothing in the network changes: their sources and sinks, in typed arrays.

mod on_off;
mod playback;
mod poisson;
mod source;
#[cfg(test)]
mod tests;

use polypath_core::machine::Machine;
use polypath_core::time::Time;

use super::counters::DatagramCounters;
use super::host::FlowHost;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::flow::FlowCounters;
use crate::packet::{Packet, PacketKind};
use crate::percentiles::{DelayHistograms, NO_GROUP};
use crate::route::Cursor;
pub use on_off::{OnOff, OnOffConfig, Sojourn};
pub use playback::Playback;
pub use poisson::Poisson;
pub use source::{Datagram, DatagramSource, Pattern, SendTimes};

/// The datagram flows of a network, by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct DatagramFlows {
    sources: Vec<FlowHost<DatagramSource>>,
    sinks: Vec<DatagramSink>,
}

/// The totals of a source and its sink.
#[derive(Clone, Copy, Debug)]
struct DatagramSink {
    /// The group of flows in which its delays are measured.
    group: u32,
    counters: DatagramCounters,
}

impl DatagramFlows {
    /// The number of the next flow.
    pub(crate) fn next_number(&self) -> u32 {
        u32::try_from(self.sources.len()).expect("fewer than 2^32 flows")
    }

    /// Adds a source; the route leads to its sink.
    pub(crate) fn add(&mut self, source: DatagramSource, route: Cursor, fabric: &mut Fabric) {
        let event = Event::Datagrams(self.next_number());
        self.sources
            .push(FlowHost::started(source, route, event, fabric));
        self.sinks.push(DatagramSink {
            group: NO_GROUP,
            counters: DatagramCounters::default(),
        });
    }

    /// Measures the delays of a flow in a group.
    pub(super) fn set_delay_group(&mut self, number: u32, group: u32) {
        self.sinks[number as usize].group = group;
    }

    /// The bytes that all sinks have received.
    pub(super) fn delivered(&self) -> u64 {
        self.sinks.iter().map(|sink| sink.counters.bytes).sum()
    }

    /// The totals of a flow.
    pub(crate) fn counters(&self, number: u32) -> FlowCounters {
        self.sinks[number as usize].counters.totals()
    }

    /// Counts a datagram that arrived at the sink.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        at: Time,
        number: u32,
        packet: &Packet,
        delays: &mut DelayHistograms,
    ) {
        let sink = &mut self.sinks[number as usize];
        sink.counters.bytes += u64::from(packet.size);
        let delay = at.since(packet.sent);
        sink.counters.delays.add(delay);
        delays.record(sink.group, delay);
    }

    /// Handles the timer of a source.
    #[inline]
    pub(crate) fn wake(&mut self, at: Time, number: u32, fabric: &mut Fabric) {
        let source = &mut self.sources[number as usize];
        if !source.expires(at) {
            return;
        }
        let route = source.route;
        let sent = &mut self.sinks[number as usize].counters.sent;
        source.machine.handle_timeout(at, &mut |datagram| {
            *sent += 1;
            let packet = Packet {
                cursor: route,
                size: datagram.size,
                sent: at,
                kind: PacketKind::Datagram(u32::try_from(*sent).unwrap_or(u32::MAX)),
            };
            fabric.send(at, packet);
        });
        source.rearm(fabric, Event::Datagrams(number));
    }
}
