//! Nodes and links by name.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::route::Stop;
use crate::path::Link;

/// A link between two named nodes; naming a node creates it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Edge {
    /// The node at its start.
    pub from: String,
    /// The node at its end.
    pub to: String,
    /// Whether it has one direction only; otherwise there is an equal reverse link, called
    /// `NAME/back`.
    #[serde(default)]
    pub simplex: bool,
    /// Its parameters; the default name is `FROM-TO`.
    #[serde(flatten)]
    pub link: Link,
}

/// Directed links between numbered nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The names of the nodes, by their numbers.
    pub nodes: Vec<String>,
    /// The links, by their numbers.
    pub links: Vec<GraphLink>,
    numbers: BTreeMap<String, usize>,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphLink {
    /// The name.
    pub name: String,
    /// The number of the node at its start.
    pub from: usize,
    /// The number of the node at its end.
    pub to: usize,
    /// Its parameters.
    pub link: Link,
}

impl Graph {
    /// The number of the node `name`, which is added if it does not exist.
    pub(super) fn node(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        self.nodes.push(name.to_owned());
        let number = self.nodes.len() - 1;
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The number of the node `name`, if it exists.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The number of the link `name`, if it exists.
    #[must_use]
    pub fn find_link(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|link| link.name == name)
    }

    /// The node of this name, or else the link, if either exists.
    #[must_use]
    pub fn stop(&self, name: &str) -> Option<Stop> {
        let node = self.find(name).map(Stop::Node);
        node.or_else(|| self.find_link(name).map(Stop::Link))
    }

    /// The number of the reverse direction of a link, unless it is simplex.
    #[must_use]
    pub fn opposite(&self, link: usize) -> Option<usize> {
        // Both directions of a link stand side by side, and their names are those of no others.
        let name = &self.links[link].name;
        let is = |number: usize, name: &str| {
            let found = self.links.get(number);
            found.is_some_and(|link| link.name == name)
        };
        match name.strip_suffix("/back") {
            Some(forward) => link.checked_sub(1).filter(|number| is(*number, forward)),
            None => Some(link + 1).filter(|number| is(*number, &format!("{name}/back"))),
        }
    }

    /// Adds a link and, unless it is simplex, the reverse one; repeated links form a chain with the
    /// nodes `NAME.1`, `NAME.2`, ... between them.
    pub(super) fn connect(&mut self, from: &str, to: &str, simplex: bool, name: &str, link: &Link) {
        let mut last = self.node(from);
        for number in 1..=link.repeat {
            let next = if number == link.repeat {
                self.node(to)
            } else {
                self.node(&format!("{name}.{number}"))
            };
            let name = match link.repeat {
                1 => name.to_owned(),
                _ => format!("{name}.{}", number - 1),
            };
            let back = (!simplex).then(|| format!("{name}/back"));
            self.add(last, next, name, link.clone());
            if let Some(name) = back {
                self.add(next, last, name, link.reversed());
            }
            last = next;
        }
    }

    fn add(&mut self, from: usize, to: usize, name: String, link: Link) {
        self.links.push(GraphLink {
            name,
            from,
            to,
            link: Link { repeat: 1, ..link },
        });
    }
}

impl Edge {
    /// The name: the given one, or `FROM-TO`.
    #[must_use]
    pub fn name(&self) -> String {
        if self.link.has_name() {
            return self.link.name.clone();
        }
        format!("{}-{}", self.from, self.to)
    }

    pub(super) fn add_to(&self, graph: &mut Graph) {
        graph.connect(&self.from, &self.to, self.simplex, &self.name(), &self.link);
    }
}
