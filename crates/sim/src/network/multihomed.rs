//! The flows of a graph over several ways.

use polypath_core::frame::PathId;
use polypath_scenario::network::traffic::multihomed::FirstWay;
use polypath_scenario::network::{Multihomed, RoundTrip, RouteError, Router, Stop};

use super::Network;
use super::graph::{as_links, bytes};
use crate::agents::datagrams::{Cbr, CbrConfig, DatagramSource, Pattern};
use crate::agents::multihomed::{MultihomedSizes, MultihomedSource, Way};
use crate::agents::setup::Span;
use crate::flow::FlowKind;
use crate::route::Terminal;
use crate::world::FlowName;

/// Each way, there and back.
pub(super) fn ways(
    stops: &[Vec<Stop>],
    router: &mut Router<'_>,
) -> Result<Vec<RoundTrip>, RouteError> {
    stops.iter().map(|stops| router.round_trip(stops)).collect()
}

impl Network {
    /// Adds a flow over several ways.
    pub(super) fn add_multihomed_flow(
        &mut self,
        name: String,
        multihomed: &Multihomed,
        span: Span,
        ways: &[RoundTrip],
    ) {
        let number = self.agents.next_multihomed();
        let source = self.multihomed_source(&name, multihomed, span, ways.len());
        let sizes = MultihomedSizes {
            packet: bytes(multihomed.packet),
            heartbeat: bytes(multihomed.heartbeat.unwrap_or(multihomed.packet)),
            ack: bytes(multihomed.ack),
        };
        let routes = &mut self.fabric.routes;
        let way = |way: &RoundTrip| Way {
            there: routes.add(as_links(&way.there), Terminal::MultihomedReceiver(number)),
            back: routes.add(as_links(&way.back), Terminal::MultihomedSource(number)),
        };
        let ways = ways.iter().map(way).collect();
        self.agents
            .add_multihomed(source, sizes, ways, &mut self.fabric);
        let kind = FlowKind::Multihomed(number);
        self.flow_names.push(FlowName { name, kind });
    }

    fn multihomed_source(
        &self,
        name: &str,
        multihomed: &Multihomed,
        span: Span,
        ways: usize,
    ) -> MultihomedSource {
        let stream = |of: &str| self.seed.stream(&format!("flow/{name}/{of}"));
        let config = CbrConfig {
            interval: multihomed.interval,
            jitter: multihomed.jitter,
            drift: multihomed.drift,
        };
        let pattern = Pattern::Cbr(Cbr::new(config, stream("traffic")));
        let size = bytes(multihomed.packet);
        let datagrams = DatagramSource::new(pattern, size, span.start, span.stop);
        let paths = u8::try_from(ways).expect("a checked flow has at most 64 ways");
        let first = match multihomed.first {
            FirstWay::Listed => 0,
            FirstWay::Random => stream("first-way").below(u64::from(paths)),
        };
        let first = PathId(u8::try_from(first).unwrap_or(0));
        let policy = multihomed.policy.build(paths, first, stream("policy"));
        let packets = multihomed.packets.unwrap_or(u64::MAX);
        MultihomedSource::new(datagrams, packets, (policy, paths), span.stop)
    }
}
