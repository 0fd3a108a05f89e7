//! Whether the queues on the way of each flow admit its packets.

use polypath_core::units::Bytes;

use crate::document::Problems;
use crate::network::Network;
use crate::network::flow::{Flow, Traffic};
use crate::network::graph::Graph;
use crate::network::route::{Router, Stop};
use crate::queue::QueueLimit;

/// The largest packet that a flow sends in one direction.
struct Sent {
    what: &'static str,
    size: Bytes,
    /// Where its size comes from, below the flow's key.
    key: &'static str,
    /// From the receiver to the sender.
    back: bool,
}

/// Whether any queue is; told by the links as they are written, since the whole graph costs as much as all other checks.
fn is_limited_in_bytes(network: &Network) -> bool {
    let presets = network
        .topology
        .iter()
        .flat_map(|topology| topology.link_kinds());
    let presets = presets.map(|(_, link)| link);
    let mut links = presets.chain(network.links.iter().map(|edge| &edge.link));
    links.any(|link| matches!(link.queue.limit(), QueueLimit::Bytes(_)))
}

/// Reports the flows that meet a queue, limited in bytes, that admits none of their largest packets; the recordings
/// have been read. What is the same for all flows, `[tcp].segment`, is checked with the links.
pub(in crate::network) fn check(network: &Network, problems: &mut Problems) {
    if !is_limited_in_bytes(network) {
        return;
    }
    let graph = network.graph();
    let mut router = Router::new(&graph);
    for (index, flow) in network.flows.iter().enumerate() {
        for sent in sent(network, flow) {
            let Some((link, limit)) = refusing_link(flow, &sent, &graph, &mut router) else {
                continue;
            };
            let Sent {
                what, size, key, ..
            } = sent;
            let message =
                format!("the queue of link `{link}`, {limit}, admits no {what} of {size}");
            let remedy = "the packet in transmission counts";
            problems.report(&format!("flow.{index}.{key}"), message, remedy);
        }
    }
}

fn sent(network: &Network, flow: &Flow) -> Vec<Sent> {
    let there = |what, size, key| Sent {
        what,
        size,
        key,
        back: false,
    };
    match &flow.traffic {
        Traffic::Ftp {} | Traffic::File { .. } | Traffic::Sessions { .. } | Traffic::Striped(_) => {
            let tcp = flow.tcp.apply(&network.tcp);
            let own = tcp.segment != network.tcp.segment;
            let data = own.then(|| there("segment", tcp.segment, "tcp.segment"));
            let ack = Sent {
                back: true,
                ..there("ACK", tcp.ack, "tcp.ack")
            };
            data.into_iter().chain([ack]).collect()
        }
        Traffic::Spaced(spaced) => {
            let feedback = Sent {
                back: true,
                ..there("feedback", spaced.feedback.size, "traffic.feedback.size")
            };
            let feedback = spaced.has_feedback().then_some(feedback);
            let packet = there("packet", spaced.packet, "traffic.packet");
            feedback.into_iter().chain([packet]).collect()
        }
        Traffic::Multihomed(multihomed) => {
            let ack = Sent {
                back: true,
                ..there("ACK", multihomed.ack, "traffic.ack")
            };
            let packet = there("packet", multihomed.packet, "traffic.packet");
            let heartbeat = multihomed.heartbeat;
            let heartbeat = heartbeat.map(|size| there("heartbeat", size, "traffic.heartbeat"));
            heartbeat.into_iter().chain([packet, ack]).collect()
        }
        Traffic::Cbr { packet, .. }
        | Traffic::Poisson { packet, .. }
        | Traffic::Exponential { packet, .. }
        | Traffic::Pareto { packet, .. } => vec![there("datagram", *packet, "traffic.packet")],
        Traffic::Trace { file, .. } => {
            let largest = file.entries.iter().map(|packet| packet.bytes).max();
            let size = Bytes(largest.unwrap_or_default().into());
            vec![there("datagram", size, "traffic.file")]
        }
    }
}

/// The first link on the way whose queue admits no such packet, and its limit; ways that are none are the business of
/// another check.
fn refusing_link<'a>(
    flow: &Flow,
    sent: &Sent,
    graph: &'a Graph,
    router: &mut Router<'_>,
) -> Option<(&'a str, Bytes)> {
    let mut ways = (0..flow.different()).flat_map(|number| flow.ways(number));
    ways.find_map(|stops| {
        let stops = stops.iter().map(|stop| graph.stop(stop));
        let stops = stops.collect::<Option<Vec<Stop>>>()?;
        let route = if sent.back {
            router.round_trip(&stops).ok()?.back
        } else {
            router.route(&stops).ok()?
        };
        route.into_iter().find_map(|link| {
            let link = &graph.links[link];
            match link.link.queue.limit() {
                QueueLimit::Bytes(limit) if limit < sent.size => Some((link.name.as_str(), limit)),
                _ => None,
            }
        })
    })
}
