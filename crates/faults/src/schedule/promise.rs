//! Which packets have to arrive.
//!
//! A path *lives* for a packet if nothing befalls it from long before the packet is sent until it has arrived. It is
//! *silent* if nothing crosses it in one direction at least, for so long before that whoever watches it has left it. Of all
//! other paths nothing is known: they may be used, and lose what they carry.

use polypath_core::frame::{OVER_IPV4, PathId};
use polypath_core::liveness::{LivenessConfig, MAX_MISSES};
use polypath_core::pmtu;
use polypath_core::policy::PolicyConfig;
use polypath_core::time::{Duration, Time};
use polypath_session::session::{MAX_RETRY_INTERVAL, SILENCE_TIMEOUT};

use super::attacks::EARNED_AGAIN;
use super::{Disturbance, INTERFACE_MTU, Incident, Schedule, Settings, Span, Trouble};
use crate::packet;
use crate::parcel::End;

/// How long one of so many paths has to live in both directions, with nothing befalling either node, until every packet
/// arrives.
///
/// A node whose keys its peer does not know finds that out [`SILENCE_TIMEOUT`] it sent the first frame that nothing
/// answers. Then a handshake begins at least every [`MAX_RETRY_INTERVAL`]: one gives way to the peer's own, and up to two less
/// one for each path are answered on paths that do not bring the answer back. Two seconds are for round trips, and for
/// the first packet to be sent.
#[must_use]
pub fn settled_after(paths: usize) -> Duration {
    SILENCE_TIMEOUT + MAX_RETRY_INTERVAL * (2 * paths as u64) + ROUND_TRIPS
}

/// How much longer that takes where a path goes by a relay.
///
/// A node whose keys the relay does not know finds that out as it does with its peer, and then joins the relay with the next
/// try: the relay begins no handshake to which one could give way, and its answer has one path. Until then
/// nothing that is sent to the peer leaves it.
pub const JOINED_AFTER: Duration = Duration(SILENCE_TIMEOUT.0 + MAX_RETRY_INTERVAL.0);

/// How long a packet may take on a path that lives: longer than any delay that is drawn, queues included.
pub const DELIVERED_WITHIN: Duration = Duration::from_secs(2);

/// The network holds back a datagram by at most this.
pub(super) const MOST_LATE: Duration = Duration::from_millis(500);
/// For the round trips of what is waited for.
const ROUND_TRIPS: Duration = Duration::from_secs(2);
/// So many troubles that lose a datagram each make no size fail.
const HARMLESS: usize = pmtu::MAX_PROBES as usize - 1;

/// What is known of a path while a packet is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// It carries the packet.
    Lives,
    /// It carries the packet if that is sent there, and the sender may take it for too narrow.
    Doubted,
    /// It is left by whoever watches it.
    Silent,
    /// Nothing.
    Unknown,
}

impl Disturbance {
    /// One of a path.
    #[must_use]
    pub const fn of(path: PathId, span: Span) -> Self {
        Self {
            path: Some(path),
            span,
            is_silence: false,
        }
    }

    /// One of all paths.
    #[must_use]
    pub const fn of_all(span: Span) -> Self {
        Self {
            path: None,
            span,
            is_silence: false,
        }
    }

    /// The same, during which nothing crosses if `is_silence`.
    #[must_use]
    pub const fn silent(self, is_silence: bool) -> Self {
        Self { is_silence, ..self }
    }
}

impl Schedule {
    /// [`settled_after`] with its paths; [`JOINED_AFTER`] if one goes by a relay; and the longest time between two tries of a
    /// silent path where a node watches its paths, with the round trip of the answer.
    #[must_use]
    pub fn settled_after(&self) -> Duration {
        let by_relay = self.paths.iter().any(|path| path.by_relay);
        let joined = if by_relay {
            JOINED_AFTER
        } else {
            Duration::ZERO
        };
        settled_after(self.paths.len()) + joined + LivenessConfig::default().retry + ROUND_TRIPS
    }

    /// Whether a packet of `len` bytes has to arrive that an application of `from` sends at `at`.
    #[must_use]
    pub fn promises(&self, from: End, at: Time, len: u16) -> bool {
        let settled_after = self.settled_after();
        if at < Time::ZERO + settled_after {
            return false;
        }
        let needed = Span {
            from: at - settled_after,
            until: at + DELIVERED_WITHIN,
        };
        let all = |d: &Disturbance| d.path.is_none() && d.span.meets(&needed);
        !self.disturbances.iter().any(all) && self.carries(from, at, len)
    }

    /// Whether short packets of both ends have to arrive once the calm has settled, whatever they are.
    pub(super) fn promises_calm(&self) -> bool {
        // A flood may be earned again a little after the calm has begun.
        let settled = self.calm_from + self.settled_after() + EARNED_AGAIN + Duration(1);
        let short = |end, at| self.promises(end, at, packet::LEAST + 1);
        let by = |end| short(end, settled) && short(end, self.closing);
        End::ALL.into_iter().all(by)
    }

    /// Whether one of the paths on which a policy may send the packet brings it, and none of them loses it.
    ///
    /// What goes on all paths needs one that lives. Otherwise whoever watches the paths uses any that is not silent, and whoever
    /// does not uses the one that the policy names, or any where it switches.
    fn carries(&self, from: End, at: Time, len: u16) -> bool {
        let Settings { policy, liveness } = self.settings(from, at);
        let life = |path| self.life(path, at, len, liveness);
        let lives = |path| life(path) == Life::Lives;
        let is_on_all = match policy {
            PolicyConfig::DuplicateAll {} => true,
            PolicyConfig::SinglePath { .. } => false,
            PolicyConfig::DuplicateAcks { .. } | PolicyConfig::ProbeAndSwitch { .. } => {
                len == packet::LEAST
            }
        };
        let mut paths = self.path_ids();
        if is_on_all {
            return paths.any(lives);
        }
        if liveness.is_some() {
            return self.path_ids().any(lives) && paths.all(|path| life(path) != Life::Unknown);
        }
        match policy {
            PolicyConfig::SinglePath { path } | PolicyConfig::DuplicateAcks { path } => {
                lives(PathId(path))
            }
            PolicyConfig::DuplicateAll {} | PolicyConfig::ProbeAndSwitch { .. } => paths.all(lives),
        }
    }

    fn life(&self, path: PathId, at: Time, len: u16, watch: Option<LivenessConfig>) -> Life {
        let until = at + DELIVERED_WITHIN;
        let lived = Span {
            from: at - self.settled_after(),
            until,
        };
        let mut own = self.disturbances.iter().filter(|d| d.path == Some(path));
        if !own.clone().any(|d| d.span.meets(&lived)) {
            let plan = &self.paths[path.index()];
            return match () {
                () if plan.packet_in(plan.mtu) < len => Life::Unknown,
                () if watch.is_some() && !self.is_sure(path, at, len) => Life::Doubted,
                () => Life::Lives,
            };
        }
        let is_left = watch.is_some_and(|watch| {
            let from = at - self.left_after(path, &watch);
            own.any(|d| d.is_silence && d.span.contains(from) && d.span.contains(until))
        });
        if is_left { Life::Silent } else { Life::Unknown }
    }

    /// Whether a search that is under way or over lets a packet of `len` bytes on a path that carries it.
    fn is_sure(&self, path: PathId, at: Time, len: u16) -> bool {
        let plan = &self.paths[path.index()];
        let is_base = len <= pmtu::BASE_PACKET && pmtu::BASE_PACKET <= plan.packet_in(plan.mtu);
        let is_tried = !plan.is_narrow() || is_base;
        len <= pmtu::MIN_PACKET || (is_tried && !self.is_doubted(path, at))
    }

    /// Whether the size of a path has to be known at `at`: it lives, and nothing has made a size fail that it carries.
    #[must_use]
    pub fn measures(&self, path: PathId, at: Time) -> bool {
        let lived = Span {
            from: at - self.settled_after(),
            until: at,
        };
        let concerns = |d: &&Disturbance| d.path.is_none_or(|other| other == path);
        let mut own = self.disturbances.iter().filter(concerns);
        !own.any(|d| d.span.meets(&lived)) && !self.is_doubted(path, at)
    }

    /// Whether by `at` something may have made a size fail that the path carries.
    ///
    /// A size fails by [`pmtu::MAX_PROBES`] probes in a row that are lost or held back, where heartbeats that left after
    /// each are answered: what loses everything for a time is over by then, and another one begins for the next probe.
    #[must_use]
    pub fn is_doubted(&self, path: PathId, at: Time) -> bool {
        let own = self.disturbances.iter().filter(|d| d.path == Some(path));
        let starts = self.incidents.iter();
        let starts = starts
            .filter(|(then, incident)| *then <= at && matches!(incident, Incident::Start { .. }));
        // Both nodes have to start once.
        let restarts = starts.count().saturating_sub(End::ALL.len());
        let losses = restarts + own.filter(|d| d.span.from <= at).count();
        let mut spells = self.spells.iter().filter(|spell| spell.path == path);
        let is_partial = |trouble| !matches!(trouble, Trouble::Down | Trouble::Duplication(_));
        spells.any(|spell| spell.span.from <= at && is_partial(spell.trouble)) || losses > HARMLESS
    }

    /// After this a watched path on which nothing comes back is silent ([`polypath_core::liveness`]), whatever its losses
    /// were and its round trips, and whatever was still under way.
    fn left_after(&self, path: PathId, watch: &LivenessConfig) -> Duration {
        let (late, round_trip) = (self.late(path), self.round_trip(path));
        // RTTVAR is at most half the first round trip, or what they differ by.
        let timeout = (round_trip + late) * 3 + late * 4;
        watch.standby + watch.interval * u64::from(MAX_MISSES) + timeout * 2 + ROUND_TRIPS
    }

    /// By how much more a heartbeat and its answer may ever have taken together: what the network holds back, and nodes that
    /// are not served.
    fn late(&self, path: PathId) -> Duration {
        let on_path = self.spells.iter().filter(|spell| spell.path == path);
        let held = on_path.map(|spell| match spell.trouble {
            Trouble::Reordering(_, by) if spell.from.is_none() => by * 2,
            Trouble::Reordering(_, by) => by,
            _ => Duration::ZERO,
        });
        let stalls = self.incidents.iter().map(|(at, incident)| match incident {
            Incident::Stall(_, until) => until.since(*at),
            _ => Duration::ZERO,
        });
        let longest = stalls.max().unwrap_or(Duration::ZERO);
        held.fold(longest * 2, |sum, by| sum + by)
    }

    /// The round-trip time of a path on which nothing is wrong, but for queues.
    fn round_trip(&self, path: PathId) -> Duration {
        let plan = &self.paths[path.index()];
        let hops = if plan.by_relay { 2 } else { 1 };
        let [there, back] = plan.lag;
        Duration::from_millis(plan.delay_ms) * (2 * hops) + (there + back) * hops
    }

    /// The longest packet that the search for the size of a path may find, in bytes: what crosses, but no more than the
    /// longest that there is.
    #[must_use]
    pub fn longest(&self, path: PathId) -> u16 {
        let plan = &self.paths[path.index()];
        plan.packet_in(plan.mtu).min(self.tun_mtu())
    }
}

// All that the least size is for crosses every path.
const _: () = assert!(pmtu::MIN_PACKET as u32 + OVER_IPV4 < INTERFACE_MTU as u32);
