//! Checks of a network that no schema can state: nodes that must exist, routes, values that must
//! not be zero.

pub(super) mod admission;
mod bounds;
mod link_ends;
mod receiver_window;

use std::collections::BTreeSet;

use polypath_core::time::Duration;

use super::activity::Activity;
use super::flow::Flow;
use super::graph::Graph;
use super::route::{RouteError, Router, Stop};
use super::{Network, Run, Topology};
use crate::check::{Largest, check_form, check_link, check_name, check_tcp, positive};
use crate::path::Link;
use polypath_document::Problems;

/// The nodes and links that a flow may name, and the preset that made them.
#[derive(Clone, Copy)]
struct NodeNames<'a> {
    network: &'a Network,
    graph: &'a Graph,
    preset: Option<&'a Topology>,
}

/// Reports all problems of a network with valid types.
pub(super) fn check(network: &Network, problems: &mut Problems) {
    check_form(network.schema, &network.name, &network.title, problems);
    check_span(network.run, problems);
    check_tcp("tcp", &network.tcp, problems);
    check_links(network, problems);
    let graph = network.graph();
    check_link_names(network, &graph, problems);
    if network.flows.is_empty() {
        problems.report("flow", "there is no flow", "add a `[[flow]]`");
    }
    let mut router = Router::new(&graph);
    let mut names = BTreeSet::new();
    for (index, flow) in network.flows.iter().enumerate() {
        let key = format!("flow.{index}");
        if !names.insert(&flow.name) {
            let message = format!("another flow is called `{}`, too", flow.name);
            problems.report(&format!("{key}.name"), message, "rename one");
        }
        check_flow(&key, network, flow, problems);
        let preset = network.topology.as_ref();
        check_route(
            &key,
            flow,
            NodeNames {
                network,
                graph: &graph,
                preset,
            },
            &mut router,
            problems,
        );
    }
    bounds::check(network, problems);
}

/// Reports problems of the duration of a run.
pub(super) fn check_span(run: Run, problems: &mut Problems) {
    check_run(run, problems);
    bounds::check_run(run, problems);
}

fn check_run(run: Run, problems: &mut Problems) {
    positive("run.duration", run.duration, problems);
    if run.duration > Duration::ZERO && run.warm_up >= run.duration {
        let message = format!("nothing is left of {} to measure", run.duration);
        let keys = ["run.warm_up", "run.duration"];
        let remedy = "make `warm_up` shorter than `duration`: --set 'run.warm_up=0 s'";
        problems.report_among(&keys, message, remedy);
    }
}

fn check_links(network: &Network, problems: &mut Problems) {
    let segment = Largest::segment(network.tcp.segment);
    let packets = [&segment];
    if let Some(topology) = &network.topology {
        for (kind, link) in topology.link_kinds() {
            let key = format!("topology.{kind}");
            check_link(&key, link, &packets, problems);
            check_not_shared(&key, link, problems);
        }
    } else if network.links.is_empty() {
        let remedy = "add a `[topology]` or a `[[link]]`";
        problems.report("link", "there is no link", remedy);
    }
    for (index, edge) in network.links.iter().enumerate() {
        let key = format!("link.{index}");
        check_link(&key, &edge.link, &packets, problems);
        check_name(&format!("{key}.from"), &edge.from, problems);
        check_name(&format!("{key}.to"), &edge.to, problems);
        check_not_shared(&key, &edge.link, problems);
        if edge.from == edge.to {
            let message = format!("the link leads from `{}` to itself", edge.from);
            problems.report(&format!("{key}.to"), message, "name another node");
        }
    }
}

fn check_not_shared(key: &str, link: &Link, problems: &mut Problems) {
    if link.shared {
        let message = "every flow of a network may use a link";
        problems.report(&format!("{key}.shared"), message, "remove `shared`");
    }
}

fn check_link_names(network: &Network, graph: &Graph, problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    let twice = graph.links.iter().find(|link| !seen.insert(&link.name));
    let Some(twice) = twice else { return };
    let base = |name: &str| twice.name.split('.').next() == Some(name);
    let index = network.links.iter().rposition(|edge| base(&edge.name()));
    let key = index.map_or("topology".to_owned(), |index| format!("link.{index}"));
    let message = format!("two links are called `{}`", twice.name);
    problems.report(&key, message, "give one of them another `name`");
}

fn check_flow(key: &str, network: &Network, flow: &Flow, problems: &mut Problems) {
    check_name(&format!("{key}.name"), &flow.name, problems);
    check_activity(key, flow, network.run, problems);
    if flow.traffic.is_tcp() {
        let tcp = flow.tcp.apply(&network.tcp);
        check_tcp(&format!("{key}.tcp"), &tcp, problems);
    } else if !flow.tcp.is_empty() {
        let message = "datagrams have no TCP";
        problems.report(&format!("{key}.tcp"), message, "remove `tcp` from the flow");
    }
    receiver_window::check(key, flow, network.run, problems);
    let traffic = flow.traffic.kind();
    if traffic.routes().is_some() && !flow.via.is_empty() {
        let message = "the traffic has `ways` of its own";
        let remedy = "remove `via`, and list the nodes and links of each route in `ways`";
        problems.report(&format!("{key}.via"), message, remedy);
    }
    traffic.check(&format!("{key}.traffic"), problems);
}

fn check_activity(key: &str, flow: &Flow, run: Run, problems: &mut Problems) {
    let Activity { start, stop, .. } = flow.active;
    if stop.is_some_and(|stop| stop <= start) {
        let message = "the flow stops before it starts";
        problems.report(&format!("{key}.stop"), message, "set it later than `start`");
    }
    let end = run.duration;
    if end > Duration::ZERO && start >= end {
        let message = format!(
            "the run is over at {end}, before flow `{}` starts",
            flow.name
        );
        let keys = [&format!("{key}.start"), "run.duration"];
        problems.report_among(&keys, message, "start the flow earlier");
    }
}

/// Checks the nodes and routes of the flows of each number, and reports the first invalid one.
fn check_route(
    key: &str,
    flow: &Flow,
    nodes: NodeNames<'_>,
    router: &mut Router<'_>,
    problems: &mut Problems,
) {
    let all_stops = (0..flow.different()).flat_map(|number| flow.routes(number).enumerate());
    let mut taken = Vec::new();
    for (route, stops) in all_stops {
        if route == 0 {
            taken.clear();
        }
        let last = stops.len() - 1;
        let key_of = |stop| stop_key(key, flow, route, stop, last);
        let Some(stops) = known_stops(&key_of, &stops, nodes, problems) else {
            return;
        };
        let found = if flow.traffic.needs_return_route() {
            router.round_trip(&stops).map(|trip| trip.there)
        } else {
            router.route(&stops)
        };
        match found {
            Err(error) => return report_route(key, flow, &error, nodes, problems),
            Ok(there) => {
                let first = there.first().map(|&link| &nodes.graph.links[link]);
                let traffic = (flow.traffic.kind(), format!("{key}.traffic"));
                if first.is_some_and(|link| !traffic.0.check_first_link(&traffic.1, link, problems))
                {
                    return;
                }
                if let Some(same) = taken.iter().position(|other| *other == there) {
                    return report_same_links(key, same, route, problems);
                }
                taken.push(there);
            }
        }
    }
}

/// Reports two routes of the flow at `key` over the same links, whose measurements would be mixed.
fn report_same_links(key: &str, first: usize, second: usize, problems: &mut Problems) {
    let message = format!("ways {first} and {second} pass the same links");
    let remedy = "name a link or a node of its own in each: ways = [[\"wifi\"], [\"lte\"]]";
    problems.report(&format!("{key}.traffic.ways.{second}"), message, remedy);
}

/// The stops by number; `None`, with a report, if one is unknown, or both a node and a link.
fn known_stops(
    key_of: &dyn Fn(usize) -> String,
    stops: &[String],
    nodes: NodeNames<'_>,
    problems: &mut Problems,
) -> Option<Vec<Stop>> {
    let graph = nodes.graph;
    let mut known = Vec::new();
    for (index, stop) in stops.iter().enumerate() {
        let is_end = index == 0 || index + 1 == stops.len();
        let found = if is_end {
            graph.find(stop).map(Stop::Node)
        } else {
            graph.stop(stop)
        };
        if found.is_none() {
            report_unknown_stop(&key_of(index), stop, is_end, nodes, problems);
        } else if !is_end && graph.find(stop).is_some() && graph.find_link(stop).is_some() {
            let message = format!("`{stop}` is a node and a link");
            let remedy = "name another stop, or give the link another `name`";
            problems.report(&key_of(index), message, remedy);
            return None;
        }
        known.extend(found);
    }
    (known.len() == stops.len()).then_some(known)
}

/// Flows start and end at nodes; they may also pass links.
fn report_unknown_stop(
    key: &str,
    stop: &str,
    is_end: bool,
    network: NodeNames<'_>,
    problems: &mut Problems,
) {
    if let Some((measure, value)) = network.preset.and_then(|preset| preset.measure_of(stop)) {
        let message = format!("there is no node `{stop}`: `{measure}` is {value}");
        let remedy = format!("raise `{measure}`, or lower the flow's `count`");
        return problems.report(key, message, remedy);
    }
    let graph = network.graph;
    let nodes = graph.nodes.iter().map(String::as_str);
    if is_end {
        return problems.report_unknown(&[key], "node", stop, nodes);
    }
    let links = graph.links.iter().map(|link| link.name.as_str());
    problems.report_unknown(&[key], "node or link", stop, nodes.chain(links));
}

fn report_route(
    key: &str,
    flow: &Flow,
    error: &RouteError,
    nodes: NodeNames<'_>,
    problems: &mut Problems,
) {
    let between = match flow.traffic.kind().routes() {
        Some(_) => "traffic.ways",
        None => "via",
    };
    let has_stops = flow.routes(0).any(|stops| stops.len() > 2);
    let explicit = if has_stops { between } else { "to" };
    let misspelt = link_ends::remedy(nodes.network, nodes.graph, problems);
    let (leaf, remedy) = match error {
        RouteError::Unreachable { .. } => {
            (explicit, misspelt.as_deref().unwrap_or("add a `[[link]]`"))
        }
        RouteError::Loop(_) => (explicit, "name each node once, in the order of the route"),
        RouteError::End(_) => (between, "name nodes and links between `from` and `to`"),
        RouteError::OneWay(_) => (between, "make it duplex, or name another link"),
        RouteError::Nowhere(_) => ("to", "name another node"),
    };
    problems.report(&format!("{key}.{leaf}"), error.to_string(), remedy);
}

/// The key of a stop on a route of a flow: `from`, one between the ends, or `to`.
fn stop_key(key: &str, flow: &Flow, route: usize, stop: usize, last: usize) -> String {
    match (stop, flow.traffic.kind().routes()) {
        (0, _) => format!("{key}.from"),
        (stop, _) if stop == last => format!("{key}.to"),
        (stop, Some(_)) => format!("{key}.traffic.ways.{route}.{}", stop - 1),
        (stop, None) => format!("{key}.via.{}", stop - 1),
    }
}

#[cfg(test)]
mod tests;
