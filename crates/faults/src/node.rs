//! A whole node without its sockets, like that of `polypath-live`: a tunnel, and the address of the
//! peer on each path.

use polypath_core::class::{Class, Classes, Protocol, Treatment};
use polypath_core::endpoint::{Adjustment, EndpointConfig, ProbingConfig};
use polypath_core::frame::{Encapsulation, OVER_IPV4, PathId};
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::rng::{Seed, Stream};
use polypath_core::tariff::{Tariff, Tariffs};
use polypath_core::time::{Duration, Time};
use polypath_session::address::PeerAddress;
use polypath_session::key::{PresharedKey, PrivateKey, PublicKey};
use polypath_session::session::SessionConfig;
use polypath_session::tunnel::{Input, Output, Tunnel};

use crate::datagram::{Address, End, Host};
use crate::mutants::Mutant;
use crate::schedule::{LimitedPath, Schedule, Settings};

/// The longest datagram that a node accepts, in bytes.
pub(crate) const MAX_DATAGRAM: usize = 1500;

/// One instance of a node, from its start to its stop.
pub struct Node {
    tunnel: Tunnel,
    endpoint: EndpointConfig,
    /// The MTU of the interfaces and of the applications.
    interface_mtu: u16,
    /// The latest time of a wake, on its own clock.
    last: Time,
    /// The time of its start, which is zero on its own clock.
    started: Time,
    peer: Vec<PeerAddress<Address>>,
    /// Whether it is an impostor with another key.
    pub is_impostor: bool,
    mutant: Mutant,
    /// The costs of its paths, at first and after each reload.
    costs: Stream,
    limited: Option<LimitedPath>,
    /// The classes of its packets, at first and after each reload.
    classes: Stream,
}

/// The parameters of a start.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The time of the start.
    pub at: Time,
    /// The wall clock, in nanoseconds since 1970.
    pub wall_clock: u64,
    /// Whether it has another key than its peer expects.
    pub is_impostor: bool,
    /// The number of earlier starts of this node.
    pub number: u32,
    /// The settings in its configuration file.
    pub settings: Settings,
    /// The timestamp of the peer that its last run kept; 0 if it kept none.
    pub peer_timestamp: u64,
}

/// The deadline of a node did not advance, for this reason.
#[derive(Debug)]
pub struct StuckDeadline(pub &'static str);

impl Node {
    /// A node that starts with the configured addresses `peer`.
    ///
    /// # Panics
    /// If the schedule contains an invalid configuration.
    #[must_use]
    pub fn start(
        end: End,
        start: Start,
        schedule: &Schedule,
        peer: Vec<PeerAddress<Address>>,
        mutant: Mutant,
    ) -> Self {
        let session = SessionConfig {
            reachable: peer.iter().map(|peer| peer.get().is_some()).collect(),
            max_datagram: MAX_DATAGRAM,
            wall_clock: start.wall_clock,
            limits: schedule.nodes.limits,
            receives_ecn: mutant.receives_ecn(schedule.ecn.is_received_by(Host::Node(end))),
            preshared_key: (schedule.nodes.state.has_preshared_key)
                .then(|| preshared_key(schedule.seed)),
            peer_timestamp: if mutant == Mutant::ForgetsTimestamp {
                0
            } else {
                start.peer_timestamp
            },
            ..SessionConfig::new(
                key(
                    schedule.seed,
                    end,
                    start.is_impostor && mutant != Mutant::ImpostorHasKey,
                ),
                public_key(schedule.seed, end.other()),
            )
        };
        let name = format!("faults/entropy/{}/{}", end.name(), start.number);
        let entropy = mutant.entropy(schedule.seed.stream(&name));
        let name_of_costs = format!("faults/costs/{}/{}", end.name(), start.number);
        let mut costs = schedule.seed.stream(&name_of_costs);
        let mut endpoint = endpoint(schedule, &start, mutant);
        let limited = schedule.limited.filter(|limited| limited.end == end);
        let limited = limited.map(|limited| mutant.limited(limited));
        endpoint.tariffs = draw_tariffs(&mut costs, endpoint.paths, limited);
        let name_of_classes = format!("faults/classes/{}/{}", end.name(), start.number);
        let mut classes = schedule.seed.stream(&name_of_classes);
        endpoint.classes = draw_classes(&mut classes);
        let tunnel = Tunnel::new(&endpoint, session.clone(), entropy);
        let mut tunnel = tunnel.expect("a schedule draws valid configurations");
        for path in schedule.relayed_paths() {
            let relay = relay_key(schedule.seed, path).public();
            let entropy = schedule.seed.stream(&format!("{name}/{}", path.0));
            tunnel.add_relay(path, session.with_relay(relay), Box::new(entropy));
        }
        Self {
            tunnel,
            endpoint,
            interface_mtu: mutant.interface_mtu(schedule.tun_mtu()),
            last: Time::ZERO,
            started: start.at,
            peer,
            is_impostor: start.is_impostor,
            mutant,
            costs,
            limited,
            classes,
        }
    }

    /// The tunnel.
    #[must_use]
    pub fn tunnel(&self) -> &Tunnel {
        &self.tunnel
    }

    /// The time of its next deadline.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let deadline = self.tunnel.deadline()?;
        Some(self.started + Duration(deadline.at.0))
    }

    /// Wakes it, at the latest time that it has seen or later.
    ///
    /// # Errors
    /// If its deadline does not advance.
    pub fn wake(
        &mut self,
        now: Time,
        wake: Wake<Input>,
        out: &mut impl FnMut(Output),
    ) -> Result<(), StuckDeadline> {
        let is_timeout = wake == Wake::Timeout;
        let own = self.own(now).max(self.last);
        self.last = own;
        if !(is_timeout && self.mutant == Mutant::IgnoresDeadline) {
            step(&mut self.tunnel, own, wake, out);
        }
        match self.tunnel.deadline() {
            Some(deadline) if is_timeout && deadline.at <= own => Err(StuckDeadline(deadline.why)),
            _ => Ok(()),
        }
    }

    /// The time of its latest wake.
    #[must_use]
    pub fn last_wake(&self) -> Time {
        self.started + Duration(self.last.0)
    }

    /// The input that reports a driver behind until `now`.
    #[must_use]
    pub fn driver_behind(&self, now: Time) -> Input {
        Input::DriverBehind(self.own(now))
    }

    /// The input that changes its settings.
    ///
    /// # Panics
    /// If the schedule contains an invalid configuration.
    pub fn adjust(&mut self, settings: Settings) -> Input {
        self.endpoint.policy = settings.policy;
        self.endpoint.liveness = self.mutant.liveness(settings.liveness);
        self.endpoint.spacing = settings.spacing;
        self.endpoint.tariffs = draw_tariffs(&mut self.costs, self.endpoint.paths, self.limited);
        self.endpoint.classes = draw_classes(&mut self.classes);
        let adjustment = Adjustment::new(&self.endpoint);
        Input::Adjust(adjustment.expect("a schedule draws valid configurations"))
    }

    /// The input that gives it the MTU of a path's interface, and whether the route of the path has
    /// changed.
    #[must_use]
    pub fn interface_mtu(&self, path: PathId, rerouted: bool) -> Input {
        let is_watched = self.endpoint.liveness.is_some();
        let mtu = if is_watched { self.interface_mtu } else { 0 };
        Input::InterfaceMtu {
            path,
            mtu,
            rerouted,
        }
    }

    fn own(&self, now: Time) -> Time {
        Time(now.since(self.started).0)
    }

    /// The address of the peer on a path, if it is known.
    #[must_use]
    pub fn peer_address(&self, path: PathId) -> Option<Address> {
        self.peer[path.index()].get()
    }

    /// The destination of `reply`, which answers an unauthenticated datagram; `None` if it is not
    /// sent.
    #[must_use]
    pub fn reply_to(&self, source: Address, reply: &[u8]) -> Option<Address> {
        let peer = &self.peer[source.path.index()];
        let to = peer.reply_to(source, reply);
        if self.mutant == Mutant::MisdirectsCookies {
            to.or(peer.get())
        } else {
            to
        }
    }

    /// Learns the source of an authentic datagram; returns whether the peer's address has changed.
    pub fn update_peer(&mut self, source: Address) -> bool {
        self.peer[source.path.index()].update(source)
    }
}

fn endpoint(schedule: &Schedule, start: &Start, mutant: Mutant) -> EndpointConfig {
    EndpointConfig {
        paths: u8::try_from(schedule.paths.len()).unwrap_or(u8::MAX),
        policy: start.settings.policy,
        encapsulation: Encapsulation::deployed(OVER_IPV4),
        window: schedule.nodes.window,
        first_sequence: 0,
        seed: Seed::default(),
        probing: ProbingConfig::default(),
        detector: None,
        liveness: mutant.liveness(start.settings.liveness),
        tariffs: Tariffs::default(),
        classes: Classes::default(),
        spacing: start.settings.spacing,
    }
}

/// Costs of as many paths, none in half of the cases, and the limits of a path.
fn draw_tariffs(costs: &mut Stream, paths: u8, limited: Option<LimitedPath>) -> Tariffs {
    let most = if costs.chance(0.5) { 3 } else { 1 };
    let tariff = |path| {
        let limited = limited.filter(|limited| limited.path == PathId(path));
        Tariff {
            cost: u8::try_from(costs.below(most)).unwrap_or(0),
            quota: limited.and_then(|limited| limited.quota),
            ceiling: limited.and_then(|limited| limited.ceiling),
            ..Tariff::FREE
        }
    };
    (0..paths).map(tariff).collect()
}

/// A class for each protocol of the packets of a run: none in half of the cases.
fn draw_classes(classes: &mut Stream) -> Classes {
    if classes.chance(0.5) {
        return Classes::default();
    }
    let mut class = |protocol: Protocol| Class {
        name: protocol.to_string(),
        dscp: Vec::new(),
        protocol: Some(protocol),
        ports: Vec::new(),
        treatment: match classes.below(3) {
            0 => Treatment::Media,
            1 => Treatment::Bulk,
            _ => Treatment::SinglePath,
        },
        deadline: None,
    };
    [class(Protocol::TCP), class(Protocol::UDP)]
        .into_iter()
        .collect()
}

/// The static key of a node, or of its impostor.
///
/// # Panics
/// Never: a stream gives as many bytes as a key has.
#[must_use]
pub fn key(seed: Seed, end: End, is_impostor: bool) -> PrivateKey {
    let whose = if is_impostor { "impostor" } else { end.name() };
    let stream = &mut seed.stream(&format!("faults/key/{whose}"));
    PrivateKey::generate(stream).expect("a stream never fails")
}

/// The key that both nodes have in common.
fn preshared_key(seed: Seed) -> PresharedKey {
    let stream = &mut seed.stream("faults/key/preshared");
    PresharedKey::generate(stream).expect("a stream never fails")
}

/// The static key of the relay of a path.
///
/// # Panics
/// Never: a stream gives as many bytes as a key has.
#[must_use]
pub fn relay_key(seed: Seed, path: PathId) -> PrivateKey {
    let stream = &mut seed.stream(&format!("faults/key/relay/{}", path.0));
    PrivateKey::generate(stream).expect("a stream never fails")
}

/// The public key of a node.
#[must_use]
pub fn public_key(seed: Seed, end: End) -> PublicKey {
    key(seed, end, false).public()
}
