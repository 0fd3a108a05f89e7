//! The flows of spaced packets of a graph.

use polypath_core::spacing::SpacedReceiver;
use polypath_scenario::network::{Graph, RoundTrip, RouteError, Router, Spaced, Stop};

use super::Network;
use super::graph::{Span, as_links, bytes};
use crate::agents::spaced::{SpacedSizes, SpacedSource};
use crate::flow::FlowKind;
use crate::route::Terminal;
use crate::world::FlowName;

/// The way there, and that of feedback; where there is none it is empty.
pub(super) fn ways(
    spaced: &Spaced,
    stops: &[Stop],
    router: &mut Router<'_>,
) -> Result<RoundTrip, RouteError> {
    if spaced.has_feedback() {
        return router.round_trip(stops);
    }
    let there = router.route(stops)?;
    let back = Vec::new();
    Ok(RoundTrip { there, back })
}

impl Network {
    /// Adds a flow of spaced packets.
    pub(super) fn add_spaced_flow(
        &mut self,
        name: String,
        spaced: &Spaced,
        span: Span,
        ways: &RoundTrip,
        graph: &Graph,
    ) {
        let number = self.agents.next_spaced();
        let first = ways.there.first().map(|&link| &graph.links[link].link);
        let config = spaced.sender(first.and_then(|link| link.rate));
        let config = config.expect("a checked flow has a line rate");
        let source = SpacedSource::new(&config, span.start, span.stop);
        let receiver = SpacedReceiver::new(spaced.feedback.reordering);
        let sizes = SpacedSizes {
            packet: bytes(spaced.packet),
            feedback: bytes(spaced.feedback.size),
        };
        let routes = &mut self.fabric.routes;
        let there = routes.add(as_links(&ways.there), Terminal::SpacedReceiver(number));
        let back = routes.add(as_links(&ways.back), Terminal::SpacedSource(number));
        let machines = (source, receiver);
        self.agents
            .add_spaced(machines, sizes, (there, back), &mut self.fabric);
        let kind = FlowKind::Spaced(number);
        self.flow_names.push(FlowName { name, kind });
    }
}
