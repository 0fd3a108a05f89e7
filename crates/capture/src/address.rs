//! Addresses of nodes and ports of flows.

use std::collections::BTreeMap;

use polypath_scenario::network::{Flow, Graph};

/// The first dynamic port (RFC 6335, 6).
const FIRST_PORT: u16 = 49152;
/// Ports above it that tshark associates with a protocol: Elasticsearch, IRC, `SSyncP`.
const TAKEN: [u16; 3] = [54328, 57000, 60001];
/// The number of other ports for senders, and after them for receivers: a connection cannot have
/// the addresses and ports of one in the opposite direction.
const SOURCE_PORTS: u32 = 8191;
const SINK_PORTS: u32 = 16384 - 3 - SOURCE_PORTS;
/// 10.0.0.0, a private range (RFC 1918, 3).
const FIRST_ADDRESS: u32 = 10 << 24;
/// All but the first and the last address of 10.0.0.0/8.
const MAX_NODES: usize = (1 << 24) - 2;

/// The flows cannot have unique addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// More nodes than 10.0.0.0/8 has addresses.
    #[error("{0} nodes are more than a capture has addresses for, {MAX_NODES}")]
    TooManyNodes(usize),
    /// More flows between two nodes than there are ports.
    #[error("more than {SINK_PORTS} flows between `{0}` and `{1}` exceed the available ports")]
    TooManyFlows(String, String),
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) address: [u8; 4],
    pub(crate) port: u16,
}

/// The source and destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Direction {
    pub(crate) from: End,
    pub(crate) to: End,
}

/// The ends of a flow, whose connections follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    source: [u8; 4],
    sink: End,
}

impl Ends {
    /// The end of the sender, for a connection, numbered from 1; 1 for datagrams.
    pub(crate) fn source(&self, connection: u32) -> End {
        End {
            address: self.source,
            port: port(connection.wrapping_sub(1) % SOURCE_PORTS),
        }
    }

    /// The end of the receiver.
    pub(crate) const fn sink(&self) -> End {
        self.sink
    }
}

/// Assigns addresses and ports to flows, in their order.
pub(crate) struct Addresses<'a> {
    graph: &'a Graph,
    flows_between: BTreeMap<(usize, usize), u32>,
}

impl<'a> Addresses<'a> {
    pub(crate) fn new(graph: &'a Graph) -> Result<Self, AddressError> {
        if graph.nodes.len() > MAX_NODES {
            return Err(AddressError::TooManyNodes(graph.nodes.len()));
        }
        Ok(Self {
            graph,
            flows_between: BTreeMap::new(),
        })
    }

    /// The ends of flow `number` of `flow`; `None` if one of its nodes does not exist.
    pub(crate) fn ends(&mut self, flow: &Flow, number: u32) -> Option<Result<Ends, AddressError>> {
        let from = self.graph.find(&Flow::node(&flow.from, number))?;
        let to = self.graph.find(&Flow::node(&flow.to, number))?;
        let pair = (from.min(to), from.max(to));
        let count = self.flows_between.entry(pair).or_default();
        if *count == SINK_PORTS {
            let [from, to] = [from, to].map(|node| self.graph.nodes[node].clone());
            return Some(Err(AddressError::TooManyFlows(from, to)));
        }
        let sink = End {
            address: address(to),
            port: port(SOURCE_PORTS + *count),
        };
        *count += 1;
        let source = address(from);
        Some(Ok(Ends { source, sink }))
    }
}

fn address(node: usize) -> [u8; 4] {
    let node = u32::try_from(node).unwrap_or(u32::MAX);
    FIRST_ADDRESS.saturating_add(node + 1).to_be_bytes()
}

fn port(number: u32) -> u16 {
    let port = FIRST_PORT + u16::try_from(number).unwrap_or_default();
    TAKEN
        .iter()
        .fold(port, |port, taken| port + u16::from(port >= *taken))
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_scenario::Network;

    fn network(flows: &str) -> Network {
        let text = format!(
            "schema = 1\nname = \"x\"\nrun = {{ duration = \"1 s\" }}\n[[link]]\nfrom = \"a\"\nto = \"b\"\n\
             rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"9 packets\"\n{flows}"
        );
        Network::parse(&text, "x.toml", &[]).expect("it is valid")
    }

    fn flow(name: &str, from: &str, to: &str, count: u32) -> String {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\ncount = {count}\n\
             traffic = {{ kind = \"ftp\" }}\n"
        )
    }

    #[test]
    fn no_two_connections_share_addresses_and_ports_whatever_their_direction() {
        let network = network(&(flow("x", "a", "b", 2) + &flow("y", "b", "a", 2)));
        let graph = network.graph();
        let mut addresses = Addresses::new(&graph).expect("few nodes");
        let mut seen = std::collections::BTreeSet::new();
        for flow in &network.flows {
            for number in 0..flow.count {
                let ends = addresses.ends(flow, number).expect("nodes").expect("ports");
                let sink = ends.sink();
                for connection in 1..=SOURCE_PORTS {
                    let source = ends.source(connection);
                    assert_ne!(source.address, sink.address);
                    let mut pair = [source, sink].map(|end| (end.address, end.port));
                    pair.sort_unstable();
                    assert!(seen.insert(pair), "{pair:?} of {number}, {connection}");
                }
                assert_eq!(ends.source(1), ends.source(1 + SOURCE_PORTS));
            }
        }
    }

    #[test]
    fn every_port_is_given_once_and_none_that_is_taken() {
        let given: Vec<u16> = (0..SOURCE_PORTS + SINK_PORTS).map(port).collect();
        assert_eq!(given.len() + TAKEN.len(), 16384);
        assert!(given.is_sorted_by(|a, b| a < b));
        assert_eq!((given[0], given.last()), (FIRST_PORT, Some(&u16::MAX)));
        assert!(TAKEN.iter().all(|taken| !given.contains(taken)));
    }

    #[test]
    fn more_flows_than_ports_are_refused() {
        let network = network(&flow("x", "a", "b", SINK_PORTS + 1));
        let graph = network.graph();
        let mut addresses = Addresses::new(&graph).expect("few nodes");
        let mut ends = (0..=SINK_PORTS).map(|number| addresses.ends(&network.flows[0], number));
        let refused = ends.find(|ends| !matches!(ends, Some(Ok(_)))).flatten();
        let error = AddressError::TooManyFlows("a".into(), "b".into());
        assert_eq!(refused, Some(Err(error)));
    }
}
