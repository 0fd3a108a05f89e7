//! Two nodes with paths whose MTU is smaller than that of their interfaces.

use polypath_core::pmtu::{MtuState, STEP};

use super::*;

/// The longest packet that the interfaces accept, in bytes.
const INTERFACE_MTU: u16 = 1440;
/// The longest packet in a datagram of 1272 bytes, the longest that a narrow path carries.
const NARROW_MTU: u16 = 1240;
const NARROW: usize = NARROW_MTU as usize;

/// Two nodes, and the datagrams between them.
struct Pair {
    nodes: [Node; 2],
    in_flight: InFlight,
    sent: u64,
    /// The longest datagram that crosses on each path, in bytes.
    longest: [usize; 2],
    /// The one-way delay of each path.
    delays: [Duration; 2],
    /// Packets reported as too big, with the reported MTU.
    too_big: Vec<(Bytes, u16)>,
}

impl Pair {
    fn new(longest: [usize; 2]) -> Self {
        Self::with(PolicyConfig::DuplicateAll {}, longest, [DELAY; 2])
    }

    fn with(policy: PolicyConfig, longest: [usize; 2], delays: [Duration; 2]) -> Self {
        let liveness = Some(LivenessConfig::default());
        let node = |own, peer| node_with(own, peer, policy, Limits::default(), liveness);
        let mut pair = Self {
            nodes: [node("a", "b"), node("b", "a")],
            in_flight: InFlight::new(),
            sent: 0,
            longest,
            delays,
            too_big: Vec::new(),
        };
        for path in [0, 1].map(PathId) {
            pair.wake(Time::ZERO, 0, Wake::Input(interface_mtu(path, false)));
        }
        pair
    }

    fn run(&mut self, until: Time) {
        loop {
            let due = |who: usize| {
                self.nodes[who]
                    .tunnel
                    .deadline()
                    .map_or(Time::MAX, |d| d.at)
            };
            let Some((at, who, wake)) = next_event([0, 1].map(due), &mut self.in_flight, until)
            else {
                return;
            };
            self.wake(at, who, wake);
        }
    }

    fn wake(&mut self, now: Time, who: usize, wake: Wake<Input>) {
        let node = &mut self.nodes[who];
        let mut datagrams = Vec::new();
        step(&mut node.tunnel, now, wake, &mut |output| match output {
            Output::Datagram { path, datagram, .. } | Output::Reply { path, datagram } => {
                datagrams.push((path, datagram));
            }
            Output::Packet(packet) => node.packets.push(packet),
            Output::Event(event) => node.events.push(event),
            Output::PacketTooBig { packet, mtu } => self.too_big.push((packet, mtu)),
            _ => {}
        });
        for (path, datagram) in datagrams {
            self.sent += 1;
            if datagram.len() <= self.longest[path.index()] {
                let key = (now + self.delays[path.index()], self.sent);
                self.in_flight.insert(key, (1 - who, path, datagram));
            }
        }
    }

    fn send(&mut self, now: Time, packet: &Bytes) {
        self.nodes[0].events.clear();
        self.wake(now, 0, Wake::Input(Input::Packet(packet.clone())));
        self.run(now + DELAY);
    }

    /// The paths that carried data since the last packet was sent.
    fn used(&self) -> Vec<PathId> {
        self.paths_of(FrameKind::Data)
    }

    /// The paths that carried frames of a kind since the last packet was sent.
    fn paths_of(&self, of: FrameKind) -> Vec<PathId> {
        let on = |event: &Event| match event {
            Event::FrameOut { path, kind, .. } if *kind == of => Some(*path),
            _ => None,
        };
        self.nodes[0].events.iter().filter_map(on).collect()
    }
}

fn interface_mtu(path: PathId, rerouted: bool) -> Input {
    Input::InterfaceMtu {
        path,
        mtu: INTERFACE_MTU,
        rerouted,
    }
}

/// A UDP packet of `len` bytes.
fn packet(len: usize, may_fragment: bool) -> Bytes {
    let builder = PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64).udp(1000, 2000);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &vec![7; len - 28]).unwrap();
    let (mut header, payload) = etherparse::Ipv4Header::from_slice(&bytes).unwrap();
    header.dont_fragment = !may_fragment;
    header.header_checksum = header.calc_header_checksum();
    [&header.to_bytes()[..], payload].concat().into()
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn sizes(packets: &[Bytes]) -> Vec<usize> {
    packets.iter().map(Bytes::len).collect()
}

#[test]
fn a_packet_uses_the_paths_where_it_fits_and_its_sender_is_notified_if_none_does() {
    let mut pair = Pair::new([1472, 1272]);
    pair.run(at(10_000));
    let of = |pair: &Pair, path| pair.nodes[0].tunnel.path_mtu(PathId(path)).unwrap();
    let [wide, narrow] = [0, 1].map(|path| of(&pair, path));
    assert_eq!(
        (wide.state, wide.confirmed),
        (MtuState::Complete, Some(INTERFACE_MTU))
    );
    let found = usize::from(narrow.confirmed.unwrap());
    assert!(
        (NARROW - usize::from(STEP)..=NARROW).contains(&found),
        "{found}"
    );
    pair.send(at(10_000), &packet(found, false));
    assert_eq!(pair.used(), [PathId(1), PathId(0)]);
    pair.send(at(10_100), &packet(found + 1, false));
    assert_eq!(pair.used(), [PathId(0)], "not on the narrow path");
    assert_eq!(sizes(&pair.nodes[1].packets), [found, found + 1]);
    let long = packet(1450, false);
    pair.send(at(10_200), &long);
    assert_eq!(pair.used(), []);
    assert_eq!(pair.too_big, [(long, INTERFACE_MTU)]);
    let reason = DropReason::TooLong;
    let dropped = Event::Dropped { reason, len: 1450 };
    assert!(pair.nodes[0].events.contains(&dropped));
    // The other node has no interface MTU, and discovers nothing.
    assert_eq!(pair.nodes[1].tunnel.path_mtu(PathId(0)), None);
}

#[test]
fn packets_too_long_for_the_active_path_use_another_one() {
    let (narrow, wide) = (PathId(0), PathId(1));
    let probing = PolicyConfig::probe_and_switch(0);
    let mut pair = Pair::with(probing, [1272, 1472], [DELAY, DELAY * 4]);
    pair.run(at(10_000));
    pair.nodes[1].packets.clear();
    for (number, ms) in (10_000..14_000).step_by(50).enumerate() {
        let is_long = number % 4 == 0;
        pair.send(at(ms), &packet(if is_long { 1400 } else { 200 }, false));
        let expected = if is_long { wide } else { narrow };
        assert_eq!(pair.used(), [expected], "at {ms} ms");
        if number == 0 {
            let pairs = pair.paths_of(FrameKind::Pair);
            assert_eq!(pairs, [narrow, narrow, wide, wide]);
        }
        pair.run(at(ms + 49));
    }
    let end = pair.nodes[0].tunnel.endpoint();
    assert_eq!((end.active(), end.switches()), (Some(narrow), 0));
    let is_asked = |event: &Event| matches!(event, Event::SwitchWanted { .. });
    assert!(!pair.nodes[1].events.iter().any(is_asked));
    assert_eq!(pair.nodes[1].packets.len(), 80);
}

#[test]
fn fragmentable_packets_are_fragmented_without_notification() {
    let mut pair = Pair::new([1272, 1272]);
    pair.run(at(10_000));
    pair.nodes[1].packets.clear();
    pair.send(at(10_000), &packet(1400, true));
    let of = |path| {
        pair.nodes[0]
            .tunnel
            .path_mtu(PathId(path))
            .unwrap()
            .confirmed
    };
    let limit = usize::from(of(0).max(of(1)).unwrap());
    let first = (limit - 20) / 8 * 8 + 20;
    let arrived = sizes(&pair.nodes[1].packets);
    assert_eq!(arrived, [first, 1400 - first + 20]);
    assert_eq!(pair.too_big, []);
}

#[test]
fn no_mtu_is_reported_while_discovery_may_raise_it() {
    let mut pair = Pair::new([1472, 1472]);
    pair.run(at(2_000));
    pair.longest = [1272, 1272];
    let long = packet(1400, false);
    let mut now = at(2_000);
    let is_known = |pair: &Pair| !pair.too_big.is_empty();
    while !is_known(&pair) {
        assert!(now < at(60_000));
        now += Duration::from_millis(50);
        pair.run(now);
        pair.send(now, &long);
    }
    let limit = usize::from(pair.too_big[0].1);
    assert!(
        (NARROW - usize::from(STEP)..=NARROW).contains(&limit),
        "{limit}"
    );
}

#[test]
fn a_rerouted_path_restarts_mtu_discovery() {
    let mut pair = Pair::new([1272, 1272]);
    pair.run(at(10_000));
    let of = |pair: &Pair| pair.nodes[0].tunnel.path_mtu(PathId(1)).unwrap();
    assert!(of(&pair).confirmed.unwrap() <= NARROW_MTU);
    pair.longest[1] = 1472;
    // The interface MTU is unchanged, so the discovered MTU is kept.
    pair.wake(at(10_000), 0, Wake::Input(interface_mtu(PathId(1), false)));
    pair.run(at(15_000));
    assert!(of(&pair).confirmed.unwrap() <= NARROW_MTU);
    pair.wake(at(15_000), 0, Wake::Input(interface_mtu(PathId(1), true)));
    pair.run(at(16_000));
    let found = (of(&pair).state, of(&pair).confirmed);
    assert_eq!(found, (MtuState::Complete, Some(INTERFACE_MTU)));
}
