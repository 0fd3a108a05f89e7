//! Protection of the paths of a node against floods ([`crate::udp::flood`]).

use std::mem::take;
use std::net::SocketAddr;

use polypath_core::frame::PathId;
use polypath_session::event::Reject;
use polypath_session::tunnel::Tunnel;

use super::Paths;
use crate::udp::filter::Admitted;

/// The receiver indices of this node's session on a path.
pub(in crate::node) struct LocalIndices {
    /// Those of its keys.
    keys: Vec<u32>,
    /// That of its pending initiation.
    pending: Option<u32>,
}

impl LocalIndices {
    pub(in crate::node) fn of(tunnel: &Tunnel, path: PathId) -> Self {
        Self {
            keys: tunnel.local_indices(path).collect(),
            pending: tunnel.pending_index(path),
        }
    }
}

impl Paths {
    /// Counts a datagram from `source` that was rejected for `reason`, and notes it for the log.
    pub(in crate::node) fn reject(&mut self, path: PathId, source: SocketAddr, reason: Reject) {
        let Some(path) = self.all.get_mut(path.index()) else {
            return;
        };
        path.log.rejected(reason);
        if path.remote.get() != Some(source) {
            path.flood.count(reason);
        }
    }

    /// Ends a second: has the kernel drop the datagrams of strangers while there are many.
    pub(in crate::node) fn guard(&mut self, indices: impl Fn(PathId) -> LocalIndices) {
        for (id, path) in (0..).map(PathId).zip(&mut self.all) {
            let admitted = admitted(path.remote.get(), || indices(id));
            let name = &path.stats.name;
            let dropped = path.flood.guard(&path.socket, name, admitted);
            path.stats.kernel_dropped += u64::from(dropped);
        }
    }

    /// Updates the kernel's filter on paths on which a handshake was initiated or answered, which adds
    /// an index.
    pub(in crate::node) fn update_guard(&mut self, indices: impl Fn(PathId) -> LocalIndices) {
        for (id, path) in (0..).map(PathId).zip(&mut self.all) {
            if take(&mut path.has_new_index) {
                let admitted = admitted(path.remote.get(), || indices(id));
                path.flood.update(&path.socket, admitted);
            }
        }
    }
}

fn admitted(
    peer: Option<SocketAddr>,
    indices: impl FnOnce() -> LocalIndices,
) -> impl FnOnce() -> Admitted {
    move || {
        let LocalIndices { keys, pending } = indices();
        Admitted {
            peers: peer.into_iter().collect(),
            keys,
            pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::config::{LivenessSetting, PathConfig};
    use crate::node::paths::silence_detector::SilenceDetector;
    use crate::udp::PathSocket;
    use crate::udp::flood::{CALM_SECONDS, MANY_PER_SECOND};
    use polypath_core::policy::PolicyConfig;
    use polypath_session::datagram::TRANSPORT;
    use std::net::UdpSocket;

    const PATH: PathId = PathId(0);

    fn one_key(_: PathId) -> LocalIndices {
        LocalIndices {
            keys: vec![1],
            pending: None,
        }
    }

    /// A path to `remote`.
    fn paths(remote: SocketAddr) -> Paths {
        let config = PathConfig {
            remote: Some(remote),
            ..PathConfig::at("127.0.0.1:0", None)
        };
        let sockets = vec![PathSocket::open(&config).unwrap()];
        let silence_detector =
            SilenceDetector::new(1, PolicyConfig::DuplicateAll {}, LivenessSetting::default());
        let clock = Clock::starting_now();
        Paths::new(&[config], sockets, 1500, clock, silence_detector, false)
    }

    #[test]
    fn a_flood_of_strangers_is_dropped_until_it_ends() {
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
            paths.guard(one_key);
        };
        second(&mut paths, MANY_PER_SECOND - 1);
        assert!(read(&mut paths), "few");
        second(&mut paths, MANY_PER_SECOND);
        assert!(!read(&mut paths), "many");
        for _ in 1..CALM_SECONDS {
            second(&mut paths, 0);
            assert!(!read(&mut paths), "for a while");
        }
        second(&mut paths, 0);
        assert!(read(&mut paths), "calm again");
        assert_eq!(paths.all[0].stats.kernel_dropped, u64::from(CALM_SECONDS));
    }

    #[test]
    fn rejected_datagrams_of_the_peer_are_no_flood() {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let source = peer.local_addr().unwrap();
        let mut paths = paths(source);
        for _ in 0..2 * MANY_PER_SECOND {
            paths.reject(PATH, source, Reject::UnknownIndex);
        }
        paths.guard(one_key);
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
