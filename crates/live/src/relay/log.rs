//! The log lines of a relay's path.
//!
//! Each reason for dropping a datagram is logged once, so that a flood does not fill the log.

use std::net::SocketAddr;

use polypath_session::event::{Reject, SessionEvent};
use polypath_session::relay::{RelayEvent, Side, Undelivered};

/// The names in log lines, and the lines that were logged already.
pub(super) struct RelayLog {
    path: String,
    nodes: [String; 2],
    rejected: Vec<Reject>,
    undelivered: Vec<(Side, Undelivered)>,
}

impl RelayLog {
    /// The log of a path between two nodes.
    pub(super) fn new(path: String, nodes: [String; 2]) -> Self {
        Self {
            path,
            nodes,
            rejected: Vec::new(),
            undelivered: Vec::new(),
        }
    }

    /// The name of the path.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The name of a node.
    pub(super) fn node(&self, side: Side) -> &str {
        &self.nodes[side.index()]
    }

    /// Logs `event`, caused by a datagram from `source` if by one.
    pub(super) fn event(&mut self, event: RelayEvent<SocketAddr>, source: Option<SocketAddr>) {
        let path = &self.path;
        match event {
            RelayEvent::Located { side, at } => {
                let node = self.node(side);
                tracing::info!(path, node, address = %at, "the address of the node is known");
            }
            RelayEvent::Undelivered { side, reason, .. } => self.undelivered(side, reason),
            RelayEvent::Session { side, event } => self.session(side, event, source),
            RelayEvent::Rejected(reason) => self.rejected(None, reason, source),
            RelayEvent::NoEntropy => tracing::error!("the random source failed"),
        }
    }

    fn session(&mut self, side: Side, event: SessionEvent, source: Option<SocketAddr>) {
        let (path, node) = (&self.path, self.node(side));
        match event {
            SessionEvent::Established { .. } => tracing::info!(path, node, "session established"),
            SessionEvent::Silent => {
                // Datagrams that are dropped because of this silence are logged again.
                self.undelivered.retain(|(from, reason)| {
                    *from != side.other() || *reason != Undelivered::Silent
                });
                let (path, node) = (&self.path, self.node(side));
                tracing::warn!(
                    path,
                    node,
                    "the node does not answer; nothing is forwarded to it until it sends again"
                );
            }
            SessionEvent::Expired => {
                tracing::info!(path, node, "the session keys expired: the node is gone");
            }
            SessionEvent::NoEntropy => tracing::error!("the random source failed"),
            SessionEvent::Rejected { reason, .. } => self.rejected(Some(side), reason, source),
            SessionEvent::PeerRestarted
            | SessionEvent::Initiated { .. }
            | SessionEvent::Discarded
            | SessionEvent::PathsDiffer { .. } => {}
        }
    }

    /// Logs the first datagram of a node that is not forwarded, for each reason.
    fn undelivered(&mut self, side: Side, reason: Undelivered) {
        if self.undelivered.contains(&(side, reason)) {
            return;
        }
        self.undelivered.push((side, reason));
        let (path, node) = (&self.path, self.node(side));
        let cause = match reason {
            Undelivered::NoSession => "there is no session with the other node",
            Undelivered::Silent => "the other node does not answer",
            Undelivered::Rate => "the node exceeds its `rate`",
        };
        let reason = reason.name();
        tracing::warn!(
            path,
            node,
            reason,
            "a datagram is not forwarded: {cause}; further ones are only counted"
        );
    }

    /// Logs the first rejected datagram for each reason.
    fn rejected(&mut self, side: Option<Side>, reason: Reject, source: Option<SocketAddr>) {
        if self.rejected.contains(&reason) {
            return;
        }
        self.rejected.push(reason);
        let path = &self.path;
        let node = side.map(|side| self.node(side));
        let source = source.map(tracing::field::display);
        let remedy = remedy(reason);
        let is_benign = matches!(reason, Reject::UnknownIndex | Reject::HandshakeCopy);
        let reason = reason.name();
        // A relay that restarted lacks the old keys.
        if is_benign {
            return tracing::debug!(path, node, reason, "a datagram is dropped");
        }
        tracing::warn!(
            path,
            node,
            reason,
            source,
            "a datagram is rejected; further ones are only counted{remedy}"
        );
    }
}

const fn remedy(reason: Reject) -> &'static str {
    match reason {
        Reject::WrongKey => {
            "; its sender's key is not among the `nodes` of this path: compare their `public_key` with what \
             `polypath key --public` prints at the node"
        }
        Reject::BadMac => {
            "; it is for another relay's key, or not from a node: compare `relay.public_key` of the path in the \
             node's file with what `polypath key --public` prints here"
        }
        Reject::StaleTimestamp => "; is the node's clock set back?",
        Reject::Throttled | Reject::CookieRequired => "; the relay is flooded with handshakes",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_key_is_logged_with_the_keys_to_compare() {
        assert!(remedy(Reject::WrongKey).contains("`public_key`"));
        assert!(remedy(Reject::BadMac).contains("`relay.public_key`"));
        for reason in [Reject::WrongKey, Reject::BadMac] {
            assert!(remedy(reason).contains("`polypath key --public`"));
        }
    }
}
