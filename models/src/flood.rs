//! An attacker who knows the public key of node 1 and exhausts every budget that it can reach.

use bytes::Bytes;
use polypath_core::frame::PathId;
use polypath_core::machine::Wake;
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_session::address::Source;
use polypath_session::datagram::INITIATION;
use polypath_session::event::{Reject, SessionEvent};
use polypath_session::key::PrivateKey;
use polypath_session::session::{Input, Output, Session, SessionConfig};

use crate::monitor::Violation;
use crate::world::{World, attacker, public_key};

/// The budgets of a path that the attacker can exhaust, each with a burst of
/// 20 and 20 a second: that of strangers, and that of the peer's address.
const BUDGETS: u64 = 2;
const BURST: u64 = 20;
const RATE: u64 = 20;
/// The budget of senders with a cookie: a burst of 8 and 4 a second.
const COOKIE_BURST: u64 = 8;
const COOKIE_RATE: u64 = 4;

/// An attacker with a session of its own, which node 1 refuses since it does not know the key.
pub(crate) struct Flooder {
    session: Session,
    initiation: Bytes,
    /// The same with the cookie for its own address, once it has received one.
    with_cookie: Bytes,
    decrypted: u64,
    /// The time since which they are counted.
    start: Time,
}

impl Flooder {
    /// An attacker of a node that has started at `start`.
    pub(crate) fn new(start: Time) -> Self {
        let mut stream = Seed(2).stream("attacker");
        let private_key = PrivateKey::generate(&mut stream).expect("a stream does not fail");
        let config = SessionConfig {
            reachable: vec![true],
            wall_clock: 1,
            ..SessionConfig::new(private_key, public_key(1))
        };
        let session = Session::new(config, Box::new(stream));
        let mut flooder = Self {
            session,
            initiation: Bytes::new(),
            with_cookie: Bytes::new(),
            decrypted: 0,
            start,
        };
        flooder.drive(Time::ZERO, Wake::Timeout);
        flooder.initiation = flooder.with_cookie.clone();
        flooder
    }

    /// Wakes the attacker's session, and keeps the newest initiation that it sends.
    fn drive(&mut self, now: Time, wake: Wake<Input>) {
        let newest = &mut self.with_cookie;
        polypath_core::machine::step(&mut self.session, now, wake, &mut |output| {
            if let Output::Send { datagram, .. } = output
                && datagram[0] == INITIATION
            {
                *newest = datagram;
            }
        });
    }

    /// Sends initiations on each path, from all addresses that it can spoof and from its own, until
    /// all budgets are exhausted; returns how many were decrypted.
    pub(crate) fn exhaust(&mut self, world: &mut World) -> u64 {
        let before = self.decrypted;
        let plain = self.initiation.clone();
        let spoofed = [world.nodes[0].source, world.nodes[1].peer_address];
        for path in (0..world.setup.paths).map(PathId) {
            for from in [spoofed[0], spoofed[1], attacker()] {
                self.send_until_refused(world, path, from, &plain);
            }
            let with_cookie = self.with_cookie.clone();
            self.send_until_refused(world, path, attacker(), &with_cookie);
        }
        self.decrypted - before
    }

    /// The decryptions that all budgets allow so far.
    fn allowed(&self, world: &World) -> u64 {
        let elapsed_ms = world.now.since(self.start).0 / 1_000_000;
        let per_path = BUDGETS * (BURST * 1000 + RATE * elapsed_ms);
        let with_cookie = COOKIE_BURST * 1000 + COOKIE_RATE * elapsed_ms;
        (per_path * u64::from(world.setup.paths) + with_cookie) / 1000 + 1
    }

    fn send_until_refused(
        &mut self,
        world: &mut World,
        path: PathId,
        source: Source,
        initiation: &Bytes,
    ) {
        loop {
            let datagram = initiation.clone();
            let input = Input::Datagram {
                path,
                source,
                datagram,
            };
            let outputs = world.wake(1, Wake::Input(input));
            // It receives nothing at an address that it spoofs.
            if source == attacker() {
                self.receive(world.now, &outputs);
            }
            let is_refusal = |output: &Output| {
                let Output::Event(SessionEvent::Rejected { reason, .. }) = output else {
                    return false;
                };
                *reason != Reject::WrongKey
            };
            if outputs.iter().any(is_refusal) {
                return;
            }
            self.decrypted += 1;
            if self.decrypted > self.allowed(world) {
                return world.monitor.violate(Violation::Unthrottled);
            }
        }
    }

    fn receive(&mut self, now: Time, outputs: &[Output]) {
        for output in outputs {
            if let Output::Reply { datagram, .. } = output {
                let input = Input::Datagram {
                    path: PathId(0),
                    source: attacker(),
                    datagram: datagram.clone(),
                };
                self.drive(now, Wake::Input(input));
            }
        }
    }
}
