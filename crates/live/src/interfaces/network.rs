//! Interfaces, their addresses and routes, as plain data.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

/// The state of a network namespace at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) links: Vec<Link>,
    pub(crate) addresses: Vec<Address>,
    /// The routes to the targets that were asked for.
    pub(crate) routes: Vec<Route>,
}

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    /// Its index, which is not reused soon.
    pub(crate) index: u32,
    pub(crate) name: String,
    /// Its alias (`ip link set DEV alias TEXT`).
    pub(crate) alias: String,
    /// Whether it can send: it is up and has a carrier.
    pub(crate) is_up: bool,
    /// Its MTU in bytes; 0 if unknown.
    pub(crate) mtu: u32,
    pub(crate) is_loopback: bool,
}

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// The index of the interface.
    pub(crate) link: u32,
    pub(crate) ip: IpAddr,
    /// Whether its scope is global or site.
    pub(crate) is_routable: bool,
    /// Whether it is secondary or temporary.
    pub(crate) is_secondary: bool,
    /// Whether it is deprecated for new communication (RFC 4862, section 5.5.4), as after
    /// renumbering.
    pub(crate) is_deprecated: bool,
}

/// A unicast route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The index of the outgoing interface.
    pub(crate) link: u32,
    pub(crate) destination: IpNet,
    /// Its metric; lower is better.
    pub(crate) metric: u32,
}

impl Network {
    /// The interface `name`.
    pub(crate) fn link(&self, name: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.name == name)
    }

    /// Whether an interface has the address.
    pub(crate) fn has(&self, ip: IpAddr) -> bool {
        self.addresses.iter().any(|address| address.ip == ip)
    }

    /// The MTU in bytes of the interface `name`, or else of the interface that has `address`, if it
    /// is known.
    pub(crate) fn mtu(&self, name: Option<&str>, address: IpAddr) -> Option<u32> {
        let owner = || self.addresses.iter().find(|own| own.ip == address);
        let link = if let Some(name) = name {
            self.link(name)?
        } else {
            let index = owner()?.link;
            self.links.iter().find(|link| link.index == index)?
        };
        Some(link.mtu).filter(|mtu| *mtu > 0)
    }

    /// The names of all interfaces, for a message.
    pub(crate) fn names(&self) -> String {
        let names: BTreeSet<&str> = self.links.iter().map(|link| &*link.name).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }
}
