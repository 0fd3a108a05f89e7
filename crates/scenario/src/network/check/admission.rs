//! Checks that the queues on the route of each flow admit its packets.

use polypath_core::units::Bytes;
use polypath_link::QueueLimit;

use crate::network::Network;
use crate::network::flow::Flow;
use crate::network::graph::Graph;
use crate::network::route::{Router, Stop};
use crate::network::traffic::kind::{Direction, FlowPacket};
use polypath_document::Problems;

/// The key of a segment's size below that of a flow.
const SEGMENT: &str = "tcp.segment";

/// Whether any queue is limited in bytes. It reads the links as written, since building the whole
/// graph costs as much as all other checks.
fn is_limited_in_bytes(network: &Network) -> bool {
    let presets = network
        .topology
        .iter()
        .flat_map(|topology| topology.link_kinds());
    let presets = presets.map(|(_, link)| link);
    let mut links = presets.chain(network.links.iter().map(|edge| &edge.link));
    links.any(|link| matches!(link.queue.limit(), QueueLimit::Bytes(_)))
}

/// Reports the flows with a queue on their route, limited in bytes, that does not admit their
/// largest packets; the recordings are already read. The size of all flows, `[tcp].segment`, is
/// checked with the links.
pub(in crate::network) fn check(network: &Network, problems: &mut Problems) {
    if !is_limited_in_bytes(network) {
        return;
    }
    let graph = network.graph();
    let mut router = Router::new(&graph);
    for (index, flow) in network.flows.iter().enumerate() {
        for packet in packets_to_check(network, flow) {
            let Some((link, limit)) = refusing_link(flow, &packet, &graph, &mut router) else {
                continue;
            };
            let FlowPacket {
                what, size, key, ..
            } = packet;
            let message =
                format!("the queue of link `{link}`, {limit}, admits no {what} of {size}");
            let remedy = "the packet in transmission counts";
            problems.report(&format!("flow.{index}.{key}"), message, remedy);
        }
    }
}

/// The packets of a flow whose sizes are not checked with the links.
fn packets_to_check(network: &Network, flow: &Flow) -> Vec<FlowPacket> {
    let tcp = flow.tcp.apply(&network.tcp);
    let mut packets = flow.traffic.kind().largest_packets(&tcp);
    packets.retain(|packet| packet.key != SEGMENT || packet.size != network.tcp.segment);
    packets
}

/// The first link on the route whose queue does not admit the packet, and its limit; other checks
/// report invalid routes.
fn refusing_link<'a>(
    flow: &Flow,
    packet: &FlowPacket,
    graph: &'a Graph,
    router: &mut Router<'_>,
) -> Option<(&'a str, Bytes)> {
    let mut stated = (0..flow.different()).flat_map(|number| flow.routes(number));
    stated.find_map(|stops| {
        let stops = stops.iter().map(|stop| graph.stop(stop));
        let stops = stops.collect::<Option<Vec<Stop>>>()?;
        let route = if packet.direction == Direction::Back {
            router.round_trip(&stops).ok()?.back
        } else {
            router.route(&stops).ok()?
        };
        route.into_iter().find_map(|link| {
            let link = &graph.links[link];
            match link.link.queue.limit() {
                QueueLimit::Bytes(limit) if limit < packet.size => {
                    Some((link.name.as_str(), limit))
                }
                _ => None,
            }
        })
    })
}
