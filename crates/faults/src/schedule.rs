//! What befalls two nodes and the network between them, drawn from one seed.

mod attacks;
mod lives;
mod promise;
mod spells;

use polypath_core::frame::{OVER_IPV4, PathId};
use polypath_core::liveness::LivenessConfig;
use polypath_core::policy::PolicyConfig;
use polypath_core::rng::{Seed, Stream};
use polypath_core::time::{Duration, Time};
use polypath_session::session::Limits;
use polypath_session::tunnel::packet_overhead;
pub use promise::{DELIVERED_WITHIN, JOINED_AFTER, settled_after};

use crate::packet;
use crate::parcel::End;

/// The MTU of every interface, in bytes.
pub const INTERFACE_MTU: u16 = 1500;
/// How long packets are sent after all is settled at the end.
const ASSURED: Duration = Duration::from_secs(8);
/// What a relay forwards at least where nothing is lost by it: more than applications and heartbeats take.
const AMPLE_KBITS: u64 = 10_000;
/// Rest of the run after the last packet that has to arrive.
const CLOSING: Duration = Duration::from_millis(100);

/// A span of time; its end is part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first instant.
    pub from: Time,
    /// Its last.
    pub until: Time,
}

impl Span {
    /// Whether they have an instant in common.
    #[must_use]
    pub fn meets(&self, other: &Span) -> bool {
        self.from <= other.until && other.from <= self.until
    }

    /// Whether `at` lies in it.
    #[must_use]
    pub fn contains(&self, at: Time) -> bool {
        self.from <= at && at <= self.until
    }
}

/// A path while nothing is wrong with it.
#[derive(Clone, Copy, Debug)]
pub struct PathPlan {
    /// Kilobits per second in each direction.
    pub kbits: u64,
    /// Milliseconds of delay in each direction.
    pub delay_ms: u64,
    /// Further delay of what each end sends.
    pub lag: [Duration; 2],
    /// The end that learns where its peer is; both know where neither does.
    pub learner: Option<End>,
    /// Whether it goes by a relay: each hop is like this, both nodes know where the relay is, and it learns where they are.
    pub by_relay: bool,
    /// What its relay forwards of each node, in kilobits per second.
    pub relay_kbits: u64,
    /// The longest IP packet that crosses it, in bytes; what is longer is lost without a word.
    pub mtu: u16,
}

impl PathPlan {
    /// The longest packet of an application that leaves in an IP packet of `mtu` bytes.
    #[must_use]
    pub fn packet_in(&self, mtu: u16) -> u16 {
        let over = OVER_IPV4 as usize + packet_overhead(self.by_relay);
        mtu.saturating_sub(u16::try_from(over).unwrap_or(u16::MAX))
    }

    /// Whether it carries less than the interfaces let through.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        self.mtu < INTERFACE_MTU
    }
}

/// What both nodes and their applications are like.
#[derive(Clone, Debug)]
pub struct NodesPlan {
    /// What each node starts with.
    pub settings: [Settings; 2],
    /// How many packets are remembered to recognise copies.
    pub window: u32,
    /// When both renew their keys.
    pub limits: Limits,
    /// The applications of both nodes.
    pub apps: [App; 2],
}

/// What of a node's file a reload may change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Its policy.
    pub policy: PolicyConfig,
    /// How it watches its paths, if it does.
    pub liveness: Option<LivenessConfig>,
}

/// An application: packets at intervals, from once to twice `every`.
#[derive(Clone, Copy, Debug)]
pub struct App {
    /// The least interval.
    pub every: Duration,
    /// The greatest length of a packet, in bytes.
    pub longest: u16,
}

/// What is wrong with a direction of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    /// Nothing arrives.
    Down,
    /// This share is lost.
    Loss(f64),
    /// This share arrives changed.
    Corruption(f64),
    /// This share arrives more than once.
    Duplication(f64),
    /// This share arrives later, by up to so much.
    Reordering(f64, Duration),
    /// IP packets that are longer than so many bytes are lost.
    Narrow(u16),
}

/// Trouble for a time.
#[derive(Clone, Copy, Debug)]
pub struct Spell {
    /// The path.
    pub path: PathId,
    /// Whose datagrams it befalls; those of both ends if absent.
    pub from: Option<End>,
    /// When.
    pub span: Span,
    /// What.
    pub trouble: Trouble,
}

/// What befalls a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Incident {
    /// It ends without a word.
    Stop(End),
    /// It starts anew and knows nothing.
    Start {
        /// Which node.
        end: End,
        /// What it reads on its wall clock, in nanoseconds since 1970.
        wall: u64,
        /// Whether the clock shows less than the node has shown its peer before.
        is_behind: bool,
        /// Whether somebody else comes up in its place, with another key.
        is_impostor: bool,
    },
    /// It reads its file again.
    Adjust(End, Settings),
    /// It is not served until then, and catches up.
    Stall(End, Time),
    /// It gets another address on a path.
    Move(End, PathId),
    /// The relay of a path ends without a word.
    StopRelay(PathId),
    /// The relay of a path starts, and knows nothing of before.
    StartRelay(PathId),
}

/// What a stranger sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ruse {
    /// Random bytes of any length, often with the type of a datagram and its length.
    Junk,
    /// A datagram that the node has taken before.
    Replay,
    /// A handshake that it has taken before it started anew.
    OldHandshake,
    /// One that it has taken, on another path.
    OtherPath,
    /// A node's own datagram, back to it.
    Reflection,
    /// A part of a datagram that was on its way.
    Truncated,
    /// A datagram that was on its way, with bits changed.
    Flipped,
    /// A datagram that was on its way, with bytes added.
    Extended,
    /// A handshake by somebody who knows the node's public key, and has another one than its peer.
    WrongKey,
    /// A handshake by somebody who takes the node for another.
    WrongTarget,
}

impl Ruse {
    /// All of them.
    pub const ALL: [Ruse; 10] = [
        Ruse::Junk,
        Ruse::Replay,
        Ruse::OldHandshake,
        Ruse::OtherPath,
        Ruse::Reflection,
        Ruse::Truncated,
        Ruse::Flipped,
        Ruse::Extended,
        Ruse::WrongKey,
        Ruse::WrongTarget,
    ];
}

/// A datagram of a stranger.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// When it arrives.
    pub at: Time,
    /// Where.
    pub target: End,
    /// Whether at the relay instead of the node itself, as if it were the node's.
    pub at_relay: bool,
    /// On which path.
    pub path: PathId,
    /// What it is.
    pub ruse: Ruse,
    /// Whether it says that it comes from the peer's address.
    pub is_spoofed: bool,
}

/// A time at which nothing is promised: of one path, or of all.
#[derive(Clone, Copy, Debug)]
pub struct Disturbance {
    /// The path; all if absent.
    pub path: Option<PathId>,
    /// When.
    pub span: Span,
    /// Whether nothing crosses the path then, in one direction at least.
    pub is_silence: bool,
}

/// All that befalls two nodes, in the order of time.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The seed.
    pub seed: Seed,
    /// The paths.
    pub paths: Vec<PathPlan>,
    /// The nodes.
    pub nodes: NodesPlan,
    /// What befalls the nodes.
    pub incidents: Vec<(Time, Incident)>,
    /// What befalls the paths.
    pub spells: Vec<Spell>,
    /// What strangers send.
    pub attacks: Vec<Attack>,
    /// When nothing is promised.
    pub disturbances: Vec<Disturbance>,
    /// From when on a path lives that carries data, and nothing befalls the nodes.
    pub calm_from: Time,
    /// When the last packet is sent.
    pub closing: Time,
    /// When the run ends.
    pub end: Time,
}

impl Schedule {
    /// The schedule of a seed.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let seed = Seed(seed);
        let mut schedule = Self::quiet(seed, &mut seed.stream("faults/nodes"));
        let faults = &mut seed.stream("faults/faults");
        let eventful = Duration::from_millis(8_000 + faults.below(32_000));
        let calm_from = lives::draw(&mut schedule, Time::ZERO + eventful);
        schedule.calm_from = calm_from;
        schedule.closing = calm_from + schedule.settled_after() + ASSURED;
        schedule.end = schedule.closing + DELIVERED_WITHIN + CLOSING;
        spells::draw(&mut schedule);
        attacks::draw(&mut schedule);
        schedule
    }

    /// Nodes and paths to which nothing happens yet.
    fn quiet(seed: Seed, stream: &mut Stream) -> Self {
        let count = pick(stream, &[1, 2, 2, 2, 3, 4]);
        let is_wide = stream.chance(0.6);
        let path = |stream: &mut Stream| draw_path(stream, is_wide);
        let paths = (0..count).map(|_| path(stream)).collect();
        Self {
            seed,
            paths,
            nodes: draw_nodes(stream, count),
            incidents: Vec::new(),
            spells: Vec::new(),
            attacks: Vec::new(),
            disturbances: Vec::new(),
            calm_from: Time::ZERO,
            closing: Time::ZERO,
            end: Time::ZERO,
        }
    }

    /// The paths by their numbers.
    pub fn path_ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..u8::try_from(self.paths.len()).unwrap_or(u8::MAX)).map(PathId)
    }

    /// The paths that go by a relay.
    pub fn relayed(&self) -> impl Iterator<Item = PathId> + '_ {
        self.path_ids()
            .filter(|path| self.paths[path.index()].by_relay)
    }

    /// The longest packet of an application, in bytes: what the narrowest interface lets through.
    #[must_use]
    pub fn tun_mtu(&self) -> u16 {
        let rooms = self.paths.iter().map(|path| path.packet_in(INTERFACE_MTU));
        rooms.min().unwrap_or(INTERFACE_MTU)
    }

    /// What a node's file says at `at`.
    #[must_use]
    pub fn settings(&self, of: End, at: Time) -> Settings {
        let before = self.incidents.iter().rev().filter(|(then, _)| *then <= at);
        let mut read = before.filter_map(|(_, incident)| match incident {
            Incident::Adjust(end, settings) if *end == of => Some(*settings),
            _ => None,
        });
        read.next().unwrap_or(self.nodes.settings[of.index()])
    }
}

fn draw_path(stream: &mut Stream, is_wide: bool) -> PathPlan {
    let lag = |stream: &mut Stream| Duration::from_micros(stream.below(50_000));
    let by_relay = stream.chance(0.3);
    let learner = pick(stream, &[None, Some(End::A), Some(End::B), Some(End::B)]);
    PathPlan {
        kbits: pick(stream, &[2_000, 5_000, 10_000, 50_000]),
        delay_ms: 1 + stream.below(150),
        lag: [lag(stream), lag(stream)],
        learner: learner.filter(|_| !by_relay),
        by_relay,
        relay_kbits: AMPLE_KBITS,
        mtu: if is_wide {
            INTERFACE_MTU
        } else {
            pick(stream, &[INTERFACE_MTU, 1_400, 1_280, 1_000, 576])
        },
    }
}

/// Most nodes watch their paths, as they do unless their file says otherwise.
fn draw_nodes(stream: &mut Stream, paths: u64) -> NodesPlan {
    let named = u8::try_from(stream.below(paths)).unwrap_or(0);
    let policy = draw_policy(stream, named);
    let both = [true; 2];
    let watched = pick(stream, &[both, both, both, both, [false; 2], [true, false]]);
    let settings = |is_watched: bool| Settings {
        policy,
        liveness: is_watched.then(LivenessConfig::default),
    };
    NodesPlan {
        settings: watched.map(settings),
        window: pick(stream, &[256, 1024, 8192]),
        limits: draw_limits(stream),
        apps: [draw_app(stream), draw_app(stream)],
    }
}

fn draw_policy(stream: &mut Stream, path: u8) -> PolicyConfig {
    let all = PolicyConfig::DuplicateAll {};
    let policies = [
        all,
        all,
        PolicyConfig::SinglePath { path },
        PolicyConfig::DuplicateAcks { path },
        PolicyConfig::ProbeAndSwitch { path },
    ];
    pick(stream, &policies)
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
        every: Duration::from_millis(pick(stream, &[25, 40, 80, 150, 400])),
        longest: pick(stream, &[packet::LEAST, 200, 600, 1_350]),
    }
}

fn pick<T: Copy>(stream: &mut Stream, from: &[T]) -> T {
    // The index is below the length.
    from[usize::try_from(stream.below(from.len() as u64)).unwrap_or(0)]
}

#[cfg(test)]
mod tests;
