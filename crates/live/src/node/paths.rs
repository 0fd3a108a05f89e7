//! The sockets of all paths, and the peer's address on each.

mod change;
mod dont_fragment;
mod flood_guard;
pub(super) mod inbox;
mod path;
mod path_mtu;
mod retired_sockets;
pub(super) mod silence_detector;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use polypath_core::event::Event;
use polypath_core::frame::{FrameKind, PathId};
use polypath_core::liveness::PathHealth;
use polypath_core::packet::{Ecn, TrafficClass};
use polypath_core::time::Time;
use polypath_session::datagram::{INITIATION, RESPONSE};
use polypath_session::tunnel::Input;

use super::path_log::{self, ClosingCause, VersionLog};
use crate::buffer::PacketBuffer;
use crate::clock::Clock;
use crate::config::PathConfig;
use crate::stats::{LivenessStats, PathStats};
use crate::udp::PathSocket;
use dont_fragment::MtuUpdate;
pub(super) use dont_fragment::TunMtu;
pub(super) use flood_guard::LocalIndices;
use inbox::{Arrival, Inbox};
use path::Path;
use silence_detector::SilenceDetector;

/// The most bytes that GRO delivers in one call.
const MAX_GRO_LEN: usize = 65_535;

/// The sockets of all paths.
pub(super) struct Paths {
    all: Vec<Path>,
    inbox: Inbox,
    silence_detector: SilenceDetector,
    buffer: PacketBuffer,
    clock: Clock,
    /// Whether the sockets use GRO, and datagrams are sent in batches with GSO.
    gro_enabled: bool,
    tun: TunMtu,
    version_log: VersionLog,
}

impl Paths {
    /// The paths of `configs` with their sockets. Datagrams of more than `max_datagram` bytes are
    /// cut to one byte more, so that they are recognised as too long. `offload` enables GRO and
    /// GSO.
    pub(super) fn new(
        configs: &[PathConfig],
        sockets: Vec<PathSocket>,
        max_datagram: usize,
        clock: Clock,
        silence_detector: SilenceDetector,
        offload: bool,
    ) -> Self {
        let gro_enabled = offload && enable_gro(&sockets);
        let longest = if gro_enabled {
            MAX_GRO_LEN
        } else {
            max_datagram + 1
        };
        let paths = configs.iter().zip(sockets);
        Self {
            all: paths
                .map(|(path, socket)| Path::new(path, socket))
                .collect(),
            inbox: Inbox::new(configs.len()),
            silence_detector,
            buffer: PacketBuffer::new(longest),
            clock,
            gro_enabled,
            tun: TunMtu::default(),
            version_log: VersionLog::default(),
        }
    }

    /// The kernel's receive time of the next datagram of all paths, if it received one by `until`.
    pub(super) fn next_arrival(&mut self, until: Time) -> io::Result<Option<Time>> {
        let (all, buffer, clock) = (&mut self.all, &mut self.buffer, self.clock);
        self.inbox.next_arrival(until, |id| {
            let path = &mut all[id.index()];
            let Some((received, datagram)) = path.receive(buffer, clock)? else {
                return Ok(None);
            };
            path.stats.received.add(path.wire_len(received.len));
            path.stats.marked += u64::from(received.traffic_class.ecn == Ecn::Ce);
            Ok(Some(Arrival {
                at: received.at,
                source: received.from,
                input: Input::Datagram {
                    path: id,
                    source: received.from.into(),
                    ecn: received.traffic_class.ecn,
                    datagram,
                },
            }))
        })
    }

    /// Dequeues the next datagram of all paths.
    pub(super) fn take(&mut self) -> Option<Arrival> {
        self.inbox.take()
    }

    /// Whether every datagram that was read has been dequeued.
    pub(super) fn is_empty(&self) -> bool {
        self.inbox.is_empty() && self.all.iter().all(|path| path.incoming.is_empty())
    }

    /// Sends `datagram` to the peer, at the latest with the next [`Paths::flush`]; drops it while
    /// the peer's address on the path is unknown. It has the fields of this traffic class that the
    /// file permits.
    pub(super) fn send(&mut self, path: PathId, datagram: Bytes, traffic_class: TrafficClass) {
        let Some(path) = self.all.get_mut(path.index()) else {
            return;
        };
        path.has_new_index |= datagram.first() == Some(&INITIATION);
        let traffic_class = path.copied.of(traffic_class);
        if path.needs_fragments(&datagram) {
            return path.send_in_fragments(&datagram, traffic_class);
        }
        if !path.outgoing.accepts(&datagram, traffic_class) {
            path.flush();
        }
        path.outgoing.push(datagram, traffic_class);
        if !self.gro_enabled {
            path.flush();
        }
    }

    /// Sends the queued datagrams of all paths.
    pub(super) fn flush(&mut self) {
        for path in &mut self.all {
            path.flush();
        }
    }

    /// Replies to a datagram from `source` that does not prove the peer's address; drops a cookie
    /// for a source that is not the configured address.
    pub(super) fn reply(&mut self, path: PathId, source: SocketAddr, datagram: Bytes) {
        if let Some(path) = self.all.get_mut(path.index())
            && let Some(to) = path.remote.reply_to(source, &datagram)
        {
            path.has_new_index |= datagram.first() == Some(&RESPONSE);
            path.flush();
            path.outgoing.push(datagram, TrafficClass::DEFAULT);
            path.flush_to(to);
        }
    }

    /// Handles an authentic datagram of the peer that arrived at `at`; its `source` is the peer's
    /// address on a path whose configuration states none.
    pub(super) fn authenticated(&mut self, path: PathId, source: SocketAddr, at: Time) {
        if let Some(path) = self.all.get_mut(path.index()) {
            path.authenticated(source);
        }
        let all = &self.all;
        self.silence_detector.arrived(path, at, |change| {
            let path = all.get(change.path().index());
            path_log::log_silence(path.map(|path| &*path.stats.name), change, at);
        });
    }

    /// Handles an authentic datagram of the relay of `path`.
    pub(super) fn relay_authenticated(&mut self, path: PathId) {
        if let Some(path) = self.all.get_mut(path.index()) {
            path.log.relay_authenticated(&path.stats);
        }
    }

    /// Handles a datagram that arrived on `path` and, by its header, belongs to another.
    pub(super) fn misplaced(&mut self, path: PathId) {
        if let Some(path) = self.all.get_mut(path.index()) {
            path.stats.misplaced += 1;
            path.log.misplaced(&path.stats.name);
        }
    }

    /// Counts heartbeats, logs changes of liveness and MTU, and disables GRO for a peer that
    /// compares times; `at` is the time of the event.
    pub(super) fn handle_event(&mut self, at: Time, event: Event) {
        match event {
            Event::FrameIn {
                kind: FrameKind::Probe | FrameKind::Pair,
                ..
            } if self.gro_enabled => self.disable_gro(),
            Event::FrameOut {
                path,
                kind: FrameKind::Heartbeat | FrameKind::HeartbeatReply,
                len,
            } => {
                if let Some(path) = self.all.get_mut(path.index()) {
                    path.heartbeat_sent(len);
                }
            }
            Event::PathSilent { path, .. } | Event::PathSilentAgain { path, .. }
                if self.silence_detector.is_closed(path) => {}
            Event::PathSilent { path, silence, rtt } => {
                path_log::log_path_silent(self.name(path), silence, rtt);
            }
            Event::PathSilentAgain { path, silence, rtt } => {
                path_log::log_path_silent_again(self.name(path), silence, rtt);
            }
            Event::PathBack { path, outage, rtt } => {
                path_log::log_path_back(self.name(path), outage, rtt);
            }
            Event::PathMtu {
                path,
                state,
                packet: found,
                limit,
            } => self.update_mtu(
                path,
                MtuUpdate {
                    state,
                    found,
                    limit,
                },
            ),
            Event::RepairUnavailable => self.version_log.repair_unavailable(),
            Event::SpacingUnavailable => self.version_log.spacing_unavailable(),
            Event::PathClosed { path, by_peer } => {
                self.silence_detector.set_closed(path, true, at);
                let cause = match self.all.get(path.index()) {
                    _ if by_peer => ClosingCause::Peer,
                    Some(path) if path.is_unsaved => ClosingCause::Unsaved,
                    _ => ClosingCause::Quota,
                };
                path_log::log_path_closed(self.name(path), cause);
            }
            Event::PathOpened { path } => {
                self.silence_detector.set_closed(path, false, at);
                path_log::log_path_opened(self.name(path));
            }
            Event::QuotaUnenforceable => path_log::log_quota_unenforceable(),
            _ => {}
        }
    }

    /// Notes that the peer has restarted, maybe as another version.
    pub(super) fn peer_restarted(&mut self) {
        self.version_log = VersionLog::default();
    }

    /// Receives and sends each datagram in a call of its own from now on, so that it has its own
    /// time.
    fn disable_gro(&mut self) {
        self.gro_enabled = false;
        self.flush();
        // Sockets on which the option could be set can also clear it.
        for path in &self.all {
            _ = path.socket.set_gro(false);
        }
        path_log::log_gro_disabled();
    }

    /// Logs the paths on which the peer has not answered.
    pub(super) fn log_unanswered(&self) {
        for path in self.unanswered() {
            path.log.unanswered(&path.stats, path.remote.get());
        }
    }

    /// Sends to the peer at `addresses`, by the name of the path, on paths whose address is
    /// unknown, until it sends from others; returns these paths.
    pub(super) fn set_former_addresses(
        &mut self,
        addresses: &BTreeMap<String, SocketAddr>,
    ) -> Vec<PathId> {
        let paths = (0..).map(PathId).zip(&mut self.all);
        let set = paths.filter_map(|(id, path)| {
            let address = addresses.get(&path.stats.name)?;
            path.set_former_address(*address).then_some(id)
        });
        set.collect()
    }

    /// The addresses of the peer that the file does not state, by the name of the path.
    pub(super) fn learned_addresses(&self) -> BTreeMap<String, SocketAddr> {
        let paths = self.all.iter();
        let learned = paths.filter_map(|path| {
            let address = path.remote.if_learned()?;
            Some((path.stats.name.clone(), address))
        });
        learned.collect()
    }

    /// The name of a path.
    pub(super) fn name(&self, path: PathId) -> Option<&str> {
        self.all.get(path.index()).map(|path| &*path.stats.name)
    }

    /// The counters of each path at `now`, with its `health`.
    pub(super) fn stats(
        &self,
        now: Time,
        health: impl Fn(PathId) -> Option<PathHealth>,
    ) -> Vec<PathStats> {
        let paths = (0..).map(PathId).zip(&self.all);
        let stats = paths.map(|(id, path)| {
            let last = self.silence_detector.last(id);
            PathStats {
                last_received_s: last.map(|at| now.since(at).as_secs_f64()),
                liveness: health(id).map(LivenessStats::from),
                ..path.stats.clone()
            }
        });
        stats.collect()
    }
}

/// Enables GRO on all sockets, or on none if one fails; returns whether it is enabled.
fn enable_gro(sockets: &[PathSocket]) -> bool {
    let set = |enabled| sockets.iter().all(|socket| socket.set_gro(enabled));
    set(true) || {
        set(false);
        path_log::log_no_gro();
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LivenessSetting;
    use polypath_core::policy::PolicyConfig;
    use polypath_session::datagram::COOKIE_REPLY;
    use std::net::UdpSocket;
    use std::thread::sleep;
    use std::time;

    #[test]
    fn datagrams_of_all_paths_are_dequeued_in_order_of_arrival() {
        check_order(false);
        check_order(true);
    }

    /// The first bytes of the datagrams that arrive at `socket`.
    fn received(socket: &UdpSocket) -> Vec<u8> {
        let mut buffer = [0; 100];
        let receive = || socket.recv(&mut buffer).ok().map(|_| buffer[0]);
        std::iter::from_fn(receive).collect()
    }

    /// A stranger who floods a node with initiations does not make it flood its peer.
    #[test]
    fn a_cookie_for_a_stranger_does_not_go_to_the_configured_peer() {
        let [peer, stranger] = [(); 2].map(|()| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        });
        let [at_peer, at_stranger] = [&peer, &stranger].map(|socket| socket.local_addr().unwrap());
        for (remote, expected) in [
            (Some(at_peer), [vec![RESPONSE, COOKIE_REPLY], vec![]]),
            (None, [vec![COOKIE_REPLY], vec![RESPONSE, COOKIE_REPLY]]),
        ] {
            let config = PathConfig {
                remote,
                ..PathConfig::at("127.0.0.1:0", None)
            };
            let socket = PathSocket::open(&config).unwrap();
            let policy = PolicyConfig::DuplicateAll {};
            let silence_detector = SilenceDetector::new(1, policy, LivenessSetting::default());
            let clock = Clock::starting_now();
            let mut paths =
                Paths::new(&[config], vec![socket], 100, clock, silence_detector, false);
            for kind in [RESPONSE, COOKIE_REPLY] {
                paths.reply(PathId(0), at_stranger, vec![kind; 33].into());
            }
            paths.reply(PathId(0), at_peer, vec![COOKIE_REPLY; 33].into());
            assert_eq!([&peer, &stranger].map(received), expected, "{remote:?}");
        }
    }

    /// Datagrams of a batch are on the wire before the count of the next 100 ms.
    #[test]
    fn datagrams_that_wait_in_a_batch_are_counted() {
        let config = PathConfig {
            remote: Some("127.0.0.1:9".parse().unwrap()),
            ..PathConfig::at("127.0.0.1:0", None)
        };
        let socket = PathSocket::open(&config).unwrap();
        let policy = PolicyConfig::DuplicateAll {};
        let silence_detector = SilenceDetector::new(1, policy, LivenessSetting::default());
        let clock = Clock::starting_now();
        let mut paths = Paths::new(&[config], vec![socket], 100, clock, silence_detector, true);
        paths.gro_enabled = true;
        paths.send(PathId(0), vec![0; 72].into(), TrafficClass::DEFAULT);
        assert_eq!(paths.traffic().next().unwrap().sent.bytes, 0);
        let sent = paths.flushed_traffic().next().unwrap().sent;
        assert_eq!((sent.packets, sent.bytes), (1, 100));
    }

    /// Nothing is sent there, so the peer cannot answer.
    #[test]
    fn a_closed_path_is_not_reported_as_unanswered() {
        let config = PathConfig::at("127.0.0.1:0", None);
        let socket = PathSocket::open(&config).unwrap();
        let policy = PolicyConfig::DuplicateAll {};
        let silence_detector = SilenceDetector::new(1, policy, LivenessSetting::default());
        let clock = Clock::starting_now();
        let mut paths = Paths::new(&[config], vec![socket], 100, clock, silence_detector, false);
        let path = PathId(0);
        for (event, unanswered) in [
            (Event::PathOpened { path }, 1),
            (
                Event::PathClosed {
                    path,
                    by_peer: false,
                },
                0,
            ),
            (Event::PathOpened { path }, 1),
        ] {
            paths.handle_event(Time::ZERO, event);
            assert_eq!(paths.unanswered().count(), unanswered);
        }
    }

    fn check_order(gro_enabled: bool) {
        let configs = ["a", "b"].map(|name| PathConfig {
            name: name.to_owned(),
            ..PathConfig::at("127.0.0.1:0", None)
        });
        let sockets: Vec<_> = configs
            .iter()
            .map(|c| PathSocket::open(c).unwrap())
            .collect();
        let targets: Vec<_> = sockets.iter().map(|s| s.local().unwrap()).collect();
        let clock = Clock::starting_now();
        let policy = PolicyConfig::DuplicateAll {};
        let silence_detector = SilenceDetector::new(2, policy, LivenessSetting::default());
        let mut paths = Paths::new(&configs, sockets, 100, clock, silence_detector, gro_enabled);
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        // The kernel starts to take timestamps shortly after the first socket asks for them.
        sleep(time::Duration::from_millis(50));
        // More on one path than are read at once, so that the other's must wait for the rest.
        let path_of = |number| usize::from(number == 5 || number == 33);
        for number in 0..42_u8 {
            peer.send_to(&[number; 10], targets[path_of(number)])
                .unwrap();
            sleep(time::Duration::from_millis(1));
        }
        let now = clock.now();
        let mut numbers = Vec::new();
        while let Some(at) = paths.next_arrival(now).unwrap() {
            let arrival = paths.take().unwrap();
            assert_eq!(arrival.at, at);
            match &arrival.input {
                Input::Datagram { datagram, path, .. } => {
                    assert_eq!(path.index(), path_of(datagram[0]));
                    numbers.push(datagram[0]);
                }
                _ => unreachable!("paths carry datagrams"),
            }
        }
        assert_eq!(numbers, (0..42).collect::<Vec<_>>());
        assert!(paths.is_empty());
    }
}
