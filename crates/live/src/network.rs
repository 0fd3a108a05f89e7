//! What the kernel has of interfaces, their addresses and the routes over them, as plain data.

use std::collections::BTreeSet;
use std::net::IpAddr;

pub(crate) mod netlink;

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
    /// Whether others are to be taken rather: it is secondary or temporary, or deprecated (RFC 4862, section 5.5.4).
    pub(crate) is_second_choice: bool,
}

/// A route for unicast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The number of the interface that it goes by.
    pub(crate) link: u32,
    /// Where it leads to, and how many bits of that count.
    pub(crate) destination: (IpAddr, u8),
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

impl Route {
    /// Whether it leads to `ip`, among others.
    pub(crate) fn covers(&self, ip: IpAddr) -> bool {
        let bits = |ip| match ip {
            IpAddr::V4(ip) => (u128::from(ip.to_bits()) << 96, 32),
            IpAddr::V6(ip) => (ip.to_bits(), 128),
        };
        let (destination, len) = self.destination;
        let ((own, own_len), (other, other_len)) = (bits(destination), bits(ip));
        // A shift by all bits is none, as a default route wants it.
        let differ = (own ^ other).checked_shr(128 - u32::from(len));
        own_len == other_len && (len == 0 || differ == Some(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_covers_what_has_its_prefix() {
        let covers = |destination: &str, len, ip: &str| {
            let destination = (destination.parse().unwrap(), len);
            let (link, metric) = (1, 0);
            let route = Route {
                link,
                destination,
                metric,
            };
            route.covers(ip.parse().unwrap())
        };
        assert!(covers("0.0.0.0", 0, "192.0.2.1"));
        assert!(!covers("0.0.0.0", 0, "2001:db8::1"));
        assert!(covers("::", 0, "2001:db8::1"));
        assert!(!covers("::", 0, "192.0.2.1"));
        assert!(covers("192.0.2.0", 25, "192.0.2.127"));
        assert!(!covers("192.0.2.0", 25, "192.0.2.128"));
        assert!(covers("192.0.2.1", 32, "192.0.2.1"));
        assert!(!covers("192.0.2.1", 32, "192.0.2.0"));
        assert!(covers("2001:db8::1", 128, "2001:db8::1"));
        assert!(!covers("2001:db8::1", 128, "2001:db8::"));
    }
}
