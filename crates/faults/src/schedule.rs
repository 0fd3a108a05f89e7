//! The schedule of faults of two nodes and the network between them, drawn from one seed.

mod attacks;
mod delivery_oracle;
mod ecn;
mod fault_intervals;
mod first_seeds;
mod limits;
mod liveness_windows;
mod policies;

pub use delivery_oracle::{DELIVERY_TIME, RELAY_SETTLING_TIME, settling_time};
pub use ecn::{EcnFaults, EcnPlan};
pub use first_seeds::*;
pub use limits::LimitedPath;
use polypath_core::frame::{OVER_IPV4, PathId};
use polypath_core::liveness::LivenessConfig;
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::{Seed, Stream};
use polypath_core::spacing::SpacingConfig;
use polypath_core::time::{Duration, Time};
use polypath_session::session::Limits;
use polypath_session::tunnel::packet_overhead;

use crate::datagram::End;
use crate::packet;

/// The MTU of every interface, in bytes.
pub const INTERFACE_MTU: u16 = 1500;
/// The time for which packets are sent after the calm has settled.
const CALM_TRAFFIC: Duration = Duration::from_secs(8);
/// The rate limit of a relay that drops nothing: more than applications and heartbeats need.
const DEFAULT_RELAY_KBITS: u64 = 10_000;
/// The time after the last packet that has to arrive.
const TAIL: Duration = Duration::from_millis(100);

/// An interval of time, including its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first instant.
    pub from: Time,
    /// Its last.
    pub until: Time,
}

impl Span {
    /// Whether the intervals overlap.
    #[must_use]
    pub fn overlaps(&self, other: &Span) -> bool {
        self.from <= other.until && other.from <= self.until
    }

    /// Whether it contains `at`.
    #[must_use]
    pub fn contains(&self, at: Time) -> bool {
        self.from <= at && at <= self.until
    }
}

/// The parameters of a path without faults.
#[derive(Clone, Copy, Debug)]
pub struct PathPlan {
    /// The rate in each direction, in kilobits per second.
    pub kbits: u64,
    /// The delay in each direction, in milliseconds.
    pub delay_ms: u64,
    /// The additional delay of the datagrams of each node.
    pub extra_delay: [Duration; 2],
    /// The node that learns its peer's address; both are configured if absent.
    pub learner: Option<End>,
    /// Whether it uses a relay: each hop has these parameters, both nodes know the address of the
    /// relay, and the relay learns theirs.
    pub is_relayed: bool,
    /// The rate limit of its relay for each node, in kilobits per second.
    pub relay_kbits: u64,
    /// The MTU in bytes; longer IP packets are lost silently.
    pub mtu: u16,
}

impl PathPlan {
    /// The longest packet of an application for an outer IP packet of `mtu` bytes.
    #[must_use]
    pub fn max_packet(&self, mtu: u16) -> u16 {
        let over = OVER_IPV4 as usize + packet_overhead(self.is_relayed);
        mtu.saturating_sub(u16::try_from(over).unwrap_or(u16::MAX))
    }

    /// Whether its MTU is less than that of the interfaces.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        self.mtu < INTERFACE_MTU
    }
}

/// The parameters of the nodes and their applications.
#[derive(Clone, Debug)]
pub struct NodesPlan {
    /// The initial settings of each node.
    pub settings: [Settings; 2],
    /// The size of the duplicate window, in packets.
    pub window: u32,
    /// The lifetime of keys at both nodes.
    pub limits: Limits,
    /// The applications of both nodes.
    pub apps: [App; 2],
    /// The options of handshakes.
    pub state: StatePlan,
}

/// The options of the nodes that concern handshakes.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatePlan {
    /// Whether both have a pre-shared key.
    pub has_preshared_key: bool,
    /// Whether each keeps the timestamp of its peer over a restart.
    pub keeps_timestamp: [bool; 2],
}

/// The settings that a reload may change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Its policy.
    pub policy: PolicyConfig,
    /// The configuration of path liveness, if it is enabled.
    pub liveness: Option<LivenessConfig>,
    /// The spacing of its packets, if they are spaced.
    pub spacing: Option<SpacingConfig>,
}

/// An application that sends at random intervals from `min_interval` to twice that.
#[derive(Clone, Copy, Debug)]
pub struct App {
    /// The minimum interval.
    pub min_interval: Duration,
    /// The maximum length of a packet, in bytes.
    pub max_len: u16,
}

/// An impairment of a direction of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Impairment {
    /// Nothing arrives.
    Down,
    /// This fraction is lost.
    Loss(f64),
    /// This fraction is corrupted.
    Corruption(f64),
    /// This fraction is duplicated.
    Duplication(f64),
    /// This fraction is delayed by up to this time.
    Reordering(f64, Duration),
    /// The MTU is reduced to this number of bytes.
    ReducedMtu(u16),
}

/// An impairment of a path for an interval of time.
#[derive(Clone, Copy, Debug)]
pub struct FaultInterval {
    /// The path.
    pub path: PathId,
    /// The node whose datagrams are affected; both if absent.
    pub from: Option<End>,
    /// The interval.
    pub span: Span,
    /// The impairment.
    pub impairment: Impairment,
}

impl FaultInterval {
    /// An impairment of a path in both directions.
    const fn of_path(path: PathId, span: Span, impairment: Impairment) -> Self {
        Self {
            path,
            from: None,
            span,
            impairment,
        }
    }
}

/// An incident at a node or a relay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Incident {
    /// The node crashes.
    Stop(End),
    /// The node starts without any state.
    Start {
        /// The node.
        end: End,
        /// Its wall clock, in nanoseconds since 1970.
        wall_clock: u64,
        /// Whether the wall clock is behind the latest timestamp sent to the peer.
        is_clock_behind: bool,
        /// Whether an impostor with another key starts in its place.
        is_impostor: bool,
    },
    /// The node reloads its configuration.
    Reload(End, Settings),
    /// The driver of the node stalls until then, and catches up.
    Stall(End, Time),
    /// The address of the node on a path changes.
    Move(End, PathId),
    /// The relay of a path crashes.
    StopRelay(PathId),
    /// The relay of a path starts without any state.
    StartRelay(PathId),
    /// A new period begins for the quota of a path.
    Renew(End, PathId),
}

/// The kind of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AttackKind {
    /// Random bytes, often with the type and length of a datagram.
    Junk,
    /// A replay of a datagram that the node has accepted.
    Replay,
    /// A replay of an initiation that the node accepted before its restart.
    OldHandshake,
    /// A replay on another path.
    OtherPath,
    /// A reflection of the node's own datagram.
    Reflection,
    /// A truncated datagram.
    Truncated,
    /// A datagram with flipped bits.
    Flipped,
    /// A datagram with appended bytes.
    Extended,
    /// An initiation with an unknown static key and a valid MAC.
    WrongKey,
    /// The same, with a cookie once the attacker has got one.
    WithCookie,
    /// An initiation for another node, with an invalid MAC.
    WrongTarget,
    /// The peer's newest initiation, before that arrives.
    NewestInitiation,
}

impl AttackKind {
    /// All kinds but [`AttackKind::NewestInitiation`], which needs an initiation to outrun.
    pub const ALL: [AttackKind; 11] = [
        AttackKind::Junk,
        AttackKind::Replay,
        AttackKind::OldHandshake,
        AttackKind::OtherPath,
        AttackKind::Reflection,
        AttackKind::Truncated,
        AttackKind::Flipped,
        AttackKind::Extended,
        AttackKind::WrongKey,
        AttackKind::WithCookie,
        AttackKind::WrongTarget,
    ];
}

/// A datagram sent by an attacker.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// The time of its arrival.
    pub at: Time,
    /// The target.
    pub target: End,
    /// Whether it is sent to the relay instead, as if by the target.
    pub at_relay: bool,
    /// The path.
    pub path: PathId,
    /// The kind of attack.
    pub kind: AttackKind,
    /// Whether its source address is spoofed to be the peer's.
    pub is_spoofed: bool,
}

/// An attacker who answers each initiation of a node at once, faster than its peer.
#[derive(Clone, Copy, Debug)]
pub struct Reaction {
    /// The node that initiates.
    pub to: End,
    /// The interval.
    pub span: Span,
    /// The reaction.
    pub kind: ReactionKind,
}

/// The reaction to an initiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReactionKind {
    /// Replays an older initiation of the peer to the node, as if the peer initiated as well.
    Replay,
    /// Sends the receiver of the initiation more others than it admits, before that arrives.
    Exhaust,
    /// Sends the receiver copies of the initiation, and more others than it admits, before that
    /// arrives.
    Outrun,
}

impl ReactionKind {
    /// All kinds.
    pub const ALL: [ReactionKind; 3] = [Self::Replay, Self::Exhaust, Self::Outrun];
}

/// An interval in which no delivery is required, on one path or on all.
#[derive(Clone, Copy, Debug)]
pub struct Disturbance {
    /// The path; all if absent.
    pub path: Option<PathId>,
    /// The interval.
    pub span: Span,
    /// Whether it is an outage of at least one direction of the path.
    pub is_outage: bool,
}

/// The schedule of a run, in the order of time.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The seed.
    pub seed: Seed,
    /// The paths.
    pub paths: Vec<PathPlan>,
    /// The nodes.
    pub nodes: NodesPlan,
    /// The incidents at nodes and relays.
    pub incidents: Vec<(Time, Incident)>,
    /// A path with limits, if there is one.
    pub limited: Option<LimitedPath>,
    /// The receivers of ECN fields, and the changes of the network.
    pub ecn: EcnPlan,
    /// The impairments of the paths.
    pub fault_intervals: Vec<FaultInterval>,
    /// The datagrams of attackers.
    pub attacks: Vec<Attack>,
    /// The reactions of attackers to initiations.
    pub reactions: Vec<Reaction>,
    /// The intervals in which no delivery is required.
    pub disturbances: Vec<Disturbance>,
    /// The start of the calm: no more incidents, and a path that carries data works.
    pub calm_from: Time,
    /// The time of the last packet.
    pub last_packet_at: Time,
    /// The end of the run.
    pub end: Time,
}

impl Schedule {
    /// Draws the schedule of a seed.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let seed = Seed(seed);
        let mut schedule = Self::without_faults(seed, &mut seed.stream("faults/nodes"));
        schedule.nodes.state = draw_state(&mut seed.stream("faults/state"));
        schedule.ecn = EcnPlan::draw(&mut seed.stream("faults/ecn"));
        let faults = &mut seed.stream("faults/faults");
        let eventful = Duration::from_millis(8_000 + faults.below(32_000));
        let calm_from = liveness_windows::draw(&mut schedule, Time::ZERO + eventful);
        schedule.calm_from = calm_from;
        schedule.last_packet_at = calm_from + schedule.settling_time() + CALM_TRAFFIC;
        schedule.end = schedule.last_packet_at + DELIVERY_TIME + TAIL;
        fault_intervals::draw(&mut schedule);
        attacks::draw(&mut schedule);
        policies::draw_later(&mut schedule);
        limits::draw(&mut schedule);
        schedule
    }

    /// Nodes and paths without faults.
    fn without_faults(seed: Seed, stream: &mut Stream) -> Self {
        let count = pick(stream, &[1, 2, 2, 2, 3, 4]);
        let is_wide = stream.chance(0.6);
        let path = |stream: &mut Stream| draw_path(stream, is_wide);
        let paths = (0..count).map(|_| path(stream)).collect();
        Self {
            seed,
            paths,
            nodes: draw_nodes(stream, count),
            incidents: Vec::new(),
            limited: None,
            ecn: EcnPlan::default(),
            fault_intervals: Vec::new(),
            attacks: Vec::new(),
            reactions: Vec::new(),
            disturbances: Vec::new(),
            calm_from: Time::ZERO,
            last_packet_at: Time::ZERO,
            end: Time::ZERO,
        }
    }

    /// The numbers of the paths.
    pub fn path_ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..u8::try_from(self.paths.len()).unwrap_or(u8::MAX)).map(PathId)
    }

    /// The paths that use a relay.
    pub fn relayed_paths(&self) -> impl Iterator<Item = PathId> + '_ {
        self.path_ids()
            .filter(|path| self.paths[path.index()].is_relayed)
    }

    /// The MTU of the TUN devices in bytes, which follows from the path with the largest overhead.
    #[must_use]
    pub fn tun_mtu(&self) -> u16 {
        let mtus = self.paths.iter().map(|path| path.max_packet(INTERFACE_MTU));
        mtus.min().unwrap_or(INTERFACE_MTU)
    }

    /// The settings of a node at `at`.
    #[must_use]
    pub fn settings(&self, of: End, at: Time) -> Settings {
        let before = self.incidents.iter().rev().filter(|(then, _)| *then <= at);
        let mut read = before.filter_map(|(_, incident)| match incident {
            Incident::Reload(end, settings) if *end == of => Some(*settings),
            _ => None,
        });
        read.next().unwrap_or(self.nodes.settings[of.index()])
    }
}

fn draw_path(stream: &mut Stream, is_wide: bool) -> PathPlan {
    let extra_delay = |stream: &mut Stream| Duration::from_micros(stream.below(50_000));
    let is_relayed = stream.chance(0.3);
    let learner = pick(stream, &[None, Some(End::A), Some(End::B), Some(End::B)]);
    PathPlan {
        kbits: pick(stream, &[2_000, 5_000, 10_000, 50_000]),
        delay_ms: 1 + stream.below(150),
        extra_delay: [extra_delay(stream), extra_delay(stream)],
        learner: learner.filter(|_| !is_relayed),
        is_relayed,
        relay_kbits: DEFAULT_RELAY_KBITS,
        mtu: if is_wide {
            INTERFACE_MTU
        } else {
            pick(stream, &[INTERFACE_MTU, 1_400, 1_280, 1_000, 576])
        },
    }
}

/// Most nodes monitor the liveness of their paths, as by default.
fn draw_nodes(stream: &mut Stream, paths: u64) -> NodesPlan {
    let named = u8::try_from(stream.below(paths)).unwrap_or(0);
    let policy = policies::draw(stream, named);
    let both = [true; 2];
    let watched = pick(stream, &[both, both, both, both, [false; 2], [true, false]]);
    let settings = |is_watched: bool| Settings {
        policy,
        liveness: is_watched.then(LivenessConfig::default),
        spacing: None,
    };
    NodesPlan {
        settings: watched.map(settings),
        window: pick(stream, &[256, 1024, 8192]),
        limits: draw_limits(stream),
        apps: [draw_app(stream), draw_app(stream)],
        state: StatePlan::default(),
    }
}

fn draw_state(stream: &mut Stream) -> StatePlan {
    StatePlan {
        has_preshared_key: stream.chance(0.5),
        keeps_timestamp: [(); 2].map(|()| stream.chance(0.5)),
    }
}

fn draw_limits(stream: &mut Stream) -> Limits {
    let rekey_after = Duration::from_secs(pick(stream, &[3, 5, 8, 15, 30, 120]));
    let responder_grace = Duration::from_millis(500 + stream.below(5_000));
    Limits {
        rekey_after,
        responder_grace,
        rekey_after_count: pick(stream, &[200, 1000, 1 << 48, 1 << 48]),
        reject_after: rekey_after + responder_grace + Duration::from_secs(10 + stream.below(50)),
        retire_after: Duration::from_secs(2 + stream.below(9)),
    }
}

fn draw_app(stream: &mut Stream) -> App {
    App {
        min_interval: Duration::from_millis(pick(stream, &[25, 40, 80, 150, 400])),
        max_len: pick(stream, &[packet::MIN_LEN, 200, 600, 1_350]),
    }
}

fn pick<T: Copy>(stream: &mut Stream, from: &[T]) -> T {
    // The index is below the length.
    from[usize::try_from(stream.below(from.len() as u64)).unwrap_or(0)]
}

#[cfg(test)]
mod tests;
