//! What the kernel has of interfaces, their addresses and the routes over them, as plain data.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::tun::Prefix;

/// What there is at one time in a network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) links: Vec<Link>,
    pub(crate) addresses: Vec<Address>,
    /// Only those that were asked for.
    pub(crate) routes: Vec<Route>,
}

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    /// Its number, which no other interface has, nor had lately.
    pub(crate) index: u32,
    pub(crate) name: String,
    /// What somebody noted beside its name (`ip link set DEV alias TEXT`).
    pub(crate) alias: String,
    /// Whether packets can leave by it: it is up, and has a carrier.
    pub(crate) is_up: bool,
    /// The longest IP packet that it lets through, in bytes; 0 where it was not said.
    pub(crate) mtu: u32,
    pub(crate) is_loopback: bool,
}

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// The number of the interface.
    pub(crate) link: u32,
    pub(crate) ip: IpAddr,
    /// Whether it means the same beyond its link: its scope is global or site.
    pub(crate) is_wide: bool,
    /// Whether others are to be taken rather: it is secondary or temporary.
    pub(crate) is_second_choice: bool,
    /// Whether nothing new is to begin with it (RFC 4862, section 5.5.4): what it belongs to may have gone already.
    pub(crate) is_deprecated: bool,
}

/// A route for unicast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The number of the interface that it goes by.
    pub(crate) link: u32,
    /// Where it leads to.
    pub(crate) destination: Prefix,
    /// The lower, the better.
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

    /// The MTU in bytes of the interface `name`, or of the one that has `address`; nothing if there is none.
    pub(crate) fn mtu(&self, name: Option<&str>, address: IpAddr) -> Option<u32> {
        let has_it = || self.addresses.iter().find(|own| own.ip == address);
        let link = if let Some(name) = name {
            self.link(name)?
        } else {
            let index = has_it()?.link;
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
