//! The background hosts of a path.

use polypath_scenario::{Path, Profile, Tcp};

use super::destinations::{HostId, flows};
use super::graph::RouteLinks;
use super::{BuildError, Chain, NetworkBuilder, convert};
use crate::agents::datagrams::{DatagramSource, OnOff, Pattern};
use crate::agents::tcp::{Sessions, TcpSource};
use crate::tcp::TcpConfig;
use crate::world::LinkName;
use polypath_core::time::Time;

/// The links of the hosts of a path to and from the network, by node and number.
struct HostLinks {
    hosts: usize,
    links: Vec<(u32, u32)>,
}

impl NetworkBuilder {
    /// Attaches the hosts of a profile to the inner nodes of `path`, with idle
    /// sources; those that send towards the server use `profile_back`.
    pub(super) fn add_background(
        &mut self,
        tcp: &Tcp,
        path: &Path,
        profile: &Profile,
        profile_back: &Profile,
        chain: &Chain,
    ) -> Result<(), BuildError> {
        let nodes = path.hops().saturating_sub(1);
        if nodes < 2 {
            return Err(BuildError::TooFewLinks(path.name.clone()));
        }
        let host_links = self.add_host_links(path, profile, nodes, chain)?;
        for flow in flows(nodes, host_links.hosts, profile.destinations) {
            let to_client = flow.from.node < flow.to.node;
            let profile = if to_client { profile } else { profile_back };
            let there = chain.route(&host_links, flow.from, flow.to);
            let name = host_name(path, flow.from);
            let back = chain.route(&host_links, flow.to, flow.from);
            let links = RouteLinks {
                there: there.clone(),
                back,
            };
            self.add_tcp(tcp, profile, &name, links);
            self.add_udp(profile, &name, there);
        }
        Ok(())
    }

    fn add_host_links(
        &mut self,
        path: &Path,
        profile: &Profile,
        nodes: usize,
        chain: &Chain,
    ) -> Result<HostLinks, BuildError> {
        let config = profile.host_link.config();
        let hosts = profile.hosts as usize;
        let mut links = Vec::new();
        for node in 0..nodes {
            for number in 0..hosts {
                let name = LinkName {
                    name: host_name(path, HostId { node, number }),
                    path: Some(chain.path),
                    towards: None,
                    inner: false,
                };
                let there = self.add_link(&config, name.clone())?;
                links.push((there, self.add_link(&config, name)?));
            }
        }
        Ok(HostLinks { hosts, links })
    }

    fn add_tcp(&mut self, hosts: &Tcp, profile: &Profile, name: &str, links: RouteLinks) {
        let Some(source) = &profile.tcp else { return };
        let tcp = TcpConfig::from(hosts);
        let config = convert::sessions(source, hosts);
        let name = format!("{name}/tcp");
        let sessions = Sessions::new(config, self.seed.stream(&name), Time::ZERO);
        let source = TcpSource::Sessions(Box::new(sessions));
        self.add_tcp_flow(name, source, tcp, links);
    }

    fn add_udp(&mut self, profile: &Profile, name: &str, there: Vec<u32>) {
        let Some(source) = &profile.udp else { return };
        let name = format!("{name}/udp");
        let bursts = OnOff::new(convert::datagrams(source), self.seed.stream(&name));
        let size = u32::try_from(source.packet.0).unwrap_or(u32::MAX);
        let source = DatagramSource::new(Pattern::OnOff(bursts), size, Time::ZERO, Time::MAX);
        self.add_datagram_flow(name, source, there);
    }
}

impl Chain {
    /// The links from one background host to another.
    fn route(&self, hosts: &HostLinks, from: HostId, to: HostId) -> Vec<u32> {
        // Link i of a path lies between nodes vi and v(i+1); inner node n of the hosts is v(n+1).
        let (first, last) = (from.node.min(to.node) + 1, from.node.max(to.node));
        let mut links = vec![hosts.of(from).0];
        if from.node < to.node {
            links.extend(&self.to_client[first..=last]);
        } else {
            links.extend(self.to_server[first..=last].iter().rev());
        }
        links.push(hosts.of(to).1);
        links
    }
}

impl HostLinks {
    fn of(&self, host: HostId) -> (u32, u32) {
        self.links[host.node * self.hosts + host.number]
    }
}

fn host_name(path: &Path, host: HostId) -> String {
    format!("{}/n{}/host{}", path.name, host.node + 1, host.number)
}
