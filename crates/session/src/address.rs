//! Where the peer is on a path.

/// The address of the peer on one path: given by the configuration, or that of its newest datagram.
///
/// An address that the configuration gives stays. Any other is learned, and followed where the peer moves, from
/// datagrams that the session says are the peer's own and new
/// ([`Output::Authenticated`](crate::tunnel::Output::Authenticated)); from no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress<A> {
    address: Option<A>,
    learns: bool,
}

impl<A: Copy + PartialEq> PeerAddress<A> {
    /// What the configuration says; without an address it is learned.
    #[must_use]
    pub const fn configured(address: Option<A>) -> Self {
        Self {
            learns: address.is_none(),
            address,
        }
    }

    /// It is learned, beginning with where the peer is now, if that is known.
    #[must_use]
    pub const fn learned(address: Option<A>) -> Self {
        let learns = true;
        Self { address, learns }
    }

    /// Where to send, if that is known.
    #[must_use]
    pub const fn get(&self) -> Option<A> {
        self.address
    }

    /// Where to answer a datagram that came from `source` and does not tell where the peer is.
    #[must_use]
    pub fn reply_to(&self, source: A) -> A {
        if self.learns {
            source
        } else {
            self.address.unwrap_or(source)
        }
    }

    /// Takes the source of an authentic datagram; true where the peer is now at another address than before.
    pub fn update(&mut self, source: A) -> bool {
        let moved = self.learns && self.address != Some(source);
        if moved {
            self.address = Some(source);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_not_configured_follows_the_peer() {
        let mut peer = PeerAddress::configured(None);
        assert_eq!(peer.get(), None);
        assert_eq!(peer.reply_to(3), 3);
        assert_eq!(peer.get(), None);
        assert!(peer.update(1));
        assert!(!peer.update(1));
        assert!(peer.update(2));
        assert_eq!(peer.get(), Some(2));
    }

    #[test]
    fn a_configured_address_stays() {
        let mut peer = PeerAddress::configured(Some(1));
        assert!(!peer.update(2));
        assert_eq!(peer.get(), Some(1));
        assert_eq!(peer.reply_to(2), 1);
    }

    #[test]
    fn an_address_that_is_configured_no_more_is_followed_from_where_it_was() {
        let mut peer = PeerAddress::learned(Some(1));
        assert_eq!(peer.get(), Some(1));
        assert!(!peer.update(1));
        assert!(peer.update(2));
        assert_eq!(peer.get(), Some(2));
    }
}
