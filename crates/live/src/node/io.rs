//! The I/O of a node: it reads packets and datagrams, and carries out the outputs of the machine.

pub(super) mod application;
pub(super) mod events;
mod packet_too_big;
pub(super) mod sockets;

use std::collections::{BTreeMap, VecDeque};
use std::io;

use bytes::Bytes;
use polypath_core::event::{DropReason, Event};
use polypath_core::time::Time;
use polypath_session::event::{Reject, SessionEvent};
use polypath_session::tunnel::Output;

use super::driver::{MachineIo, OutputContext};
use super::paths::Paths;
use super::paths::inbox::Arrival;
use super::session_log::{Party, Rejection, SessionLog, log_behind_window, log_waited_too_long};
use application::Application;
use events::EventFile;
use packet_too_big::PacketTooBigSender;

/// The number of packets that were dropped since they waited for too long, after which it is logged
/// again.
const WAITED_LOG: u64 = 1000;

/// The applications, the sockets of the paths and the event stream.
pub(super) struct NodeIo {
    pub(super) application: Application,
    pub(super) paths: Paths,
    events: Option<EventFile>,
    /// Packets that the endpoint dropped, by reason.
    pub(super) dropped: BTreeMap<DropReason, u64>,
    packet_too_big: PacketTooBigSender,
    /// Packets that were read in one call and are not yet dequeued.
    packets: VecDeque<Bytes>,
    log: SessionLog,
}

impl NodeIo {
    pub(super) fn new(application: Application, paths: Paths, events: Option<EventFile>) -> Self {
        Self {
            application,
            paths,
            events,
            dropped: BTreeMap::new(),
            packet_too_big: PacketTooBigSender::default(),
            packets: VecDeque::new(),
            log: SessionLog::default(),
        }
    }

    /// Writes buffered events to the file.
    pub(super) fn flush_events(&mut self) {
        if let Some(events) = &mut self.events {
            events.flush();
        }
    }

    /// Ends the event stream; fails if it failed now or before.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.events.as_mut().map_or(Ok(()), EventFile::finish)
    }

    /// The next packet of an application, if one waits.
    pub(super) fn next_packet(&mut self) -> io::Result<Option<Bytes>> {
        if self.packets.is_empty() {
            self.application.read(&mut self.packets)?;
        }
        Ok(self.packets.pop_front())
    }

    /// Whether packets were read and are not yet dequeued.
    pub(super) fn has_packets(&self) -> bool {
        !self.packets.is_empty()
    }

    /// Sends all datagrams and writes all packets that wait to be merged with later ones.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.paths.flush();
        self.application.flush()
    }

    fn reject(&mut self, rejection: Rejection) {
        if let Some(source) = rejection.source {
            self.paths.reject(rejection.path, source, rejection.reason);
        }
        self.log.rejected(rejection);
    }

    fn handle_event(&mut self, at: Time, event: Event) {
        if let Event::Dropped { reason, .. } = event {
            self.count_dropped(reason);
        }
        self.paths.handle_event(at, event);
        if let Some(file) = &mut self.events {
            file.write(at, event);
        }
    }

    fn count_dropped(&mut self, reason: DropReason) {
        let count = self.dropped.entry(reason).or_default();
        *count += 1;
        match reason {
            DropReason::BehindWindow if *count == 1 => log_behind_window(),
            DropReason::WaitedTooLong if *count == 1 || count.is_multiple_of(WAITED_LOG) => {
                log_waited_too_long(*count);
            }
            _ => {}
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
        let OutputContext { at, source } = context;
        match output {
            Output::Packet(packet) => self.application.write(packet)?,
            Output::Datagram {
                path,
                datagram,
                traffic_class,
            } => self.paths.send(path, datagram, traffic_class),
            Output::PacketTooBig { packet, mtu } => {
                if let Some(message) = self.packet_too_big.message(at, &packet, mtu) {
                    self.application.write(message)?;
                }
            }
            Output::Reply { path, datagram } => {
                if let Some(source) = source {
                    self.paths.reply(path, source, datagram);
                }
            }
            Output::Authenticated { path } => {
                if let Some(source) = source {
                    self.paths.authenticated(path, source, at);
                }
            }
            Output::Event(event) => self.handle_event(at, event),
            Output::Session(SessionEvent::Rejected { path, reason }) => {
                if reason == Reject::WrongPath {
                    self.paths.misplaced(path);
                }
                self.reject(Rejection {
                    by: Party::Peer,
                    path,
                    reason,
                    source,
                });
            }
            Output::Session(event) => {
                if event == SessionEvent::PeerRestarted {
                    self.paths.peer_restarted();
                }
                self.log.peer(event);
            }
            Output::RelayAuthenticated { path } => self.paths.relay_authenticated(path),
            Output::Relay {
                path,
                event: SessionEvent::Rejected { reason, .. },
            } => self.reject(Rejection {
                by: Party::Relay(path),
                path,
                reason,
                source,
            }),
            Output::Relay { path, event } => self.log.relay(path, self.paths.name(path), event),
        }
        Ok(())
    }
}
