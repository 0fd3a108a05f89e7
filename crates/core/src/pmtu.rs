//! Packetization-layer path MTU discovery for datagrams (RFC 8899).
//!
//! Small heartbeats do not detect a path that loses long datagrams. The endpoint therefore sends
//! padded heartbeats ([`Purpose::Size`]), which the peer answers with small ones: an answer proves
//! that the path carries a packet of that length. ICMP messages are not needed and not read.
//!
//! **Sizes** are those of packets, in bytes, without frames and outer headers. The driver reports
//! the MTU of each path's interface; a path without one is not probed.
//!
//! **States** are those of RFC 8899 (5.2). In *base* a small size is probed, and the minimum size
//! if that fails. In *search* the interface MTU is tried first, which completes the search on most
//! paths; then the interval between the largest answered and the smallest failed size is halved
//! until it is at most [`STEP`]. In *complete* the size found is confirmed periodically; if that
//! fails, a black hole has opened, and base follows. The search after that probes the failed size
//! once more before it settles for less, since a burst of losses may be the cause. After
//! [`RAISE_INTERVAL`] a path narrower than its interface MTU is searched again. In *error* the
//! minimum size fails: the peer does not know these heartbeats, or nothing is known of the path.
//!
//! **A size fails** when more consecutive probes are overdue than the losses of the path make
//! plausible, at least [`MAX_PROBES`]. A probe is overdue only after a plain heartbeat that was
//! sent later is answered, so a dead path fails no size. The timeout of a probe is twice that of a
//! heartbeat ([`crate::liveness`]): RFC 8899 (5.1.1) allows deriving it from measured round-trip
//! times.
//!
//! **Packets** up to the interface MTU are sent on a path on which no size has failed. From the
//! first failure until the interface MTU is confirmed, only packets within the confirmed size are;
//! in base, within the base size.

use alloc::vec::Vec;

use crate::event::Event;
use crate::frame::{HEADER_LEN, OVER_IPV4, PathId, Purpose, SEAL_LEN};
use crate::liveness::{Liveness, LivenessOutput};
use crate::machine::Deadline;
use crate::packet::{IpVersion, PacketMeta};
use crate::policy::{PathSet, Paths};
use crate::time::{Duration, Time};
use search::Search;
pub use state::MtuState;

mod search;
pub(crate) mod state;

/// The minimum number of unanswered probes after which a size fails (`MAX_PROBES` of RFC 8899,
/// 5.1.2).
pub const MAX_PROBES: u32 = 3;
/// The packet of a datagram of 1200 bytes (`BASE_PLPMTU` of RFC 8899, 5.1.2), in bytes.
pub const BASE_PACKET: u16 = packet_in(1200);
/// The packet in the smallest datagram that every IPv4 host takes (576 bytes, RFC 791), by a relay;
/// in bytes.
pub const MIN_PACKET: u16 = packet_in(576 - OVER_IPV4 - SEAL_LEN);
/// A search ends when the size that it found is less than this below the path MTU, in bytes.
pub const STEP: u16 = 8;
/// The time after which a path whose MTU is below that of its interface is searched again
/// (`PMTU_RAISE_TIMER` of RFC 8899, 5.1.1).
pub const RAISE_INTERVAL: Duration = Duration::from_secs(600);
/// The interval at which the size found is confirmed on a path that carries packets.
pub const CONFIRM_INTERVAL: Duration = Duration::from_secs(5);
/// The interval of confirmation on an idle path.
pub const IDLE_CONFIRM_INTERVAL: Duration = Duration::from_secs(30);
/// The interval at which the minimum size is tried again after it has failed.
pub const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// The minimum MTU of an IPv6 link, in bytes (RFC 8200, section 5).
const MIN_V6: u32 = 1280;

/// The packet in a UDP datagram of `len` bytes.
#[expect(clippy::cast_possible_truncation, reason = "at most 1200")]
const fn packet_in(len: u32) -> u16 {
    (len - SEAL_LEN - HEADER_LEN) as u16
}

/// The path MTU as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathMtu {
    /// The state of the discovery.
    pub state: MtuState,
    /// The length of the longest packet that was answered, in bytes; `None` before the first
    /// answer.
    pub confirmed: Option<u16>,
}

/// No usable path is wide enough for the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// The largest MTU of a usable path, in bytes.
    pub limit: u16,
    /// Whether no search that may raise it is in progress.
    pub is_final: bool,
}

/// The path MTU discovery of an endpoint.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    paths: Vec<Option<Search>>,
    /// The earliest deadline of a search, as of the last [`Discovery::refresh`].
    due: Option<Time>,
    /// The time of the last call; earlier deadlines are reported as due then.
    now: Time,
    /// The earliest time at which a probe may be sent.
    present: Time,
}

impl Discovery {
    /// Sets the MTU of the interface of `path`; 0 disables discovery. `rerouted` discards the MTU
    /// found so far.
    pub(crate) fn set_interface_mtu(
        &mut self,
        now: Time,
        path: PathId,
        mtu: u16,
        rerouted: bool,
    ) -> Option<Event> {
        self.now = now;
        if self.paths.len() <= path.index() {
            self.paths.resize(path.index() + 1, None);
        }
        let search = self.paths.get_mut(path.index())?;
        if mtu == 0 {
            *search = None;
            return None;
        }
        let search = search.get_or_insert_with(|| Search::new(mtu));
        change(path, search, |search| {
            search.set_interface_mtu(mtu, rerouted);
        })
    }

    /// Restarts the search on all paths.
    pub(crate) fn restart(&mut self, mut report: impl FnMut(Event)) {
        for (path, search) in (0..).map(PathId).zip(&mut self.paths) {
            if let Some(search) = search {
                change(path, search, Search::restart)
                    .into_iter()
                    .for_each(&mut report);
            }
        }
    }

    /// The path MTU of `path`; `None` if it is not probed.
    #[must_use]
    pub fn of(&self, path: PathId) -> Option<PathMtu> {
        Some(self.search(path)?.known())
    }

    /// Notes that nothing is sent before `present`.
    pub(crate) fn on_driver_behind(&mut self, present: Time) {
        self.present = present;
    }

    /// Handles the answer to probe `id` of `path`, and returns the event that follows, if any.
    pub(crate) fn on_reply(&mut self, now: Time, path: PathId, id: u64) -> Option<Event> {
        self.now = now;
        let search = self.paths.get_mut(path.index())?.as_mut()?;
        change(path, search, |search| search.answer(now, id))
    }

    /// Performs the work that is due.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Time,
        watch: &Liveness,
        mut out: impl FnMut(LivenessOutput),
    ) {
        if now >= self.present {
            self.probe(now, watch, &mut out);
        }
        self.refresh(now, watch);
    }

    fn probe(&mut self, now: Time, watch: &Liveness, out: &mut impl FnMut(LivenessOutput)) {
        for (path, search) in (0..).map(PathId).zip(&mut self.paths) {
            let Some((search, snapshot)) = search.as_mut().zip(watch.snapshot(path, now)) else {
                continue;
            };
            let mut probe = None;
            let event = change(path, search, |search| {
                probe = search.handle_timeout(now, &snapshot);
            });
            event
                .map(LivenessOutput::Event)
                .into_iter()
                .for_each(&mut *out);
            if let Some((id, len)) = probe {
                let purpose = Purpose::Size { len };
                out(LivenessOutput::Heartbeat { path, id, purpose });
            }
        }
    }

    /// Updates the deadline. Must be called after every change here or in the liveness monitor,
    /// except if an idle path stays idle or a busy path becomes idle.
    pub(crate) fn refresh(&mut self, now: Time, watch: &Liveness) {
        self.now = now;
        self.due = self.first_due(watch);
    }

    /// The time at which the next probe is due or overdue, or an earlier time.
    #[must_use]
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let at = self.due?.max(self.present).max(self.now);
        let why = "size of a path";
        Some(Deadline { at, why })
    }

    /// Whether nothing is due before [`Discovery::deadline`].
    pub(crate) fn is_fresh(&self, watch: &Liveness) -> bool {
        let due = self.first_due(watch);
        due.is_none_or(|due| self.due.is_some_and(|known| known <= due))
    }

    fn first_due(&self, watch: &Liveness) -> Option<Time> {
        let searches = (0..).map(PathId).zip(&self.paths);
        let due = searches.filter_map(|(path, search)| {
            search.as_ref()?.deadline(&watch.snapshot(path, self.now)?)
        });
        due.min()
    }

    /// The paths that are wide enough for the packet; if no usable path is, the returning paths
    /// that are.
    ///
    /// # Errors
    /// If no path is. An IPv6 packet within the minimum link MTU is tried anyway, since its sender
    /// would not make it shorter (RFC 8201, section 4).
    #[inline]
    pub(crate) fn carriers(&self, paths: Paths, meta: &PacketMeta) -> Result<Paths, TooLong> {
        if self.paths.is_empty() {
            return Ok(paths);
        }
        self.wide_paths(paths, meta)
    }

    fn wide_paths(&self, paths: Paths, meta: &PacketMeta) -> Result<Paths, TooLong> {
        let usable = self.wide(paths.usable, meta);
        let copies = self.wide(paths.copies, meta);
        let (usable, copies) = match (usable, copies) {
            (Ok(usable), copies) => (usable, copies.unwrap_or(usable)),
            // Only returning paths are wide enough, as if no path were live.
            (Err(_), Ok(copies)) => (copies, copies),
            (Err(too_long), Err(_)) => return Err(too_long),
        };
        Ok(Paths {
            usable,
            copies,
            ..paths
        })
    }

    fn wide(&self, usable: PathSet, meta: &PacketMeta) -> Result<PathSet, TooLong> {
        let limit = |path| self.search(path).map_or(u16::MAX, Search::limit);
        let wide = usable
            .into_iter()
            .filter(|path| meta.size <= u32::from(limit(*path)))
            .fold(PathSet::EMPTY, PathSet::with);
        if !wide.is_empty() || usable.is_empty() {
            return Ok(wide);
        }
        if meta.version == IpVersion::V6 && meta.size <= MIN_V6 {
            return Ok(usable);
        }
        let is_final = |path| self.search(path).is_none_or(Search::is_final);
        Err(TooLong {
            limit: usable.into_iter().map(limit).max().unwrap_or(0),
            is_final: usable.into_iter().all(is_final),
        })
    }

    fn search(&self, path: PathId) -> Option<&Search> {
        self.paths.get(path.index())?.as_ref()
    }
}

/// Applies `action` to the search on `path`, and returns an event if its report changes.
fn change(path: PathId, search: &mut Search, action: impl FnOnce(&mut Search)) -> Option<Event> {
    let before = search.report();
    action(search);
    let report = search.report();
    (report != before).then_some(Event::PathMtu {
        path,
        state: report.state,
        packet: report.found,
        limit: report.limit,
    })
}

#[cfg(test)]
mod tests;
