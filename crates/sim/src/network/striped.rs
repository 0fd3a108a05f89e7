//! The flows of a graph that are streams over several connections.

use polypath_core::connections::Target;
use polypath_scenario::Tcp;
use polypath_scenario::network::{RoundTrip, Striped};

use super::Network;
use super::graph::as_links;
use crate::agents::setup::Span;
use crate::agents::striped::{StripedConfig, StripedSink, StripedSinkConfig, StripedSource};
use crate::flow::FlowKind;
use crate::route::Terminal;
use crate::tcp::TcpConfig;
use crate::world::FlowName;

impl Network {
    /// Adds a stream over several connections.
    pub(super) fn add_striped_flow(
        &mut self,
        name: String,
        striped: &Striped,
        hosts: &Tcp,
        span: Span,
        ways: &RoundTrip,
    ) {
        let number = self.agents.next_striped();
        // The receiver asks for each connection, so that there is a set-up in any case.
        let tcp = TcpConfig {
            syn: true,
            ..TcpConfig::from(hosts)
        };
        let limit = striped.connection_limit;
        let config = StripedConfig {
            tcp,
            overhead: hosts.overhead,
            interval: limit.map(|rate| rate.transmission_time(hosts.segment)),
        };
        let sink = StripedSinkConfig {
            tcp,
            target: Target {
                rate: striped.rate,
                segment: hosts.segment,
            },
            controller: striped.controller,
            buffer: striped.buffer,
            play_out: striped.play_out,
        };
        let stream = self.seed.stream(&format!("flow/{name}/traffic"));
        let source = StripedSource::new(config, stream, span.stop);
        let sink = StripedSink::new(&sink, span.start, span.stop);
        let routes = &mut self.fabric.routes;
        let there = routes.add(as_links(&ways.there), Terminal::StripedSink(number));
        let back = routes.add(as_links(&ways.back), Terminal::StripedSource(number));
        self.agents
            .add_striped((source, sink), (there, back), &mut self.fabric);
        let kind = FlowKind::Striped(number);
        self.flow_names.push(FlowName { name, kind });
    }
}
