//! Datagrams of strangers on the paths of a node ([`crate::udp::flood`]).

use std::mem::take;
use std::net::SocketAddr;

use polypath_core::frame::PathId;
use polypath_session::event::Reject;

use super::Paths;
use crate::udp::filter::Admitted;

impl Paths {
    /// Notes a datagram from `source` that was rejected for `reason`.
    pub(in crate::node) fn reject(&mut self, path: PathId, source: SocketAddr, reason: Reject) {
        if let Some(path) = self.all.get_mut(path.index())
            && path.remote.get() != Some(source)
        {
            path.flood.note(reason);
        }
    }

    /// Has the kernel drop strangers' datagrams where there were many in the second that is over; `keys` gives what names
    /// the keys of a path.
    pub(in crate::node) fn guard(&mut self, keys: impl Fn(PathId) -> Vec<u32>) {
        for (id, path) in (0..).map(PathId).zip(&mut self.all) {
            let admitted = admitted(path.remote.get(), || keys(id));
            let name = &path.stats.name;
            let dropped = path.flood.guard(&path.socket, name, admitted);
            path.stats.kernel_dropped += u64::from(dropped);
        }
    }

    /// Lets the kernel know the new keys of paths on which a handshake was answered since, where it drops what comes under
    /// others.
    pub(in crate::node) fn guard_anew(&mut self, keys: impl Fn(PathId) -> Vec<u32>) {
        for (id, path) in (0..).map(PathId).zip(&mut self.all) {
            if take(&mut path.has_answered) {
                let admitted = admitted(path.remote.get(), || keys(id));
                path.flood.renew(&path.socket, admitted);
            }
        }
    }
}

fn admitted(
    peer: Option<SocketAddr>,
    keys: impl FnOnce() -> Vec<u32>,
) -> impl FnOnce() -> Admitted {
    move || Admitted {
        peers: peer.into_iter().collect(),
        keys: keys(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::config::{PathConfig, Watch};
    use crate::node::silence_detector::SilenceDetector;
    use crate::udp::PathSocket;
    use crate::udp::flood::{CALM, MANY};
    use polypath_core::policy::PolicyConfig;
    use polypath_session::datagram::TRANSPORT;
    use std::net::UdpSocket;

    const PATH: PathId = PathId(0);

    /// A path to `remote`.
    fn paths(remote: SocketAddr) -> Paths {
        let config = PathConfig {
            remote: Some(remote),
            ..PathConfig::at("127.0.0.1:0", None)
        };
        let sockets = vec![PathSocket::open(&config).unwrap()];
        let silence_detector =
            SilenceDetector::new(1, PolicyConfig::DuplicateAll {}, Watch::default());
        let clock = Clock::starting_now();
        Paths::new(&[config], sockets, 1500, clock, silence_detector, false)
    }

    #[test]
    fn many_datagrams_of_strangers_are_dropped_until_there_are_few_again() {
        let [peer, stranger] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let mut paths = paths(peer.local_addr().unwrap());
        let target = paths.all[0].socket.local().unwrap();
        let source = stranger.local_addr().unwrap();
        let junk = [TRANSPORT; 100];
        let clock = paths.clock;
        let read = |paths: &mut Paths| {
            stranger.send_to(&junk, target).unwrap();
            peer.send_to(&junk, target).unwrap();
            let mut sources = Vec::new();
            while paths.next_arrival(clock.now()).unwrap().is_some() {
                sources.push(paths.take().unwrap().source);
            }
            sources.contains(&source)
        };
        let second = |paths: &mut Paths, strangers: u64| {
            for _ in 0..strangers {
                paths.reject(PATH, source, Reject::UnknownIndex);
            }
            paths.guard(|_| vec![1]);
        };
        second(&mut paths, MANY - 1);
        assert!(read(&mut paths), "few");
        second(&mut paths, MANY);
        assert!(!read(&mut paths), "many");
        for _ in 1..CALM {
            second(&mut paths, 0);
            assert!(!read(&mut paths), "for a while");
        }
        second(&mut paths, 0);
        assert!(read(&mut paths), "calm again");
        assert_eq!(paths.all[0].stats.kernel_dropped, u64::from(CALM));
    }

    #[test]
    fn what_the_peer_sends_is_no_flood() {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let source = peer.local_addr().unwrap();
        let mut paths = paths(source);
        for _ in 0..2 * MANY {
            paths.reject(PATH, source, Reject::UnknownIndex);
        }
        paths.guard(|_| Vec::new());
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        let target = paths.all[0].socket.local().unwrap();
        stranger.send_to(&[TRANSPORT; 100], target).unwrap();
        let now = paths.clock.now();
        assert!(
            paths.next_arrival(now).unwrap().is_some(),
            "nothing is dropped"
        );
    }
}
