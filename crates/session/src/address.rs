//! The address of the peer on a path.

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

    /// The destination of a reply to an unauthenticated datagram from `source`.
    #[must_use]
    pub fn reply_to(&self, source: A) -> A {
        if self.learns {
            source
        } else {
            self.address.unwrap_or(source)
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_learned_address_follows_the_peer() {
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
    fn a_configured_address_is_fixed() {
        let mut peer = PeerAddress::configured(Some(1));
        assert!(!peer.update(2));
        assert_eq!(peer.get(), Some(1));
        assert_eq!(peer.reply_to(2), 1);
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
