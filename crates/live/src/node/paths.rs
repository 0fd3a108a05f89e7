//! The sockets of all paths, and where the peer is on each.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use polypath_core::event::Event;
use polypath_core::frame::{FrameKind, PathId};
use polypath_core::liveness::PathHealth;
use polypath_core::time::{Duration, Time};
use polypath_session::address::PeerAddress;
use polypath_session::tunnel::Input;

use super::inbox::{Arrival, Inbox};
use super::silence_detector::SilenceDetector;
use crate::buffer::PacketBuffer;
use crate::clock::Clock;
use crate::config::PathConfig;
use crate::stats::{LivenessStats, PathStats};
use crate::udp::batch::{Incoming, Outgoing};
use crate::udp::flood::Flood;
use crate::udp::{PathSocket, Received};
use change::RetiredSockets;
use path_log::{PathLog, log_change};
use sizes::DontFragment;
pub(super) use sizes::TunMtu;

mod change;
mod flood;
mod path_log;
mod sizes;

/// The longest that comes in one call, in bytes.
const LONGEST: usize = 65_535;

/// A path's socket and the address of the peer there.
struct Path {
    socket: PathSocket,
    /// Those before it, for what is still under way to there.
    retired: RetiredSockets,
    remote: PeerAddress<SocketAddr>,
    log: PathLog,
    stats: PathStats,
    flood: Flood,
    /// Whether a handshake from elsewhere was answered since the kernel was told who is no stranger.
    has_answered: bool,
    incoming: Incoming,
    outgoing: Outgoing,
    whole: DontFragment,
}

/// The sockets of all paths.
pub(super) struct Paths {
    all: Vec<Path>,
    inbox: Inbox,
    silence_detector: SilenceDetector,
    datagrams: PacketBuffer,
    clock: Clock,
    /// Whether datagrams are sent and received many in a call.
    gro_enabled: bool,
    tun: TunMtu,
}

impl Paths {
    /// Datagrams of more than `max_datagram` bytes are cut to one byte more, so that they are seen to be
    /// too long. With `gro_enabled` many are sent and received in a call.
    pub(super) fn new(
        configs: &[PathConfig],
        sockets: Vec<PathSocket>,
        max_datagram: usize,
        clock: Clock,
        silence_detector: SilenceDetector,
        gro_enabled: bool,
    ) -> Self {
        let gro_enabled = gro_enabled && set_gro(&sockets);
        let longest = if gro_enabled {
            LONGEST
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
            datagrams: PacketBuffer::new(longest),
            clock,
            gro_enabled,
            tun: TunMtu::default(),
        }
    }

    /// When the kernel received the next datagram of all paths, if it had received one by `until`.
    pub(super) fn next_arrival(&mut self, until: Time) -> io::Result<Option<Time>> {
        let (all, datagrams, clock) = (&mut self.all, &mut self.datagrams, self.clock);
        self.inbox.next_arrival(until, |id| {
            let path = &mut all[id.index()];
            let Some((received, datagram)) = path.receive(datagrams, clock)? else {
                return Ok(None);
            };
            path.stats.received.add(path.size(received.len));
            Ok(Some(Arrival {
                at: received.at,
                source: received.from,
                input: Input::Datagram { path: id, datagram },
            }))
        })
    }

    /// The next datagram of all paths.
    pub(super) fn take(&mut self) -> Option<Arrival> {
        self.inbox.take()
    }

    /// Whether no datagram was read that is not yet taken.
    pub(super) fn is_empty(&self) -> bool {
        self.inbox.is_empty() && self.all.iter().all(|path| path.incoming.is_empty())
    }

    /// Sends `datagram` to the peer, if its address on the path is known; by the next [`Paths::flush`] at the latest.
    pub(super) fn send(&mut self, path: PathId, datagram: Bytes) {
        let Some(path) = self.all.get_mut(path.index()) else {
            return;
        };
        if path.needs_fragments(&datagram) {
            return path.send_in_fragments(&datagram);
        }
        if !path.outgoing.takes(&datagram) {
            path.flush();
        }
        path.outgoing.push(datagram);
        if !self.gro_enabled {
            path.flush();
        }
    }

    /// Sends the datagrams that wait.
    pub(super) fn flush(&mut self) {
        for path in &mut self.all {
            path.flush();
        }
    }

    /// Answers a datagram that came from `source` and does not tell where the peer is.
    pub(super) fn reply(&mut self, path: PathId, source: SocketAddr, datagram: Bytes) {
        if let Some(path) = self.all.get_mut(path.index()) {
            let to = path.remote.reply_to(source);
            path.has_answered = true;
            path.flush();
            path.outgoing.push(datagram);
            path.flush_to(to);
        }
    }

    /// Notes an authentic datagram of the peer that came at `at`, whose `source` is its address on a path
    /// whose configuration does not give it.
    pub(super) fn hear(&mut self, path: PathId, source: SocketAddr, at: Time) {
        if let Some(path) = self.all.get_mut(path.index()) {
            path.hear(source);
        }
        let all = &self.all;
        self.silence_detector
            .hear(path, at, |change| log_change(all, change, at));
    }

    /// Counts heartbeats, and logs what they tell; a peer that compares times has them told apart.
    pub(super) fn note(&mut self, event: Event) {
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
                    path.note_heartbeat(len);
                }
            }
            Event::PathSilent { path, silence, rtt } => tracing::warn!(
                path = self.name(path),
                silence_ms = milliseconds(silence),
                rtt_ms = milliseconds(rtt),
                "heartbeats are not answered here any more; packets take other paths, if any answers"
            ),
            Event::PathBack { path, outage, rtt } => tracing::info!(
                path = self.name(path),
                outage_ms = milliseconds(outage),
                rtt_ms = milliseconds(rtt),
                "heartbeats are answered here again; the path is used"
            ),
            Event::PathMtu {
                path,
                state,
                packet,
                limit,
            } => self.note_size(path, state, (packet, limit)),
            _ => {}
        }
    }

    /// From now on each datagram is received for itself, with its own time.
    fn disable_gro(&mut self) {
        self.gro_enabled = false;
        self.flush();
        // None of them failed to do the contrary.
        for path in &self.all {
            _ = path.socket.set_gro(false);
        }
        tracing::info!(
            "the peer's policy compares when its packets come: they cross one by one from now on; with `offload = \
             false` in `node.tun` from the start"
        );
    }

    pub(super) fn name(&self, path: PathId) -> Option<&str> {
        self.all.get(path.index()).map(|path| &*path.stats.name)
    }

    /// What was counted by `now`, with what `health` knows of each path.
    pub(super) fn stats(
        &self,
        now: Time,
        health: impl Fn(PathId) -> Option<PathHealth>,
    ) -> Vec<PathStats> {
        let paths = (0..).map(PathId).zip(&self.all);
        let stats = paths.map(|(id, path)| PathStats {
            last_heard_s: self
                .silence_detector
                .last(id)
                .map(|at| now.since(at).as_secs_f64()),
            liveness: health(id).map(LivenessStats::from),
            ..path.stats.clone()
        });
        stats.collect()
    }
}

impl Path {
    fn new(config: &PathConfig, socket: PathSocket) -> Self {
        Self {
            remote: PeerAddress::configured(config.target()),
            log: PathLog::new(config.relay.is_some()),
            stats: PathStats {
                name: config.name.clone(),
                local: socket.bound(),
                remote: config.target(),
                ..PathStats::default()
            },
            socket,
            retired: RetiredSockets::default(),
            flood: Flood::default(),
            has_answered: false,
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            whole: DontFragment::default(),
        }
    }

    /// The next datagram, if one waits.
    fn receive(
        &mut self,
        space: &mut PacketBuffer,
        clock: Clock,
    ) -> io::Result<Option<(Received, Bytes)>> {
        if self.incoming.is_empty()
            && let Some(received) = self.receive_waiting(space.space(), clock)?
        {
            let bytes = space.take(received.len);
            if received.segment >= received.len {
                return Ok(Some((received, bytes)));
            }
            self.incoming.fill(received, bytes);
        }
        Ok(self.incoming.take())
    }

    fn size(&self, datagram: usize) -> usize {
        datagram + self.socket.headers() as usize
    }

    fn flush(&mut self) {
        if self.outgoing.is_empty() {
            return;
        }
        let Some(remote) = self.remote.get() else {
            self.stats.unaddressed += self.outgoing.discard();
            return;
        };
        self.flush_to(remote);
    }

    fn flush_to(&mut self, remote: SocketAddr) {
        let sent = self.outgoing.flush(&self.socket, remote);
        self.stats.sent.packets += sent.datagrams as u64;
        self.stats.sent.bytes += (sent.bytes + sent.datagrams * self.size(0)) as u64;
        self.stats.unsent += sent.unsent as u64;
        self.stats.too_long += sent.too_long as u64;
    }
}

/// Has all sockets receive many datagrams in a call; or none, where one cannot.
fn set_gro(sockets: &[PathSocket]) -> bool {
    let set = |gro_enabled| sockets.iter().all(|socket| socket.set_gro(gro_enabled));
    set(true) || {
        set(false);
        tracing::warn!("the kernel gives datagrams one by one only: throughput is lower");
        false
    }
}

fn milliseconds(span: Duration) -> u64 {
    span.as_nanos() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Watch;
    use polypath_core::policy::PolicyConfig;
    use std::net::UdpSocket;
    use std::thread::sleep;
    use std::time;

    #[test]
    fn datagrams_of_all_paths_come_in_the_order_of_their_arrival() {
        come_in_order(false);
        come_in_order(true);
    }

    fn come_in_order(gro_enabled: bool) {
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
        let silence_detector = SilenceDetector::new(2, policy, Watch::default());
        let mut paths = Paths::new(&configs, sockets, 100, clock, silence_detector, gro_enabled);
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        // The kernel begins to take times shortly after the first socket asks for them.
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
                Input::Datagram { datagram, path } => {
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
