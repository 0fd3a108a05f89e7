//! The descriptors of a node: where its machines' outputs go, and what was counted there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use polypath_core::event::{DropReason, Event};
use polypath_core::frame::PathId;
use polypath_core::time::Time;
use polypath_session::event::{Reject, SessionEvent};
use polypath_session::tunnel::Output;

use super::driver::MachineIo;
use super::events::EventFile;
use super::icmp::PacketTooBigSender;
use super::inbox::Arrival;
use super::paths::Paths;
use crate::config::COMBINING_WINDOW;
use crate::tun::batch::Packets;

/// The TUN device and the sockets.
pub(super) struct NodeIo {
    pub(super) tun: Packets,
    pub(super) paths: Paths,
    pub(super) events: Option<EventFile>,
    /// Packets that the endpoint dropped.
    pub(super) dropped: BTreeMap<DropReason, u64>,
    senders: PacketTooBigSender,
    /// Packets that were read in one call and are not yet taken.
    packets: VecDeque<Bytes>,
    /// The reasons of rejection that the log has already.
    told: Vec<(Party, Reject)>,
    /// Of whom it has that they do not answer: the relay of a path, or the peer.
    silent: BTreeSet<Option<PathId>>,
}

/// When and from where what a tunnel says comes about.
#[derive(Clone, Copy)]
pub(super) struct OutputContext {
    pub(super) at: Time,
    /// The source of the datagram that the tunnel took, if it took one.
    pub(super) source: Option<SocketAddr>,
}

impl NodeIo {
    pub(super) fn new(tun: Packets, paths: Paths, events: Option<EventFile>) -> Self {
        Self {
            packets: VecDeque::new(),
            tun,
            paths,
            events,
            dropped: BTreeMap::new(),
            senders: PacketTooBigSender::default(),
            told: Vec::new(),
            silent: BTreeSet::new(),
        }
    }

    /// Writes the last events; fails where that failed, now or before.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.events.as_mut().map_or(Ok(()), EventFile::finish)
    }

    /// The next packet of an application, if one waits.
    pub(super) fn next_packet(&mut self) -> io::Result<Option<Bytes>> {
        if self.packets.is_empty() {
            self.tun.read(&mut self.packets)?;
        }
        Ok(self.packets.pop_front())
    }

    /// Whether packets were read and are not yet taken.
    pub(super) fn has_packets(&self) -> bool {
        !self.packets.is_empty()
    }

    /// Hands on all packets and datagrams that wait for others to follow them.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.paths.flush();
        self.tun.flush()
    }

    /// Counts a datagram that is rejected, and logs the first for each reason: a wrong key must not look like silence,
    /// and a flood must not fill the log.
    fn tell_rejected(
        &mut self,
        of: Party,
        path: PathId,
        reason: Reject,
        source: Option<SocketAddr>,
    ) {
        if let Some(source) = source {
            self.paths.reject(path, source, reason);
        }
        if self.told.contains(&(of, reason)) {
            return;
        }
        self.told.push((of, reason));
        let remedy = match reason {
            Reject::WrongKey | Reject::BadMac if of == Party::Relay => {
                "; compare the keys in the node's and the relay's files"
            }
            Reject::WrongKey | Reject::BadMac => "; compare the keys in both nodes' files",
            Reject::StaleTimestamp => "; is the peer's clock set back?",
            Reject::WrongPath => {
                "; have both nodes' files their `[[path]]` tables in the same order?"
            }
            Reject::Throttled => "; somebody floods this node with handshakes",
            Reject::BehindWindow => {
                "; it came after more than 2048 newer ones of its path: the network holds datagrams back, \
                 or somebody replays them"
            }
            _ => "",
        };
        let healthy = is_benign(reason);
        let (path, reason) = (path.0, reason.name());
        let source = source.map(tracing::field::display);
        if healthy {
            tracing::debug!(
                path,
                reason,
                source,
                "a datagram is dropped, as happens between healthy nodes"
            );
            return;
        }
        tracing::warn!(
            path,
            reason,
            source,
            "a datagram is rejected; further ones are only counted{remedy}"
        );
    }

    /// Whether `event` of the session with the relay of a path, or with the peer, is to be logged: a silence once, or one
    /// that lasts a night would fill the log.
    fn is_news(&mut self, whose: Option<PathId>, event: SessionEvent) -> bool {
        match event {
            SessionEvent::Silent => self.silent.insert(whose),
            SessionEvent::Established { .. } => {
                self.silent.remove(&whose);
                true
            }
            _ => true,
        }
    }

    fn count_dropped(&mut self, reason: DropReason) {
        let count = self.dropped.entry(reason).or_default();
        *count += 1;
        if reason == DropReason::BehindWindow && *count == 1 {
            tracing::warn!(
                window = COMBINING_WINDOW,
                "a packet is dropped that came after so many newer ones that it may be a copy: the \
                 delays of the paths differ too much for this rate; take the slowest path out of the \
                 file (further ones are only counted)"
            );
        }
    }
}

impl MachineIo for NodeIo {
    fn next_arrival(&mut self, until: Time) -> io::Result<Option<Time>> {
        self.paths.next_arrival(until)
    }

    fn take(&mut self) -> Option<Arrival> {
        self.paths.take()
    }

    fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    fn emit(&mut self, context: OutputContext, output: Output) -> io::Result<()> {
        match output {
            Output::Packet(packet) => self.tun.write(packet)?,
            Output::Datagram { path, datagram } => self.paths.send(path, datagram),
            Output::PacketTooBig { packet, mtu } => {
                if let Some(message) = self.senders.tell(context.at, &packet, mtu) {
                    self.tun.write(message)?;
                }
            }
            Output::Reply { path, datagram } => {
                if let Some(source) = context.source {
                    self.paths.reply(path, source, datagram);
                }
            }
            Output::Authenticated { path } => {
                if let Some(source) = context.source {
                    self.paths.hear(path, source, context.at);
                }
            }
            Output::Event(event) => {
                if let Event::Dropped { reason, .. } = event {
                    self.count_dropped(reason);
                }
                self.paths.note(event);
                if let Some(file) = &mut self.events {
                    file.write(context.at, event);
                }
            }
            Output::Session(SessionEvent::Rejected { path, reason }) => {
                if reason == Reject::WrongPath {
                    self.paths.note_misplaced(path);
                }
                self.tell_rejected(Party::Peer, path, reason, context.source);
            }
            Output::Session(event) => {
                if self.is_news(None, event) {
                    log(event);
                }
            }
            Output::RelayAuthenticated { path } => self.paths.hear_relay(path),
            Output::Relay {
                path,
                event: SessionEvent::Rejected { reason, .. },
            } => self.tell_rejected(Party::Relay, path, reason, context.source),
            Output::Relay { path, event } => {
                if self.is_news(Some(path), event) {
                    log_relay(self.paths.name(path), event);
                }
            }
        }
        Ok(())
    }
}

/// With whom a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Party {
    Peer,
    Relay,
}

/// Whether datagrams are rejected for `reason` between two healthy nodes, too: handshake messages go over
/// all paths, both ends may begin one at once, an answer may be lost, and an end that started anew no longer has the old keys.
const fn is_benign(reason: Reject) -> bool {
    matches!(
        reason,
        Reject::HandshakeCopy | Reject::Simultaneous | Reject::PassedOver | Reject::UnknownIndex
    )
}

fn log(event: SessionEvent) {
    match event {
        SessionEvent::Established { initiator } => tracing::info!(initiator, "session established"),
        SessionEvent::PeerRestarted => tracing::info!("the peer has started anew"),
        SessionEvent::Expired => tracing::warn!("keys ran out; packets wait for the peer"),
        SessionEvent::Silent => {
            tracing::warn!("the peer does not answer; handshakes follow until it does");
        }
        SessionEvent::PathsDiffer { own, peer } => tracing::warn!(
            own,
            peer,
            "the peer has another number of paths: give both nodes' files the same `[[path]]` tables, in \
             the same order; a path without a counterpart carries nothing"
        ),
        SessionEvent::NoEntropy => tracing::error!("the random source failed"),
        // These come as often as somebody sends; the statistics have their numbers.
        SessionEvent::Initiated { attempt } => tracing::debug!(attempt, "handshake begun"),
        SessionEvent::Discarded => tracing::debug!("frame dropped while no session stands"),
        SessionEvent::Rejected { .. } => {}
    }
}

/// What happens in the session with the relay of `path`.
fn log_relay(path: Option<&str>, event: SessionEvent) {
    match event {
        SessionEvent::Established { .. } => tracing::debug!(path, "joined the relay"),
        SessionEvent::PeerRestarted => tracing::debug!(path, "the relay has started anew"),
        SessionEvent::Expired => tracing::warn!(path, "keys for the relay ran out"),
        SessionEvent::Silent => {
            tracing::warn!(
                path,
                "the relay does not answer; it is joined anew once it does"
            );
        }
        SessionEvent::NoEntropy => tracing::error!("the random source failed"),
        SessionEvent::Initiated { attempt } => {
            tracing::debug!(path, attempt, "handshake with the relay begun");
        }
        SessionEvent::Discarded => tracing::debug!(path, "not sent: the relay is not joined yet"),
        SessionEvent::PathsDiffer { .. } | SessionEvent::Rejected { .. } => {}
    }
}
