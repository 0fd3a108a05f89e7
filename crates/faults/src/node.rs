//! A whole node but for its sockets, as `polypath-live` has it: a tunnel, and where the peer is on each path.

use polypath_core::endpoint::{Adjustment, EndpointConfig, ProbingConfig};
use polypath_core::frame::{Encapsulation, OVER_IPV4, PathId};
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_session::address::PeerAddress;
use polypath_session::key::{PrivateKey, PublicKey};
use polypath_session::session::SessionConfig;
use polypath_session::tunnel::{Input, Output, Tunnel};

use crate::parcel::{Address, End};
use crate::sabotage::Sabotage;
use crate::schedule::{Schedule, Settings};

/// The longest datagram that a node takes, in bytes.
pub(crate) const MAX_DATAGRAM: usize = 1500;

/// One run of a node, from its start to its end.
pub struct Node {
    tunnel: Tunnel,
    endpoint: EndpointConfig,
    /// The longest packet that the interface of each path lets through, and an application sends.
    interface_mtu: u16,
    /// The latest time that it has seen, of its own.
    last: Time,
    /// When it started: its own time counts from there.
    started: Time,
    peer: Vec<PeerAddress<Address>>,
    /// Whether somebody else runs it, with another key.
    pub is_impostor: bool,
    sabotage: Sabotage,
}

/// What a node is started with.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// When.
    pub at: Time,
    /// What its wall clock shows, in nanoseconds since 1970.
    pub wall: u64,
    /// Whether it has another key than its peer expects.
    pub is_impostor: bool,
    /// Its number among the starts of this node.
    pub number: u32,
    /// What its file says.
    pub settings: Settings,
}

/// The node broke the contract of machines: its deadline did not move on.
#[derive(Debug)]
pub struct Stuck(pub &'static str);

impl Node {
    /// A node that starts; `peer` gives where its configuration says that the other is.
    ///
    /// # Panics
    /// Where no endpoint can be as the schedule says.
    #[must_use]
    pub fn start(
        end: End,
        start: Start,
        schedule: &Schedule,
        peer: Vec<PeerAddress<Address>>,
        sabotage: Sabotage,
    ) -> Self {
        let session = SessionConfig {
            private_key: key(
                schedule.seed,
                end,
                start.is_impostor && sabotage != Sabotage::SharesKeys,
            ),
            peer: public_key(schedule.seed, end.other()),
            reachable: peer.iter().map(|peer| peer.get().is_some()).collect(),
            max_datagram: MAX_DATAGRAM,
            wall_clock: start.wall,
            limits: schedule.nodes.limits,
        };
        let name = format!("faults/entropy/{}/{}", end.name(), start.number);
        let entropy = sabotage.entropy(schedule.seed.stream(&name));
        let endpoint = endpoint(schedule, &start, sabotage);
        let tunnel = Tunnel::new(&endpoint, session.clone(), entropy);
        let mut tunnel = tunnel.expect("a schedule draws what an endpoint can be");
        for path in schedule.relayed() {
            let relay = relay_key(schedule.seed, path).public();
            let entropy = schedule.seed.stream(&format!("{name}/{}", path.0));
            tunnel.add_relay(path, session.with_relay(relay), Box::new(entropy));
        }
        Self {
            tunnel,
            endpoint,
            interface_mtu: sabotage.room(schedule.tun_mtu()),
            last: Time::ZERO,
            started: start.at,
            peer,
            is_impostor: start.is_impostor,
            sabotage,
        }
    }

    /// The machine.
    #[must_use]
    pub fn tunnel(&self) -> &Tunnel {
        &self.tunnel
    }

    /// When it wants to be woken.
    #[must_use]
    pub fn next_at(&self) -> Option<Time> {
        let deadline = self.tunnel.deadline()?;
        Some(self.started + Duration(deadline.at.0))
    }

    /// Wakes it, and not before the latest time that it has seen; its own time is that since its start.
    ///
    /// # Errors
    /// Where its deadline stays in the past.
    pub fn wake(
        &mut self,
        now: Time,
        wake: Wake<Input>,
        out: &mut impl FnMut(Output),
    ) -> Result<(), Stuck> {
        let is_timeout = wake == Wake::Timeout;
        let own = self.own(now).max(self.last);
        self.last = own;
        if !(is_timeout && self.sabotage == Sabotage::Oversleeps) {
            step(&mut self.tunnel, own, wake, out);
        }
        match self.tunnel.deadline() {
            Some(deadline) if is_timeout && deadline.at <= own => Err(Stuck(deadline.why)),
            _ => Ok(()),
        }
    }

    /// The latest time that it has seen.
    #[must_use]
    pub fn seen(&self) -> Time {
        self.started + Duration(self.last.0)
    }

    /// What tells it that it is behind, and catches up until `now`.
    #[must_use]
    pub fn late(&self, now: Time) -> Input {
        Input::DriverBehind(self.own(now))
    }

    /// What tells it to go on by `settings`.
    ///
    /// # Panics
    /// Where no endpoint can be like that.
    pub fn adjust(&mut self, settings: Settings) -> Input {
        self.endpoint.policy = settings.policy;
        self.endpoint.liveness = self.sabotage.liveness(settings.liveness);
        let adjustment = Adjustment::new(&self.endpoint);
        Input::Adjust(adjustment.expect("a schedule draws what an endpoint can be"))
    }

    /// The input that gives it the MTU of a path's interface, and whether the route of the path has changed.
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

    /// Where the peer is on a path, as far as it knows.
    #[must_use]
    pub fn peer(&self, path: PathId) -> Option<Address> {
        self.peer[path.index()].get()
    }

    /// Where it answers a datagram that does not tell where the peer is.
    #[must_use]
    pub fn answer(&self, source: Address) -> Address {
        self.peer[source.path.index()].reply_to(source)
    }

    /// Takes the source of a datagram that the tunnel calls authentic; true where the peer moved.
    pub fn hear(&mut self, source: Address) -> bool {
        self.peer[source.path.index()].update(source)
    }
}

fn endpoint(schedule: &Schedule, start: &Start, sabotage: Sabotage) -> EndpointConfig {
    EndpointConfig {
        paths: u8::try_from(schedule.paths.len()).unwrap_or(u8::MAX),
        policy: start.settings.policy,
        encapsulation: Encapsulation::deployed(OVER_IPV4),
        window: schedule.nodes.window,
        first_sequence: 0,
        probing: ProbingConfig::default(),
        detector: None,
        liveness: sabotage.liveness(start.settings.liveness),
    }
}

/// The static key of a node, or of who takes its place.
///
/// # Panics
/// Never: a stream gives as many bytes as a key has.
#[must_use]
pub fn key(seed: Seed, end: End, is_impostor: bool) -> PrivateKey {
    let whose = if is_impostor { "impostor" } else { end.name() };
    let stream = &mut seed.stream(&format!("faults/key/{whose}"));
    PrivateKey::generate(stream).expect("a stream never fails")
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
