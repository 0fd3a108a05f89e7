//! The destination of each host, so that every link between inner nodes carries an equal load.
//!
//! In each direction every link between inner nodes carries the flows of `hosts` sources. The hosts
//! of an outermost node all send in the only possible direction. At every other node as many flows
//! end as begin: half of its hosts send in one direction and half in the other, and of the arriving
//! flows the same number ends there. These are spread evenly over the nodes from which they come,
//! or they are those from the nearest or the farthest nodes. Spread evenly, 4 nodes of 20 hosts
//! have 10 flows from node 1 to 2, 5 each from 1 to 3, 1 to 4, 2 to 3 and 2 to 4, 10 from 3 to 4,
//! and the same in the other direction.

use polypath_scenario::Destinations;

/// A host, by its node and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HostId {
    /// Inner node, from 0 on the server's side.
    pub(crate) node: usize,
    /// Number at the node, from 0.
    pub(crate) number: usize,
}

/// The destination of a host's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) from: HostId,
    pub(crate) to: HostId,
}

/// One flow for every host at each of `nodes` (at least 2) inner nodes.
pub(crate) fn flows(nodes: usize, hosts: usize, which: Destinations) -> Vec<Flow> {
    let mut flows = directed(nodes, hosts, which, |node| node);
    flows.extend(directed(nodes, hosts, which, |node| nodes - 1 - node));
    flows.sort_by_key(|flow| flow.from);
    flows
}

/// The flows in the direction in which `place` numbers the nodes.
fn directed(
    nodes: usize,
    hosts: usize,
    which: Destinations,
    place: impl Fn(usize) -> usize,
) -> Vec<Flow> {
    let mut flows = Vec::new();
    let mut under_way: Vec<HostId> = Vec::new();
    for step in 0..nodes {
        let node = place(step);
        let last = step + 1 == nodes;
        // An odd host goes towards the client at even nodes and towards the server at odd ones.
        let odd = usize::from(!hosts.is_multiple_of(2) && node.is_multiple_of(2));
        let toward_client = hosts / 2 + odd;
        let joining = match (step, place(0)) {
            _ if last => 0..0,
            (0, _) => 0..hosts,
            (_, 0) => 0..toward_client,
            _ => toward_client..hosts,
        };
        let leaving = if last { under_way.len() } else { joining.len() };
        for (number, from) in take(&mut under_way, leaving, which).into_iter().enumerate() {
            let number = number % hosts;
            let to = HostId { node, number };
            flows.push(Flow { from, to });
        }
        under_way.extend(joining.map(|number| HostId { node, number }));
    }
    flows
}

/// Selects `count` of the hosts, which are in the order of their nodes, or all if there are fewer.
fn take(hosts: &mut Vec<HostId>, count: usize, which: Destinations) -> Vec<HostId> {
    let count = count.min(hosts.len());
    match which {
        Destinations::Spread => take_spread(hosts, count),
        Destinations::Nearest => hosts.split_off(hosts.len() - count),
        Destinations::Farthest => hosts.drain(..count).collect(),
    }
}

/// Selects `count` of the hosts, evenly spread over the list, or all if there are fewer.
fn take_spread(hosts: &mut Vec<HostId>, count: usize) -> Vec<HostId> {
    let (total, mut index) = (hosts.len(), 0);
    let mut taken = Vec::new();
    hosts.retain(|&host| {
        let stays = index * count / total.max(1) == (index + 1) * count / total.max(1);
        index += 1;
        if !stays {
            taken.push(host);
        }
        stays
    });
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn between(flows: &[Flow], from: usize, to: usize) -> usize {
        let here = |f: &&Flow| f.from.node == from && f.to.node == to;
        flows.iter().filter(here).count()
    }

    fn are_between(which: Destinations, expected: &[(usize, usize, usize)]) {
        let flows = flows(4, 20, which);
        let count: usize = expected.iter().map(|(_, _, count)| count).sum();
        assert_eq!(flows.len(), 2 * count, "no others");
        for (a, b, count) in expected.iter().copied() {
            assert_eq!(between(&flows, a, b), count, "{a} to {b}");
            assert_eq!(between(&flows, 3 - a, 3 - b), count, "mirror of {a} to {b}");
        }
    }

    #[test]
    fn four_nodes_of_twenty_hosts_are_those_of_the_reference() {
        let reference = [
            (0, 1, 10),
            (0, 2, 5),
            (0, 3, 5),
            (1, 2, 5),
            (1, 3, 5),
            (2, 3, 10),
        ];
        are_between(Destinations::Spread, &reference);
    }

    #[test]
    fn flows_from_near_or_from_far_end_first() {
        let nearest = [(0, 1, 10), (0, 3, 10), (1, 2, 10), (2, 3, 10)];
        are_between(Destinations::Nearest, &nearest);
        let farthest = [(0, 1, 10), (0, 2, 10), (1, 3, 10), (2, 3, 10)];
        are_between(Destinations::Farthest, &farthest);
    }

    proptest! {
        #[test]
        fn every_link_carries_the_flows_of_one_node(
            nodes in 2_usize..9, hosts in 1_usize..30, which in 0_usize..3,
        ) {
            let all = [Destinations::Spread, Destinations::Nearest, Destinations::Farthest];
            let flows = flows(nodes, hosts, all[which]);
            prop_assert_eq!(flows.len(), nodes * hosts);
            for link in 0..nodes - 1 {
                let up = flows.iter().filter(|f| f.from.node <= link && f.to.node > link).count();
                let down = flows.iter().filter(|f| f.from.node > link && f.to.node <= link).count();
                prop_assert_eq!((up, down), (hosts, hosts));
            }
            for flow in &flows {
                prop_assert!(flow.from.node != flow.to.node && flow.to.number < hosts);
            }
        }
    }
}
