//! The address of the peer on a path, and the source addresses of datagrams.

use std::net::{IpAddr, SocketAddr};

use crate::datagram::COOKIE_REPLY;

/// Length of an IPv6 address in bytes.
const IP_LEN: usize = 16;
/// Length in bytes of the network of an IPv6 site, whose hosts use any address in it (RFC 6177).
const SITE_LEN: usize = 6;

/// The source of a datagram, which cookies cover: an IPv6 address, or an IPv4 address mapped to one
/// (RFC 4291, section 2.5.5.2), and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source([u8; IP_LEN + 2]);

impl Source {
    /// The source of a datagram that a relay forwarded: the session with the relay authenticates the
    /// sender.
    pub const RELAYED: Self = Self([0; IP_LEN + 2]);

    /// The address and the port.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The network that one sender may have: an IPv4 address, or the first 48 bits of an IPv6
    /// address.
    pub(crate) fn network(&self) -> &[u8] {
        let is_mapped = self.0[..10] == [0; 10] && self.0[10..12] == [0xff; 2];
        let len = if is_mapped { IP_LEN } else { SITE_LEN };
        &self.0[..len]
    }
}

impl From<SocketAddr> for Source {
    fn from(address: SocketAddr) -> Self {
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let mut bytes = [0; IP_LEN + 2];
        bytes[..IP_LEN].copy_from_slice(&ip.octets());
        bytes[IP_LEN..].copy_from_slice(&address.port().to_be_bytes());
        Self(bytes)
    }
}

/// The address of the peer on one path: configured, or learned from its newest datagram.
///
/// A configured address is fixed. Any other is learned, and updated when the peer moves, but only
/// from datagrams that the session has authenticated
/// ([`Output::Authenticated`](crate::tunnel::Output::Authenticated)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress<A> {
    address: Option<A>,
    learns: bool,
}

impl<A: Copy + PartialEq> PeerAddress<A> {
    /// The configured address, or one to be learned if it is absent.
    #[must_use]
    pub const fn configured(address: Option<A>) -> Self {
        Self {
            learns: address.is_none(),
            address,
        }
    }

    /// A learned address, which starts as the current one if that is known.
    #[must_use]
    pub const fn learned(address: Option<A>) -> Self {
        let learns = true;
        Self { address, learns }
    }

    /// The address of the peer, if it is known.
    #[must_use]
    pub const fn get(&self) -> Option<A> {
        self.address
    }

    /// The address of the peer, if it is learned rather than configured.
    #[must_use]
    pub fn if_learned(&self) -> Option<A> {
        self.address.filter(|_| self.learns)
    }

    /// The destination of `reply`, which answers an unauthenticated datagram from `source`: the
    /// configured address, or otherwise the source.
    ///
    /// A cookie goes only to the source that it covers: `None` if another address is configured.
    /// Otherwise anyone could make this node send its peer cookies that the peer cannot use.
    #[must_use]
    pub fn reply_to(&self, source: A, reply: &[u8]) -> Option<A> {
        let configured = self.address.filter(|_| !self.learns);
        let to = configured.unwrap_or(source);
        let is_cookie = reply.first() == Some(&COOKIE_REPLY);
        (to == source || !is_cookie).then_some(to)
    }

    /// Learns the source of an authentic datagram; returns whether the peer's address has changed.
    pub fn update(&mut self, source: A) -> bool {
        let moved = self.learns && self.address != Some(source);
        if moved {
            self.address = Some(source);
        }
        moved
    }
}

/// A host of a test, at an address of its own.
#[cfg(test)]
impl From<u32> for Source {
    fn from(host: u32) -> Self {
        SocketAddr::from((host.to_be_bytes(), 7001)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagram::RESPONSE;

    #[test]
    fn a_source_has_the_network_of_its_address() {
        let source = |text: &str| Source::from(text.parse::<SocketAddr>().unwrap());
        let network = |text| source(text).network().to_vec();
        assert_eq!(network("192.0.2.1:7"), network("192.0.2.1:8"));
        assert_ne!(network("192.0.2.1:7"), network("192.0.2.2:7"));
        assert_eq!(network("[2001:db8::1]:7"), network("[2001:db8::2]:8"));
        assert_eq!(
            network("[2001:db8::1]:7"),
            network("[2001:db8:0:ff::1]:7"),
            "a host of a /56 has 256 networks of 64 bits"
        );
        assert_ne!(network("[2001:db8::1]:7"), network("[2001:db8:1::1]:7"));
        assert_ne!(source("192.0.2.1:7"), source("192.0.2.1:8"));
        assert_eq!(source("192.0.2.1:7"), source("[::ffff:192.0.2.1]:7"));
        assert_eq!(
            source("192.0.2.1:258").as_bytes()[12..],
            [192, 0, 2, 1, 1, 2]
        );
    }

    const RESPONDS: [u8; 1] = [RESPONSE];
    const GIVES_COOKIE: [u8; 1] = [COOKIE_REPLY];

    #[test]
    fn a_learned_address_follows_the_peer() {
        let mut peer = PeerAddress::configured(None);
        assert_eq!(peer.get(), None);
        for reply in [RESPONDS, GIVES_COOKIE] {
            assert_eq!(peer.reply_to(3, &reply), Some(3));
        }
        assert_eq!(peer.get(), None);
        assert!(peer.update(1));
        assert!(!peer.update(1));
        assert!(peer.update(2));
        assert_eq!(peer.get(), Some(2));
        assert_eq!(peer.if_learned(), Some(2));
    }

    #[test]
    fn a_configured_address_is_fixed() {
        let mut peer = PeerAddress::configured(Some(1));
        assert!(!peer.update(2));
        assert_eq!(peer.get(), Some(1));
        assert_eq!(peer.if_learned(), None);
        assert_eq!(peer.reply_to(2, &RESPONDS), Some(1));
        assert_eq!(peer.reply_to(2, &GIVES_COOKIE), None);
        assert_eq!(peer.reply_to(1, &GIVES_COOKIE), Some(1));
    }

    #[test]
    fn a_formerly_configured_address_is_updated() {
        let mut peer = PeerAddress::learned(Some(1));
        assert_eq!(peer.get(), Some(1));
        assert!(!peer.update(1));
        assert!(peer.update(2));
        assert_eq!(peer.get(), Some(2));
    }
}
