//! The sockets of all paths, and where the peer is on each.

use std::io;
use std::net::SocketAddr;

use polypath_core::event::Event;
use polypath_core::frame::{FrameKind, PathId};
use polypath_core::liveness::PathHealth;
use polypath_core::time::{Duration, Time};
use polypath_session::address::PeerAddress;
use polypath_session::tunnel::Input;

use super::hearing::{Change, Hearing};
use super::inbox::{Arrival, Inbox};
use crate::buffer::PacketBuffer;
use crate::clock::Clock;
use crate::config::PathConfig;
use crate::stats::{LivenessStats, PathStats};
use crate::udp::PathSocket;

/// A path's socket and the address of the peer there.
struct Path {
    socket: PathSocket,
    remote: PeerAddress<SocketAddr>,
    stats: PathStats,
}

/// The sockets of all paths.
pub(super) struct Paths {
    all: Vec<Path>,
    inbox: Inbox,
    hearing: Hearing,
    datagrams: PacketBuffer,
    clock: Clock,
}

impl Paths {
    /// Datagrams of more than `max_datagram` bytes are cut to one byte more, so that they are seen to be
    /// too long.
    pub(super) fn new(
        configs: &[PathConfig],
        sockets: Vec<PathSocket>,
        max_datagram: usize,
        clock: Clock,
        hearing: Hearing,
    ) -> Self {
        let paths = configs.iter().zip(sockets);
        Self {
            all: paths
                .map(|(path, socket)| Path::new(path, socket))
                .collect(),
            inbox: Inbox::new(configs.len()),
            hearing,
            datagrams: PacketBuffer::new(max_datagram + 1),
            clock,
        }
    }

    /// When the kernel received the next datagram of all paths, if it had received one by `until`.
    pub(super) fn next_at(&mut self, until: Time) -> io::Result<Option<Time>> {
        let (all, datagrams, clock) = (&mut self.all, &mut self.datagrams, self.clock);
        self.inbox.next_at(until, |id| {
            let path = &mut all[id.index()];
            let Some(received) = path.socket.receive(datagrams.space(), clock)? else {
                return Ok(None);
            };
            path.stats.received.add(path.size(received.len));
            let datagram = datagrams.take(received.len);
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
        self.inbox.is_empty()
    }

    /// Sends `datagram` to the peer, if its address on the path is known.
    pub(super) fn send(&mut self, path: PathId, datagram: &[u8]) {
        if let Some(path) = self.all.get_mut(path.index()) {
            path.send(datagram);
        }
    }

    /// Notes an authentic datagram of the peer that came at `at`, whose `source` is its address on a path
    /// whose configuration does not give it.
    pub(super) fn hear(&mut self, path: PathId, source: SocketAddr, at: Time) {
        if let Some(path) = self.all.get_mut(path.index()) {
            path.hear(source);
        }
        let all = &self.all;
        self.hearing.hear(path, at, |change| tell(all, change, at));
    }

    /// Logs which paths have brought nothing of the peer yet.
    pub(super) fn tell_silent(&self) {
        for path in self.all.iter().filter(|path| path.stats.authentic == 0) {
            path.tell_silent();
        }
    }

    /// Counts heartbeats, and logs what they tell.
    pub(super) fn note(&mut self, event: Event) {
        match event {
            Event::FrameOut {
                path,
                kind: FrameKind::Heartbeat | FrameKind::HeartbeatReply,
                len,
            } => {
                if let Some(path) = self.all.get_mut(path.index()) {
                    path.stats.heartbeats.add(len as usize);
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
            _ => {}
        }
    }

    fn name(&self, path: PathId) -> Option<&str> {
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
            last_heard_s: self.hearing.last(id).map(|at| now.since(at).as_secs_f64()),
            liveness: health(id).map(LivenessStats::from),
            ..path.stats.clone()
        });
        stats.collect()
    }
}

impl Path {
    fn new(config: &PathConfig, socket: PathSocket) -> Self {
        Self {
            socket,
            remote: PeerAddress::configured(config.remote),
            stats: PathStats {
                name: config.name.clone(),
                remote: config.remote,
                ..PathStats::default()
            },
        }
    }

    fn size(&self, datagram: usize) -> usize {
        datagram + self.socket.headers() as usize
    }

    fn send(&mut self, datagram: &[u8]) {
        let Some(remote) = self.remote.get() else {
            self.stats.unaddressed += 1;
            return;
        };
        match self.socket.send(datagram, remote) {
            Ok(()) => self.stats.sent.add(self.size(datagram.len())),
            Err(error) => {
                self.stats.unsent += 1;
                tracing::debug!(path = self.stats.name, %remote, %error, "datagram not sent");
            }
        }
    }

    fn hear(&mut self, source: SocketAddr) {
        let moved = self.remote.hear(source);
        if moved {
            self.stats.remote = Some(source);
        }
        if self.stats.authentic == 0 {
            tracing::info!(path = self.stats.name, remote = %source, "the peer answers");
        } else if moved {
            tracing::info!(path = self.stats.name, remote = %source, "the peer has moved");
        }
        self.stats.authentic += 1;
    }

    fn tell_silent(&self) {
        let (path, received) = (&self.stats.name, self.stats.received.packets);
        if let Some(remote) = self.remote.get() {
            tracing::warn!(
                path,
                %remote,
                received,
                "no answer from the peer yet: does it run, and does a firewall let UDP through?"
            );
        } else {
            tracing::warn!(
                path,
                received,
                "the peer has not come yet: it must give this end's address as its `remote`"
            );
        }
    }
}

fn milliseconds(span: Duration) -> u64 {
    span.as_nanos() / 1_000_000
}

/// Logs what has changed about one of `paths` at `at`.
fn tell(paths: &[Path], change: Change, at: Time) {
    let name = |path: PathId| paths.get(path.index()).map(|path| &path.stats.name);
    let seconds = |last: Time| at.since(last).as_nanos() / 1_000_000_000;
    match change {
        Change::Silent { path, last } => tracing::warn!(
            path = name(path),
            seconds = seconds(last),
            "nothing of the peer comes here any more, while other paths bring its datagrams: is the \
             uplink down at one end, or has the peer another policy?"
        ),
        Change::Back { path, last } => tracing::info!(
            path = name(path),
            seconds = seconds(last),
            "the peer is heard here again"
        ),
    }
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
        let configs = ["a", "b"].map(|name| PathConfig {
            name: name.to_owned(),
            local: "127.0.0.1:0".parse().unwrap(),
            remote: None,
            interface: None,
        });
        let sockets: Vec<_> = configs
            .iter()
            .map(|c| PathSocket::open(c).unwrap())
            .collect();
        let targets: Vec<_> = sockets.iter().map(|s| s.local().unwrap()).collect();
        let clock = Clock::starting_now();
        let policy = PolicyConfig::DuplicateAll {};
        let hearing = Hearing::new(2, policy, Watch::default());
        let mut paths = Paths::new(&configs, sockets, 100, clock, hearing);
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
        while let Some(at) = paths.next_at(now).unwrap() {
            let arrival = paths.take().unwrap();
            assert_eq!(arrival.at, at);
            match &arrival.input {
                Input::Datagram { datagram, path } => {
                    assert_eq!(path.index(), path_of(datagram[0]));
                    numbers.push(datagram[0]);
                }
                Input::Packet(_) | Input::Late(_) => unreachable!("paths carry datagrams"),
            }
        }
        assert_eq!(numbers, (0..42).collect::<Vec<_>>());
        assert!(paths.is_empty());
    }
}
