//! The log lines of sessions, with the peer and with relays, and of dropped packets.
//!
//! A wrong key must not look like silence, and a flood must not fill the log: each reason is logged
//! once.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use polypath_core::frame::PathId;
use polypath_session::event::{Reject, SessionEvent};

use crate::config::COMBINING_WINDOW;

/// The other party of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Party {
    /// The peer.
    Peer,
    /// The relay of a path.
    Relay(PathId),
}

/// A rejected datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rejection {
    /// The session that rejected it.
    pub(super) by: Party,
    /// The path on which it arrived.
    pub(super) path: PathId,
    pub(super) reason: Reject,
    pub(super) source: Option<SocketAddr>,
}

/// The log of the sessions, with the events that it has already logged.
#[derive(Debug, Default)]
pub(super) struct SessionLog {
    /// The reasons of rejection that were logged for the peer, and for relays.
    rejected: Vec<(bool, Reject)>,
    /// The parties that were logged as silent.
    silent: BTreeSet<Party>,
}

impl SessionLog {
    /// Logs the first rejection for each reason.
    pub(super) fn rejected(&mut self, rejection: Rejection) {
        let Rejection {
            by, path, reason, ..
        } = rejection;
        let by_relay = by != Party::Peer;
        if self.rejected.contains(&(by_relay, reason)) {
            return;
        }
        self.rejected.push((by_relay, reason));
        let (path, name) = (path.0, reason.name());
        let source = rejection.source.map(tracing::field::display);
        if is_benign(reason) {
            tracing::debug!(
                path,
                reason = name,
                source,
                "a datagram is dropped, which is normal between healthy nodes"
            );
            return;
        }
        let remedy = remedy(reason, by_relay);
        tracing::warn!(
            path,
            reason = name,
            source,
            "a datagram is rejected; further ones are only counted{remedy}"
        );
    }

    /// Logs an event of the session with the peer.
    pub(super) fn peer(&mut self, event: SessionEvent) {
        if self.is_new(Party::Peer, event) {
            log_peer(event);
        }
    }

    /// Logs an event of the session with the relay of the path `id`, called `name`.
    pub(super) fn relay(&mut self, id: PathId, name: Option<&str>, event: SessionEvent) {
        if self.is_new(Party::Relay(id), event) {
            log_relay(name, event);
        }
    }

    /// Whether `event` is to be logged: a silence is logged once, however long it lasts.
    fn is_new(&mut self, party: Party, event: SessionEvent) -> bool {
        match event {
            SessionEvent::Silent => self.silent.insert(party),
            SessionEvent::Established { .. } => {
                self.silent.remove(&party);
                true
            }
            _ => true,
        }
    }
}

/// Logs the first packet that was dropped behind the combining window.
pub(super) fn log_behind_window() {
    tracing::warn!(
        window = COMBINING_WINDOW,
        "a packet is dropped: it arrived behind the window in which copies are recognised. The delays of \
         the paths differ too much for this rate; remove the slowest path from the file (further ones are \
         only counted)"
    );
}

/// Logs that packets were dropped, `count` so far, since they waited for too long.
pub(super) fn log_waited_too_long(count: u64) {
    tracing::warn!(
        count,
        "packets are dropped: applications send faster than the spacing permits. Lower their rate (`polypath \
         advise` prints the one that is permitted), or give the node a fixed spacing or none: the adaptive ones \
         take all losses for congestion"
    );
}

/// Whether healthy nodes cause this rejection, too: handshake messages are sent over all paths,
/// both peers may start a handshake at once, a response may be lost, and a restarted node lacks the
/// old keys.
const fn is_benign(reason: Reject) -> bool {
    matches!(
        reason,
        Reject::HandshakeCopy | Reject::Simultaneous | Reject::UnknownIndex
    )
}

const fn remedy(reason: Reject, by_relay: bool) -> &'static str {
    match reason {
        Reject::WrongKey | Reject::BadMac if by_relay => {
            "; compare `relay.public_key` of this path with what `polypath key --public` prints at the relay, and \
             this node's key with that in the relay's file"
        }
        Reject::WrongKey | Reject::BadMac => "; compare the keys in the files of both nodes",
        Reject::WrongResponse if by_relay => "; it is forged, or was modified in transit",
        Reject::WrongResponse => {
            "; do the files of both nodes name the same `preshared_key_file`, with the same content?"
        }
        Reject::StaleTimestamp => "; is the peer's clock set back?",
        Reject::WrongPath => {
            "; do the files of both nodes list their `[[path]]` tables in the same order?"
        }
        Reject::Throttled | Reject::CookieRequired => "; this node is flooded with handshakes",
        Reject::BehindWindow => {
            "; it arrived behind more than 2048 newer ones of its path: the network delays datagrams, or they \
             are replayed"
        }
        Reject::WrongMark => {
            "; a device on the way marks all datagrams as having met congestion: mend it, or remove the path"
        }
        _ => "",
    }
}

fn log_peer(event: SessionEvent) {
    match event {
        SessionEvent::Established { initiator } => tracing::info!(initiator, "session established"),
        SessionEvent::PeerRestarted => tracing::info!("the peer has restarted"),
        SessionEvent::Expired => {
            tracing::warn!("the session keys expired; packets wait for the peer");
        }
        SessionEvent::Silent => {
            tracing::warn!("the peer does not answer; handshakes are repeated until it does");
        }
        SessionEvent::PathsDiffer { own, peer } => tracing::warn!(
            own,
            peer,
            "the peer has another number of paths: list the same `[[path]]` tables in the same order in the \
             files of both nodes; a path without a counterpart carries nothing"
        ),
        SessionEvent::NoEntropy => tracing::error!("the random source failed"),
        // These occur for every packet that is sent; the statistics count them.
        SessionEvent::Initiated { attempt } => tracing::debug!(attempt, "handshake started"),
        SessionEvent::Discarded => tracing::debug!("a frame is dropped: there is no session"),
        SessionEvent::Rejected { .. } => {}
    }
}

fn log_relay(path: Option<&str>, event: SessionEvent) {
    match event {
        SessionEvent::Established { .. } => {
            tracing::debug!(path, "session with the relay established");
        }
        SessionEvent::PeerRestarted => tracing::debug!(path, "the relay has restarted"),
        SessionEvent::Expired => tracing::warn!(path, "the session keys for the relay expired"),
        SessionEvent::Silent => {
            tracing::warn!(
                path,
                "the relay does not answer; handshakes are repeated until it does"
            );
        }
        SessionEvent::NoEntropy => tracing::error!("the random source failed"),
        SessionEvent::Initiated { attempt } => {
            tracing::debug!(path, attempt, "handshake with the relay started");
        }
        SessionEvent::Discarded => {
            tracing::debug!(
                path,
                "a datagram is dropped: there is no session with the relay"
            );
        }
        SessionEvent::PathsDiffer { .. } | SessionEvent::Rejected { .. } => {}
    }
}
