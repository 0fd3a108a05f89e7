//! The sockets of all paths, and where the peer is on each.

use std::io;
use std::net::SocketAddr;

use polypath_core::frame::PathId;
use polypath_core::time::Time;
use polypath_session::tunnel::Input;

use crate::buffer::PacketBuffer;
use crate::clock::Clock;
use crate::config::PathConfig;
use crate::stats::PathStats;
use crate::udp::PathSocket;

/// A path's socket and the address of the peer there.
struct Path {
    socket: PathSocket,
    remote: Option<SocketAddr>,
    /// Whether the peer's address is taken from its datagrams.
    learns: bool,
    stats: PathStats,
}

/// The sockets of all paths.
pub(super) struct Paths {
    all: Vec<Path>,
    datagrams: PacketBuffer,
    clock: Clock,
}

/// A datagram that came on a path.
pub(super) struct Arrival {
    /// When the kernel received it.
    pub(super) at: Time,
    /// Where it came from.
    pub(super) source: SocketAddr,
    pub(super) input: Input,
}

impl Paths {
    /// Datagrams of more than `max_datagram` bytes are cut to one byte more, so that they are seen to be
    /// too long.
    pub(super) fn new(
        configs: &[PathConfig],
        sockets: Vec<PathSocket>,
        max_datagram: usize,
        clock: Clock,
    ) -> Self {
        let paths = configs.iter().zip(sockets);
        Self {
            all: paths
                .map(|(path, socket)| Path::new(path, socket))
                .collect(),
            datagrams: PacketBuffer::new(max_datagram + 1),
            clock,
        }
    }

    /// Reads the datagrams that wait at all paths, at most `budget` from each, in the order in which the
    /// kernel received them.
    pub(super) fn read(&mut self, budget: usize, arrivals: &mut Vec<Arrival>) -> io::Result<()> {
        for (id, path) in (0..).map(PathId).zip(&mut self.all) {
            for _ in 0..budget {
                let space = self.datagrams.space();
                let Some(received) = path.socket.receive(space, self.clock)? else {
                    break;
                };
                path.stats.received.add(path.size(received.len));
                arrivals.push(Arrival {
                    at: received.at,
                    source: received.from,
                    input: Input::Datagram {
                        path: id,
                        datagram: self.datagrams.take(received.len),
                    },
                });
            }
        }
        arrivals.sort_by_key(|arrival| arrival.at);
        Ok(())
    }

    /// Sends `datagram` to the peer, if its address on the path is known.
    pub(super) fn send(&mut self, path: PathId, datagram: &[u8]) {
        if let Some(path) = self.all.get_mut(path.index()) {
            path.send(datagram);
        }
    }

    /// Takes `source` for the peer's address on a path whose configuration does not give it.
    pub(super) fn learn(&mut self, path: PathId, source: SocketAddr) {
        if let Some(path) = self.all.get_mut(path.index()) {
            path.learn(source);
        }
    }

    pub(super) fn stats(&self) -> Vec<PathStats> {
        self.all.iter().map(|path| path.stats.clone()).collect()
    }
}

impl Path {
    fn new(config: &PathConfig, socket: PathSocket) -> Self {
        Self {
            socket,
            remote: config.remote,
            learns: config.remote.is_none(),
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
        let Some(remote) = self.remote else {
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

    fn learn(&mut self, source: SocketAddr) {
        if self.learns && self.remote != Some(source) {
            tracing::info!(path = self.stats.name, remote = %source, "the peer is found");
            self.remote = Some(source);
            self.stats.remote = Some(source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::thread::sleep;
    use std::time::Duration;

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
        let mut paths = Paths::new(&configs, sockets, 100, Clock::starting_now());
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        // The kernel begins to take times shortly after the first socket asks for them.
        sleep(Duration::from_millis(50));
        let order = [1, 0, 0, 1, 0, 1, 1, 0];
        for (number, path) in (0..).zip(order) {
            peer.send_to(&[number; 10], targets[path]).unwrap();
            sleep(Duration::from_millis(1));
        }
        let mut arrivals = Vec::new();
        paths.read(16, &mut arrivals).unwrap();
        let numbers = arrivals.iter().map(|arrival| match &arrival.input {
            Input::Datagram { datagram, .. } => datagram[0],
            Input::Packet(_) => unreachable!("paths carry datagrams"),
        });
        assert_eq!(numbers.collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
