//! Datagrams of strangers, so many that the kernel is to drop them.
//!
//! To read a datagram and look at its header costs a node some microseconds. The kernel tells strangers' for a fraction of
//! that ([`crate::udp::filter`]), but does not say why each was dropped; so it is asked only while there are many.

use std::mem::take;
use std::net::SocketAddr;

use polypath_core::frame::PathId;
use polypath_session::event::Reject;

use super::{Path, Paths};
use crate::udp::PathSocket;
use crate::udp::filter::Admitted;

/// Datagrams of strangers in a second that are many: to read them takes about a hundredth of a processor.
const MANY: u64 = 2000;
/// For so many seconds there must be few, until all are read again.
const CALM: u32 = 10;

/// What strangers send to a path.
#[derive(Debug, Default)]
pub(super) struct Flood {
    /// Datagrams of theirs that were read since the last look.
    strangers: u64,
    /// Whom the kernel lets through, where it drops the others.
    admitted: Option<Admitted>,
    /// What it had dropped at the last look.
    drops: u32,
    /// Seconds with few.
    calm: u32,
}

impl Paths {
    /// Notes a datagram from `source` that was rejected for `reason`.
    pub(in crate::node) fn reject(&mut self, path: PathId, source: SocketAddr, reason: Reject) {
        let is_junk = matches!(
            reason,
            Reject::UnknownIndex | Reject::UnknownType | Reject::Truncated | Reject::Oversized
        );
        if let Some(path) = self.all.get_mut(path.index())
            && is_junk
            && path.remote.get() != Some(source)
        {
            path.flood.strangers += 1;
        }
    }

    /// Has the kernel drop strangers' datagrams where there were many in the second that is over; `keys` gives what names
    /// the keys of a path.
    pub(in crate::node) fn guard(&mut self, keys: impl Fn(PathId) -> Vec<u32>) {
        for (id, path) in (0..).map(PathId).zip(&mut self.all) {
            path.guard(|| keys(id));
        }
    }
}

impl Path {
    fn guard(&mut self, keys: impl FnOnce() -> Vec<u32>) {
        let dropped = self.flood.take_drops(&self.socket);
        self.stats.kernel_dropped += u64::from(dropped);
        let strangers = take(&mut self.flood.strangers);
        let was_on = self.flood.admitted.is_some();
        let is_on = self.flood.is_to_go_on(strangers, dropped);
        let wanted = is_on.then(|| Admitted {
            peer: self.remote.get(),
            keys: keys(),
        });
        if wanted == self.flood.admitted {
            return;
        }
        let done = match &wanted {
            Some(admitted) => self.socket.admit_only(admitted),
            None => self.socket.admit_all(),
        };
        let path = &self.stats.name;
        match done {
            Err(error) => {
                tracing::debug!(path, %error, "the kernel does not filter what strangers send");
                return;
            }
            Ok(()) if is_on && !was_on => tracing::warn!(
                path,
                datagrams = strangers,
                "strangers sent so many datagrams within a second: the kernel drops theirs until there are few again"
            ),
            Ok(()) if was_on && !is_on => {
                tracing::info!(path, "strangers send few datagrams again");
            }
            Ok(()) => {}
        }
        self.flood.admitted = wanted;
    }
}

impl Flood {
    /// Whether the kernel is to drop strangers' datagrams, of which so many were read and dropped in a second.
    fn is_to_go_on(&mut self, strangers: u64, dropped: u32) -> bool {
        if self.admitted.is_none() {
            self.calm = 0;
            return strangers >= MANY;
        }
        let is_calm = strangers + u64::from(dropped) < MANY;
        self.calm = if is_calm { self.calm + 1 } else { 0 };
        self.calm < CALM
    }

    /// What the kernel has dropped since the last look.
    fn take_drops(&mut self, socket: &PathSocket) -> u32 {
        let drops = socket.kernel_drops().unwrap_or(self.drops);
        let before = std::mem::replace(&mut self.drops, drops);
        drops.wrapping_sub(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::config::{PathConfig, Watch};
    use crate::node::hearing::Hearing;
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
        let hearing = Hearing::new(1, PolicyConfig::DuplicateAll {}, Watch::default());
        let clock = Clock::starting_now();
        Paths::new(&[config], sockets, 1500, clock, hearing, false)
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
            while paths.next_at(clock.now()).unwrap().is_some() {
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
        assert_eq!(paths.all[0].flood.admitted, None);
    }
}
