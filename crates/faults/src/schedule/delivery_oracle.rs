//! The packets that have to arrive.
//!
//! For a packet, a path *delivers* if no disturbance affects it from long before the packet is sent
//! until it has arrived. It is *silent* if an outage of at least one direction lasts for so long
//! that a node that monitors its paths avoids it. Nothing is known of any other path: it may be
//! used, and may lose the packet.

use polypath_core::combine::Reaction;
use polypath_core::frame::{OVER_IPV4, PathId};
use polypath_core::liveness::{LivenessConfig, MAX_MISSES};
use polypath_core::packet::Kind;
use polypath_core::pmtu;
use polypath_core::time::{Duration, Time};
use polypath_session::session::{MAX_RETRY_INTERVAL, RELAY_SILENCE_TIMEOUT, SILENCE_TIMEOUT};

use super::{Disturbance, INTERFACE_MTU, Impairment, Incident, Schedule, Settings, Span};
use crate::datagram::End;
use crate::packet;

/// The time for which one of `paths` paths has to work in both directions, with neither node
/// disturbed, until every packet arrives.
///
/// A node whose keys the peer has lost detects that [`SILENCE_TIMEOUT`] after the first unanswered
/// frame. Then it initiates a handshake at least every [`MAX_RETRY_INTERVAL`]. One initiation may
/// lose to the peer's own, and up to two per path less one may be answered on paths that lose the
/// response. The remaining time is for round trips, and for the first packet to be sent.
#[must_use]
pub fn settling_time(paths: usize) -> Duration {
    SILENCE_TIMEOUT + MAX_RETRY_INTERVAL * (2 * paths as u64) + ROUND_TRIPS
}

/// The additional time on a relayed path.
///
/// A node whose keys the relay has lost detects that 1.5 s after an unanswered frame
/// ([`RELAY_SILENCE_TIMEOUT`]), and establishes a new session with its next attempt: the relay
/// initiates no handshakes, and its response has only one path. Until then the node sends nothing
/// to the peer.
pub const RELAY_SETTLING_TIME: Duration = Duration(RELAY_SILENCE_TIMEOUT.0 + MAX_RETRY_INTERVAL.0);

/// The time until a packet is delivered on a working path: longer than any drawn delay, including
/// queues.
pub const DELIVERY_TIME: Duration = Duration::from_secs(2);

/// The largest delay of a reordered datagram.
pub(super) const MAX_REORDERING: Duration = Duration::from_millis(500);
/// The time for round trips of handshakes and heartbeats.
const ROUND_TRIPS: Duration = Duration::from_secs(2);
/// The number of losses that cannot make a probed packet size fail.
const MAX_HARMLESS_LOSSES: usize = pmtu::MAX_PROBES as usize - 1;

/// The known state of a path while a packet is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expectation {
    /// It delivers the packet.
    Delivers,
    /// It delivers the packet if it is used, but the sender may assume a smaller MTU.
    MtuInDoubt,
    /// It is avoided by a node that monitors its paths.
    Silent,
    /// Nothing is known.
    Unknown,
}

impl Disturbance {
    /// A disturbance of one path.
    #[must_use]
    pub const fn on_path(path: PathId, span: Span) -> Self {
        Self {
            path: Some(path),
            span,
            is_outage: false,
        }
    }

    /// A disturbance of all paths.
    #[must_use]
    pub const fn on_all_paths(span: Span) -> Self {
        Self {
            path: None,
            span,
            is_outage: false,
        }
    }

    /// The disturbance with `is_outage` set.
    #[must_use]
    pub const fn with_outage(self, is_outage: bool) -> Self {
        Self { is_outage, ..self }
    }
}

impl Schedule {
    /// The settling time of the schedule: [`settling_time`] of its paths, [`RELAY_SETTLING_TIME`]
    /// if one is relayed, and the longest interval between probes of a silent path with their round
    /// trip.
    #[must_use]
    pub fn settling_time(&self) -> Duration {
        let is_relayed = self.paths.iter().any(|path| path.is_relayed);
        let relay = if is_relayed {
            RELAY_SETTLING_TIME
        } else {
            Duration::ZERO
        };
        settling_time(self.paths.len()) + relay + LivenessConfig::default().retry + ROUND_TRIPS
    }

    /// Whether a packet of `len` bytes that an application of `from` sends at `at` has to arrive.
    #[must_use]
    pub fn must_deliver(&self, from: End, at: Time, len: u16) -> bool {
        let settling_time = self.settling_time();
        if at < Time::ZERO + settling_time {
            return false;
        }
        let needed = Span {
            from: at - settling_time,
            until: at + DELIVERY_TIME,
        };
        let all = |d: &Disturbance| d.path.is_none() && d.span.overlaps(&needed);
        !self.disturbances.iter().any(all)
            && !self.may_drop(from.other(), at)
            && !self.may_wait_too_long(from, at)
            && self.carries(from, at, len)
    }

    /// Whether a node may drop a packet that reaches it after `at`, as a sign of congestion.
    fn may_drop(&self, end: End, at: Time) -> bool {
        let drops = |at| {
            let detector = self.settings(end, at).policy.detector();
            detector.is_some_and(|detector| detector.react == Reaction::Drop)
        };
        drops(at) || drops(at + DELIVERY_TIME)
    }

    /// Whether a node may drop a packet of its application at `at`, since losses have lowered the rate
    /// of its packets.
    fn may_wait_too_long(&self, end: End, at: Time) -> bool {
        let spacing = self.settings(end, at).spacing;
        spacing.is_some_and(|spacing| spacing.control.is_adaptive())
    }

    /// Whether short packets of both nodes have to arrive after the calm has settled.
    pub(super) fn calm_guarantees_delivery(&self) -> bool {
        let settled = self.calm_from + self.settling_time() + Duration(1);
        let short = |end, at| self.must_deliver(end, at, packet::MIN_LEN + 1);
        let by = |end| short(end, settled) && short(end, self.last_packet_at);
        End::ALL.into_iter().all(by)
    }

    /// Whether a path on which the policy may send the packet delivers it, and none of them loses
    /// it.
    ///
    /// A packet on all paths needs one that delivers. Fragments need as many of all paths as
    /// restore a packet, or one if the others are known to be silent: then only the paths that
    /// deliver carry fragments. Otherwise a node that monitors its paths uses any that is not
    /// silent, and any other node uses the path that its policy names, or any if it probes.
    fn carries(&self, from: End, at: Time, len: u16) -> bool {
        let Settings {
            policy, liveness, ..
        } = self.settings(from, at);
        let expectation = |path| self.expectation(path, at, len, liveness);
        let delivers = |path| expectation(path) == Expectation::Delivers;
        // The shortest packets are pure ACKs, the others data.
        let kind = if len == packet::MIN_LEN {
            Kind::PureAck
        } else {
            Kind::Data
        };
        let mut paths = self.path_ids();
        let any_delivers = self.path_ids().any(delivers);
        let is_none = |unwanted: &[Expectation]| {
            let mut all = self.path_ids().map(expectation);
            all.all(|of_path| !unwanted.contains(&of_path))
        };
        if policy.copies(kind) {
            let total = u8::try_from(self.paths.len()).unwrap_or(u8::MAX);
            let needed = usize::from(policy.needed(total));
            let unknown = [Expectation::Unknown, Expectation::MtuInDoubt];
            let is_certain = liveness.is_some() && self.limited.is_none() && is_none(&unknown);
            return paths.filter(|path| delivers(*path)).count() >= needed
                || any_delivers && is_certain;
        }
        if liveness.is_some() {
            return any_delivers && is_none(&[Expectation::Unknown]);
        }
        match policy.fixed_path() {
            Some(path) => delivers(path),
            None => paths.all(delivers),
        }
    }

    fn expectation(
        &self,
        path: PathId,
        at: Time,
        len: u16,
        liveness: Option<LivenessConfig>,
    ) -> Expectation {
        match self.expectation_if_open(path, at, len, liveness) {
            // It delivers until it has reached its limit, and then is avoided.
            Expectation::Delivers | Expectation::MtuInDoubt if self.is_limited(path) => {
                Expectation::Silent
            }
            expectation => expectation,
        }
    }

    /// The state of a path that is not closed.
    fn expectation_if_open(
        &self,
        path: PathId,
        at: Time,
        len: u16,
        liveness: Option<LivenessConfig>,
    ) -> Expectation {
        let until = at + DELIVERY_TIME;
        let window = Span {
            from: at - self.settling_time(),
            until,
        };
        let mut own = self.disturbances.iter().filter(|d| d.path == Some(path));
        if !own.clone().any(|d| d.span.overlaps(&window)) {
            let plan = &self.paths[path.index()];
            return match () {
                () if plan.max_packet(plan.mtu) < len => Expectation::Unknown,
                () if liveness.is_some() && !self.is_mtu_certain(path, at, len) => {
                    Expectation::MtuInDoubt
                }
                () => Expectation::Delivers,
            };
        }
        let is_avoided = liveness.is_some_and(|liveness| {
            let from = at - self.detection_time(path, &liveness);
            own.any(|d| d.is_outage && d.span.contains(from) && d.span.contains(until))
        });
        if is_avoided {
            Expectation::Silent
        } else {
            Expectation::Unknown
        }
    }

    /// Whether MTU discovery, finished or not, permits a packet of `len` bytes on a path that
    /// carries it.
    fn is_mtu_certain(&self, path: PathId, at: Time, len: u16) -> bool {
        let plan = &self.paths[path.index()];
        let is_base = len <= pmtu::BASE_PACKET && pmtu::BASE_PACKET <= plan.max_packet(plan.mtu);
        let is_tried = !plan.is_narrow() || is_base;
        len <= pmtu::MIN_PACKET || (is_tried && !self.mtu_in_doubt(path, at))
    }

    /// Whether the MTU of a path has to be discovered by `at`: the path works and is never closed,
    /// and no carried size may have failed.
    #[must_use]
    pub fn must_find_mtu(&self, path: PathId, at: Time) -> bool {
        let window = Span {
            from: at - self.settling_time(),
            until: at,
        };
        let concerns = |d: &&Disturbance| d.path.is_none_or(|other| other == path);
        let mut own = self.disturbances.iter().filter(concerns);
        !self.may_close(path)
            && !own.any(|d| d.span.overlaps(&window))
            && !self.mtu_in_doubt(path, at)
    }

    /// Whether a packet size that the path carries may have failed by `at`.
    ///
    /// A size fails after [`pmtu::MAX_PROBES`] consecutive probes are lost or late while the
    /// heartbeats sent after them are answered. A total outage does not cause that: it ends before
    /// the heartbeat is answered, and a new one would be needed for the next probe.
    #[must_use]
    pub fn mtu_in_doubt(&self, path: PathId, at: Time) -> bool {
        let own = self.disturbances.iter().filter(|d| d.path == Some(path));
        let starts = self.incidents.iter();
        let starts = starts
            .filter(|(then, incident)| *then <= at && matches!(incident, Incident::Start { .. }));
        // Each node starts once without being a restart.
        let restarts = starts.count().saturating_sub(End::ALL.len());
        let losses = restarts + own.filter(|d| d.span.from <= at).count();
        let mut fault_intervals = self
            .fault_intervals
            .iter()
            .filter(|interval| interval.path == path);
        let is_partial =
            |impairment| !matches!(impairment, Impairment::Down | Impairment::Duplication(_));
        fault_intervals.any(|interval| interval.span.from <= at && is_partial(interval.impairment))
            || losses > MAX_HARMLESS_LOSSES
    }

    /// The time after which a monitored path without answers is silent
    /// ([`polypath_core::liveness`]), whatever its losses and round-trip times were.
    fn detection_time(&self, path: PathId, liveness: &LivenessConfig) -> Duration {
        let (extra, round_trip) = (self.max_extra_delay(path), self.round_trip(path));
        // RTTVAR is at most half the first round-trip time, or their difference.
        let timeout = (round_trip + extra) * 3 + extra * 4;
        liveness.standby + liveness.interval * u64::from(MAX_MISSES) + timeout * 2 + ROUND_TRIPS
    }

    /// The largest additional time of a heartbeat and its answer: reordering, and stalls of the
    /// nodes.
    fn max_extra_delay(&self, path: PathId) -> Duration {
        let on_path = self
            .fault_intervals
            .iter()
            .filter(|interval| interval.path == path);
        let reordering = on_path.map(|interval| match interval.impairment {
            Impairment::Reordering(_, by) if interval.from.is_none() => by * 2,
            Impairment::Reordering(_, by) => by,
            _ => Duration::ZERO,
        });
        let stalls = self.incidents.iter().map(|(at, incident)| match incident {
            Incident::Stall(_, until) => until.since(*at),
            _ => Duration::ZERO,
        });
        let longest = stalls.max().unwrap_or(Duration::ZERO);
        reordering.fold(longest * 2, |sum, by| sum + by)
    }

    /// The round-trip time of a path without faults and queueing.
    fn round_trip(&self, path: PathId) -> Duration {
        let plan = &self.paths[path.index()];
        let hops = if plan.is_relayed { 2 } else { 1 };
        let [there, back] = plan.extra_delay;
        Duration::from_millis(plan.delay_ms) * (2 * hops) + (there + back) * hops
    }

    /// The largest MTU that discovery may find on a path, in bytes: what the path carries, but at
    /// most the MTU of the TUN devices.
    #[must_use]
    pub fn discoverable_mtu(&self, path: PathId) -> u16 {
        let plan = &self.paths[path.index()];
        plan.max_packet(plan.mtu).min(self.tun_mtu())
    }
}

// The minimum packet size fits every path.
const _: () = assert!(pmtu::MIN_PACKET as u32 + OVER_IPV4 < INTERFACE_MTU as u32);
