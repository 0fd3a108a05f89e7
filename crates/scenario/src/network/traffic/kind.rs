//! The properties of a kind of traffic.

use polypath_core::units::Bytes;
use polypath_document::Problems;

use crate::network::graph::GraphLink;
use crate::tcp::Tcp;

/// The properties of a kind of traffic that checks, routing and reports use.
pub(in crate::network) trait TrafficKind {
    /// Reports the values that no schema can refuse; `key` is that of the traffic.
    fn check(&self, key: &str, problems: &mut Problems);

    /// Whether the traffic, whose key is `key`, can begin on the link `first`; reports why not.
    fn check_first_link(&self, _key: &str, _first: &GraphLink, _problems: &mut Problems) -> bool {
        true
    }

    /// The largest packets of each kind and direction, over the flow's own `tcp`: those of a
    /// connection, unless the kind sends others.
    fn largest_packets(&self, tcp: &Tcp) -> Vec<FlowPacket> {
        connection_packets(tcp)
    }

    /// Whether it goes over TCP.
    fn is_tcp(&self) -> bool {
        false
    }

    /// Whether it sends files, which end.
    fn has_files(&self) -> bool {
        false
    }

    /// Whether its receiver answers, as a TCP receiver always does, so that the flow needs a return
    /// route.
    fn needs_return_route(&self) -> bool {
        self.is_tcp()
    }

    /// Whether it sets the receiver windows of its connections itself.
    fn sets_receiver_windows(&self) -> bool {
        false
    }

    /// The nodes and links of each route between the ends of the flow; `None` for the single route
    /// of the flow's `via`.
    fn routes(&self) -> Option<&[Vec<String>]> {
        None
    }
}

/// A packet of a flow.
pub(in crate::network) struct FlowPacket {
    pub(in crate::network) direction: Direction,
    /// The word for it in messages.
    pub(in crate::network) what: &'static str,
    pub(in crate::network) size: Bytes,
    /// The key of its size below that of the flow.
    pub(in crate::network) key: &'static str,
}

/// The direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::network) enum Direction {
    /// From the sender to the receiver.
    There,
    /// From the receiver to the sender.
    Back,
}

impl FlowPacket {
    pub(super) fn new(
        direction: Direction,
        what: &'static str,
        size: Bytes,
        key: &'static str,
    ) -> Self {
        Self {
            direction,
            what,
            size,
            key,
        }
    }
}

/// The packets of a TCP connection.
fn connection_packets(tcp: &Tcp) -> Vec<FlowPacket> {
    vec![
        FlowPacket::new(Direction::There, "segment", tcp.segment, "tcp.segment"),
        FlowPacket::new(Direction::Back, "ACK", tcp.ack, "tcp.ack"),
    ]
}
