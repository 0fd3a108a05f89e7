//! How long a packet each path carries whole: packetization-layer path MTU discovery for datagrams (RFC 8899).
//!
//! Heartbeats are small and say nothing of a path that loses long datagrams. So this end sends padded ones
//! ([`Purpose::Size`]), which the other end answers with small ones: an answer proves that
//! a packet as long as the padding crosses the path whole. Messages of routers (ICMP) are not needed, and not read.
//!
//! **Sizes** are those of packets, in bytes; what frames and outer headers add is the driver's business. It tells how
//! long a packet the interface of a path lets through, its *room*; a path whose room it does not tell is not probed.
//!
//! **States** are those of RFC 8899 (5.2). In *base* a small size is asked for, and a still smaller one where that gets
//! no answer. In *search* the room is tried first, which on most paths is the end of it, and then the interval
//! between the largest size that was answered and the smallest that was not is halved until it is at most [`STEP`].
//! In *complete* the size found is asked for again and again; where its answers end, a black hole has opened, and base
//! follows. Before the search after that settles for less, the size that failed is asked for once more: it may have been a
//! burst of losses. After [`RAISE_INTERVAL`] a path narrower than its room is searched anew. In *error* not even the smallest size
//! is answered: by another end that does not know these heartbeats, or by a path on which nothing can be promised.
//!
//! **A size fails** when so many of its probes in a row are overdue that the path's own losses hardly explain them, and
//! never fewer than [`MAX_PROBES`]; and a probe is overdue only once a plain heartbeat that left after it was
//! answered. So a path that is down altogether fails no size. The time after which it is, is twice that after which a
//! heartbeat is overdue ([`crate::liveness`]): RFC 8899 (5.1.1) lets whoever measures round trips derive it from them.
//!
//! **Packets** of any length up to its room go on a path of which nothing is known to the contrary. From the first size that
//! fails until the room is confirmed, only those that a confirmed size covers do; in base the base.

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

/// Least number of unanswered probes after which a size fails (`MAX_PROBES` of RFC 8899, 5.1.2).
pub const MAX_PROBES: u32 = 3;
/// The packet of a datagram of 1200 bytes (`BASE_PLPMTU` of RFC 8899, 5.1.2), in bytes.
pub const BASE_PACKET: u16 = packet_in(1200);
/// The packet in the smallest datagram that every IPv4 host takes (576 bytes, RFC 791), by a relay; in bytes.
pub const MIN_PACKET: u16 = packet_in(576 - OVER_IPV4 - SEAL_LEN);
/// A search ends when the size that it found is less than this below the path's, in bytes.
pub const STEP: u16 = 8;
/// A path that was found narrower than its room is searched anew after this (`PMTU_RAISE_TIMER` of RFC 8899, 5.1.1).
pub const RAISE_INTERVAL: Duration = Duration::from_secs(600);
/// On a path that carries packets the size found is confirmed this often.
pub const CONFIRM_INTERVAL: Duration = Duration::from_secs(5);
/// On a path that carries none.
pub const IDLE_CONFIRM_INTERVAL: Duration = Duration::from_secs(30);
/// Where not even the least size is answered, it is tried again after this.
pub const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// The least that an IPv6 link carries, in bytes (RFC 8200, section 5).
const MIN_V6: u32 = 1280;

/// The packet in a UDP datagram of `len` bytes.
#[expect(clippy::cast_possible_truncation, reason = "at most 1200")]
const fn packet_in(len: u32) -> u16 {
    (len - SEAL_LEN - HEADER_LEN) as u16
}

/// What is known of a path's sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathMtu {
    /// How far the discovery is.
    pub state: MtuState,
    /// The longest packet that is known to cross whole, in bytes; none before the first answer.
    pub confirmed: Option<u16>,
}

/// No path that could be used carries a packet of this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// The longest packet that one of them carries, in bytes.
    pub limit: u16,
    /// Whether that will stand: no search is under way that may raise it.
    pub is_final: bool,
}

/// The sizes of all paths of an endpoint.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    paths: Vec<Option<Search>>,
    /// When the first of them wants to act, as far as was known at the last [`Discovery::refresh`].
    due: Option<Time>,
    /// The latest time that was told; what is due earlier is due then.
    now: Time,
    /// No probe leaves before.
    present: Time,
}

impl Discovery {
    /// Notes that the interface of `path` lets through packets of at most `room` bytes; with 0 it is not probed.
    /// What was found holds no longer where the path goes by another way, `elsewhere`.
    pub(crate) fn set_interface_mtu(
        &mut self,
        now: Time,
        path: PathId,
        room: u16,
        elsewhere: bool,
    ) -> Option<Event> {
        self.now = now;
        if self.paths.len() <= path.index() {
            self.paths.resize(path.index() + 1, None);
        }
        let search = self.paths.get_mut(path.index())?;
        if room == 0 {
            *search = None;
            return None;
        }
        let search = search.get_or_insert_with(|| Search::new(room));
        told(path, search, |search| {
            search.set_interface_mtu(room, elsewhere)
        })
    }

    /// Begins anew on all paths, as where paths are watched again, or no longer.
    pub(crate) fn restart(&mut self, mut tell: impl FnMut(Event)) {
        for (path, search) in (0..).map(PathId).zip(&mut self.paths) {
            if let Some(search) = search {
                told(path, search, Search::restart)
                    .into_iter()
                    .for_each(&mut tell);
            }
        }
    }

    /// What is known of `path`; nothing where it is not probed.
    #[must_use]
    pub fn of(&self, path: PathId) -> Option<PathMtu> {
        Some(self.search(path)?.known())
    }

    /// Notes that nothing leaves before `present`.
    pub(crate) fn on_driver_behind(&mut self, present: Time) {
        self.present = present;
    }

    /// Takes the answer to the probe `id` of `path`, and gives what is to be told.
    pub(crate) fn on_reply(&mut self, now: Time, path: PathId, id: u64) -> Option<Event> {
        self.now = now;
        let search = self.paths.get_mut(path.index())?.as_mut()?;
        told(path, search, |search| search.answer(now, id))
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Time,
        watch: &Liveness,
        mut want: impl FnMut(LivenessOutput),
    ) {
        if now >= self.present {
            self.probe(now, watch, &mut want);
        }
        self.refresh(now, watch);
    }

    fn probe(&mut self, now: Time, watch: &Liveness, want: &mut impl FnMut(LivenessOutput)) {
        for (path, search) in (0..).map(PathId).zip(&mut self.paths) {
            let Some((search, snapshot)) = search.as_mut().zip(watch.snapshot(path, now)) else {
                continue;
            };
            let mut probe = None;
            let event = told(path, search, |search| probe = search.wake(now, &snapshot));
            event
                .map(LivenessOutput::Event)
                .into_iter()
                .for_each(&mut *want);
            if let Some((id, len)) = probe {
                let purpose = Purpose::Size { len };
                want(LivenessOutput::Heartbeat { path, id, purpose });
            }
        }
    }

    /// Takes note of what `watch` knows at `now`: whenever anything of that or here has changed, other than that a path at rest
    /// goes on resting or a busy one comes to rest.
    pub(crate) fn refresh(&mut self, now: Time, watch: &Liveness) {
        self.now = now;
        self.due = self.first_due(watch);
    }

    /// When the next probe leaves or is overdue, or earlier.
    #[must_use]
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let at = self.due?.max(self.present).max(self.now);
        let why = "size of a path";
        Some(Deadline { at, why })
    }

    /// Whether nothing is due before [`Discovery::deadline`] says so.
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

    /// Those of `paths` that carry a packet like `meta` whole; if no trusted one does, those that return.
    ///
    /// # Errors
    /// Where none that can be used does. An IPv6 packet no longer than what any link must carry is tried nevertheless, since
    /// nobody would make it shorter (RFC 8201, section 4).
    pub(crate) fn carriers(&self, paths: Paths, meta: &PacketMeta) -> Result<Paths, TooLong> {
        let usable = self.wide(paths.usable, meta);
        let copies = self.wide(paths.copies, meta);
        let (usable, copies) = match (usable, copies) {
            (Ok(usable), copies) => (usable, copies.unwrap_or(usable)),
            // A path that is not yet trusted is the only one for it, as where no other lives.
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
        if self.paths.is_empty() {
            return Ok(usable);
        }
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

/// Does `what` with the search on `path`, and gives what has come of it, if that is to be told.
fn told(path: PathId, search: &mut Search, what: impl FnOnce(&mut Search)) -> Option<Event> {
    let before = search.report();
    what(search);
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
