//! Datagrams through the tunnel of two nodes, whose policy is any of a node's.

use polypath_core::cbr::{Cbr, CbrConfig};
use polypath_core::endpoint::{EndpointConfig, ProbingConfig};
use polypath_core::frame::OVER_IPV4;
use polypath_core::liveness::LivenessSetting;
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::Stream;
use polypath_core::spacing::SpacingConfig;
use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Direction, FlowPacket, TrafficKind};
use super::multihomed::{FirstRoute, check_intervals, check_ways};
use crate::check::{
    check_endpoint_policy, check_frame, check_liveness, check_packet, check_probing,
};
use crate::endpoint::{DEPLOYED_FRAMES, deployed_endpoint};
use crate::tcp::Tcp;
use polypath_document::{Problems, check_spacing};

/// The headers of IPv4 and UDP.
const LEAST_PACKET: Bytes = Bytes(OVER_IPV4 as u64);

/// Datagrams at even intervals from one node of the overlay to another, over several routes; each
/// flow has two nodes of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tunnel {
    /// The length of the IP packets; frames add their headers to it.
    pub packet: Bytes,
    /// The interval between the starts of successive datagrams.
    pub interval: Duration,
    /// Each interval is drawn within this share of `interval`, uniformly.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub jitter: f64,
    /// Each flow's interval is drawn once within this share of `interval`, uniformly: clocks
    /// differ.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub drift: f64,
    /// The paths of the nodes: for each the nodes and links between the flow's ends, in the order
    /// from the sender; frames of the receiver pass them in reverse.
    #[schemars(length(min = 1, max = 64))]
    pub ways: Vec<Vec<String>>,
    /// The route that is path 0 of the nodes, on which most policies begin; the others follow it in
    /// their order.
    #[serde(default)]
    pub first: FirstRoute,
    /// The policy of both nodes, as in their files.
    pub policy: PolicyConfig,
    /// Liveness detection of paths by heartbeats, as in the file of a node.
    #[serde(default)]
    pub liveness: LivenessSetting,
    /// The comparison of paths, under a policy that probes, as in the file of a node.
    #[serde(default)]
    pub probing: ProbingConfig,
    /// The spacing of the packets that both nodes send, as in the file of a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<SpacingConfig>,
}

impl Tunnel {
    /// The size of a datagram on the wire.
    #[must_use]
    pub const fn frame_size(&self) -> Bytes {
        Bytes(self.packet.0.saturating_add(DEPLOYED_FRAMES.data as u64))
    }

    /// The configuration of both nodes: that of deployed ones over IPv4.
    #[must_use]
    pub fn endpoint(&self) -> EndpointConfig {
        EndpointConfig {
            probing: self.probing,
            liveness: self.liveness.config(),
            spacing: self.spacing,
            ..deployed_endpoint(self.ways.len(), self.policy.or_hysteresis(true))
        }
    }

    /// The intervals of a flow with this random stream.
    #[must_use]
    pub fn intervals(&self, stream: Stream) -> Cbr {
        let config = CbrConfig {
            interval: self.interval,
            jitter: self.jitter,
            drift: self.drift,
        };
        Cbr::new(config, stream)
    }
}

impl TrafficKind for Tunnel {
    fn check(&self, key: &str, problems: &mut Problems) {
        let at = |leaf: &str| format!("{key}.{leaf}");
        check_packet(&at("packet"), self.packet, problems);
        check_frame(&at("packet"), self.packet, Bytes(0), problems);
        if self.packet < LEAST_PACKET {
            let message = format!("no IP packet has {}", self.packet);
            let remedy = format!("use {LEAST_PACKET} or more");
            problems.report(&at("packet"), message, remedy);
        }
        check_intervals(&at("interval"), self.interval, problems);
        check_ways(&at("ways"), &self.ways, problems);
        let (ways, liveness) = (self.ways.len(), self.liveness.config());
        check_endpoint_policy(&at("policy"), "", self.policy, ways, liveness, problems);
        check_liveness(&at("liveness"), liveness, problems);
        check_probing(&at("probing"), &self.probing, problems);
        check_spacing(key, self.spacing, problems);
    }

    fn largest_packets(&self, _tcp: &Tcp) -> Vec<FlowPacket> {
        let frame = |direction, what, size: u64, key| {
            let size = Bytes(size.saturating_add(DEPLOYED_FRAMES.data.into()));
            FlowPacket::new(direction, what, size, key)
        };
        let pair = u64::from(self.probing.pair_len);
        let there = frame(Direction::There, "frame", self.packet.0, "traffic.packet");
        let pairs = [Direction::There, Direction::Back]
            .map(|way| frame(way, "pair", pair, "traffic.probing.pair_len"));
        // Also without probing: `polypath stability` compares other policies.
        [there].into_iter().chain(pairs).collect()
    }

    fn needs_return_route(&self) -> bool {
        true
    }

    fn routes(&self) -> Option<&[Vec<String>]> {
        Some(&self.ways)
    }
}
