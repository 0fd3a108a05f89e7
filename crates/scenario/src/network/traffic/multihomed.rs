//! Datagrams over the route with the lowest delay of several (delay-centric paper).

use polypath_core::cbr::{Cbr, CbrConfig};
use polypath_core::frame::{Epoch, PathId};
use polypath_core::multihomed::{MultihomedSource, SourceSchedule};
use polypath_core::policy::delay_centric::{DelayCentricError, Scope};
use polypath_core::policy::{DelayCentricConfig, PathSet, PolicyContext};
use polypath_core::rng::Stream;
use polypath_core::tariff::Tariffs;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Direction, FlowPacket, TrafficKind};
use crate::check::bounds::{MIN_GAP, at_least, at_most_a_day};
use crate::check::{check_packet, positive};
use crate::tcp::Tcp;
use polypath_document::Problems;

/// Datagrams at even intervals, each of which the receiver acknowledges, over one of several routes
/// at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Multihomed {
    /// The size of a datagram on the wire.
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
    /// The number of datagrams; unlimited if absent. After the last there are no
    /// heartbeats, either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub packets: Option<u64>,
    /// The size of an ACK and of the answer to a heartbeat on the wire; the paper's is 52 B.
    #[serde(default = "default_ack")]
    pub ack: Bytes,
    /// The size of a heartbeat on the wire; that of a datagram, as the paper has it, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<Bytes>,
    /// The routes: for each the nodes and links between the flow's ends, in the order from the
    /// sender; ACKs pass them in reverse.
    #[schemars(length(min = 1, max = 64))]
    pub ways: Vec<Vec<String>>,
    /// The route of the first datagram.
    #[serde(default)]
    pub first: FirstRoute,
    /// The path selection.
    pub policy: DelayCentricConfig,
}

/// The route on which a flow begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstRoute {
    /// The first of the list.
    #[default]
    Listed,
    /// Any of them, drawn for each flow.
    Random,
}

impl FirstRoute {
    /// The position of the route on which a flow begins; draws from `stream` only if it is random.
    pub fn draw(self, routes: u8, stream: impl FnOnce() -> Stream) -> PathId {
        match self {
            Self::Listed => PathId(0),
            Self::Random => PathId(u8::try_from(stream().below(u64::from(routes))).unwrap_or(0)),
        }
    }
}

impl Multihomed {
    /// The size of a heartbeat on the wire.
    #[must_use]
    pub fn heartbeat_size(&self) -> Bytes {
        self.heartbeat.unwrap_or(self.packet)
    }

    /// A source that sends its first datagram at `start` and nothing at `stop` or later, with the
    /// random stream of each of its parts.
    ///
    /// # Panics
    /// With more than 64 routes, which a checked file does not have.
    #[must_use]
    pub fn source(
        &self,
        start: Time,
        stop: Time,
        stream: impl Fn(&str) -> Stream,
    ) -> MultihomedSource {
        let intervals = CbrConfig {
            interval: self.interval,
            jitter: self.jitter,
            drift: self.drift,
        };
        let schedule = SourceSchedule {
            start,
            stop,
            intervals: Cbr::new(intervals, stream("traffic")),
            packets: self.packets.unwrap_or(u64::MAX),
            size: u32::try_from(self.packet.0).unwrap_or(u32::MAX),
        };
        let paths = u8::try_from(self.ways.len()).expect("a checked flow has at most 64 routes");
        let first = self.first.draw(paths, || stream("first-way"));
        let policy = self.policy.build(PolicyContext {
            paths,
            start: Some(first),
            pair_interval: Duration::from_secs(1),
            epoch: Epoch::default(),
            acknowledges: true,
            tariffs: Tariffs::default(),
            stream: stream("policy"),
        });
        MultihomedSource::new(schedule, policy, paths)
    }
}

impl TrafficKind for Multihomed {
    fn check(&self, key: &str, problems: &mut Problems) {
        let at = |leaf: &str| format!("{key}.{leaf}");
        check_packet(&at("packet"), self.packet, problems);
        check_packet(&at("ack"), self.ack, problems);
        if let Some(heartbeat) = self.heartbeat {
            check_packet(&at("heartbeat"), heartbeat, problems);
        }
        check_intervals(&at("interval"), self.interval, problems);
        check_ways(&at("ways"), &self.ways, problems);
        check_policy(&at("policy"), self, problems);
    }

    fn largest_packets(&self, _tcp: &Tcp) -> Vec<FlowPacket> {
        let there = |what, size, key| FlowPacket::new(Direction::There, what, size, key);
        let packet = there("packet", self.packet, "traffic.packet");
        let heartbeat = self
            .heartbeat
            .map(|size| there("heartbeat", size, "traffic.heartbeat"));
        let ack = FlowPacket::new(Direction::Back, "ACK", self.ack, "traffic.ack");
        heartbeat.into_iter().chain([packet, ack]).collect()
    }

    fn needs_return_route(&self) -> bool {
        true
    }

    fn routes(&self) -> Option<&[Vec<String>]> {
        Some(&self.ways)
    }
}

/// Checks the interval between datagrams.
pub(super) fn check_intervals(key: &str, interval: Duration, problems: &mut Problems) {
    positive(key, interval, problems);
    at_least(key, interval, MIN_GAP, problems);
    at_most_a_day(key, interval, problems);
}

/// Checks the number of routes.
pub(super) fn check_ways(key: &str, ways: &[Vec<String>], problems: &mut Problems) {
    let count = ways.len();
    if count == 0 || count > usize::from(PathSet::CAPACITY) {
        let message = format!("there are {count} ways");
        let remedy = format!(
            "list 1 to {}: ways = [[\"wifi\"], [\"lte\"]]",
            PathSet::CAPACITY
        );
        problems.report(key, message, remedy);
    }
}

fn check_policy(key: &str, multihomed: &Multihomed, problems: &mut Problems) {
    let at = |leaf: &str| format!("{key}.{leaf}");
    let heartbeats = multihomed.policy.heartbeats();
    for (leaf, span) in [
        ("heartbeats.least", heartbeats.least),
        ("heartbeats.most", heartbeats.most),
        ("heartbeats.in_guard", heartbeats.in_guard),
        ("heartbeats.timeout", heartbeats.timeout),
        ("guard.most", multihomed.policy.guard().most),
    ] {
        at_most_a_day(&at(leaf), span, problems);
    }
    if multihomed.policy.scope() != Scope::All {
        let message = "a sender is a single flow";
        problems.report(&at("scope"), message, "omit `scope`, which is for nodes");
    }
    for error in multihomed.policy.errors() {
        match error {
            DelayCentricError::Short { key, .. } => {
                problems.report(&at(key), error.to_string(), "");
            }
            DelayCentricError::Order { part, .. } => {
                let keys = ["least", "most"].map(|leaf| at(&format!("{part}.{leaf}")));
                let keys = [keys[0].as_str(), keys[1].as_str()];
                let remedy = "let `most` be `least` or more";
                problems.report_among(&keys, error.to_string(), remedy);
            }
        }
    }
}

fn default_ack() -> Bytes {
    Bytes(52)
}
