//! Ends of links whose name may be misspelt.

use std::collections::BTreeSet;

use polypath_document::{Problems, nearest};

use super::super::Network;
use super::super::graph::Graph;

/// The minimum length of a name that can be recognised as a misspelling, in bytes.
const MIN_LEN: usize = 3;

/// A remedy for a node that a single link names, and no flow, if the name of another node is
/// similar: links that should meet there do not.
pub(super) fn remedy(network: &Network, graph: &Graph, problems: &Problems) -> Option<String> {
    let links = network.links.iter().enumerate();
    let ends: Vec<LinkEnd<'_>> = links
        .flat_map(|(index, edge)| {
            [("from", &edge.from), ("to", &edge.to)].map(|(leaf, name)| LinkEnd {
                key: format!("link.{index}.{leaf}"),
                name,
            })
        })
        .collect();
    let flows = network.flows.iter();
    let routes =
        flows.flat_map(|flow| (0..flow.different()).flat_map(|number| flow.routes(number)));
    let stops: BTreeSet<String> = routes.flatten().collect();
    ends.iter().find_map(|end| {
        let uses = ends.iter().filter(|other| other.name == end.name).count();
        if uses > 1 || stops.contains(end.name) || end.name.len() < MIN_LEN {
            return None;
        }
        let others = graph.nodes.iter().map(String::as_str);
        let meant = nearest(end.name, others.filter(|other| *other != end.name))?;
        let location = |end: &LinkEnd<'_>| problems.locator().location(&end.key);
        let other = ends.iter().find(|other| other.name == meant);
        let other = other.map_or_else(String::new, |other| format!(", as at {}", location(other)));
        let (name, at) = (end.name, location(end));
        Some(format!(
            "no other link has `{name}` of {at}: did you mean `{meant}`{other}?"
        ))
    })
}

/// An end of a link, with its key.
struct LinkEnd<'a> {
    key: String,
    name: &'a str,
}
