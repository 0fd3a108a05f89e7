//! Invariants of a relay under arbitrary input.

use super::*;

/// An action on a relay.
#[derive(Clone, Debug)]
enum Act {
    /// A node seals a frame of this length for the other.
    Frame(usize, usize),
    /// A node moves.
    Move(usize, u32),
    /// Time passes, in milliseconds.
    Wait(u64),
    /// An attacker sends bytes with this type.
    Junk(u8, Vec<u8>),
    /// An attacker replays a datagram: which, whether from the original source, and which bit is
    /// flipped.
    Replay(usize, bool, Option<usize>),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..2_usize, 2..1400_usize).prop_map(|(who, len)| Act::Frame(who, len)),
        1 => (0..2_usize, 30..40_u32).prop_map(|(who, at)| Act::Move(who, at)),
        2 => (0..300_u64).prop_map(Act::Wait),
        1 => (7_000..200_000_u64).prop_map(Act::Wait),
        1 => (0..5_u8, prop::collection::vec(any::<u8>(), 0..200)).prop_map(|(t, b)| Act::Junk(t, b)),
        3 => (any::<usize>(), any::<bool>(), prop::option::of(any::<usize>()))
            .prop_map(|(which, spoofed, bit)| Act::Replay(which, spoofed, bit)),
    ]
}

impl Site {
    fn act(&mut self, act: &Act) {
        match act {
            Act::Frame(who, len) => self.seal(*who, vec![7; *len]),
            Act::Move(who, at) => self.addresses[*who] = at * 2 + u32::try_from(*who).unwrap(),
            Act::Wait(ms) => self.pass(Duration::from_millis(*ms)),
            Act::Junk(kind, bytes) => {
                let bytes = std::iter::once(kind).chain(bytes).copied();
                self.attack(ATTACKER, bytes.collect());
            }
            Act::Replay(which, is_spoofed, bit) => {
                let Some((from, datagram)) = self.received.get(which % self.received.len().max(1))
                else {
                    return;
                };
                let mut bytes = datagram.to_vec();
                let len = bytes.len();
                if let Some(bit) = bit.filter(|_| len > 0) {
                    bytes[(bit / 8) % len] ^= 1 << (bit % 8);
                }
                let source = if *is_spoofed { *from } else { ATTACKER };
                self.attack(source, bytes.into());
            }
        }
    }

    /// Delivers a datagram of an attacker without keys, which must have no effect.
    fn attack(&mut self, source: u32, datagram: Bytes) {
        let (sent, traffic) = (self.sent.len(), self.forwarded());
        let addresses = Side::ALL.map(|side| self.relay.address(side));
        self.arrive(source, datagram);
        assert_eq!(self.sent.len(), sent, "a reply");
        assert_eq!(self.forwarded(), traffic);
        assert_eq!(Side::ALL.map(|side| self.relay.address(side)), addresses);
    }

    fn forwarded(&self) -> (u64, u64) {
        let all = Side::ALL.iter().map(|side| self.relay.traffic(*side));
        all.fold((0, 0), |sum, traffic| {
            (sum.0 + traffic.forwarded, sum.1 + traffic.bytes)
        })
    }

    /// Whether a datagram contains a frame of the other node.
    fn is_forwarded(datagram: &Bytes) -> bool {
        datagram[0] == TRANSPORT && datagram.len() > OVERHEAD + 1
    }
}

proptest! {
    #[test]
    fn only_authentic_frames_are_forwarded_and_only_to_the_nodes(acts in prop::collection::vec(act(), 1..80)) {
        let mut site = Site::new(FAST);
        for act in &acts {
            site.act(act);
            prop_assert!(site.relay.buffered() <= CAPACITY);
        }
        let carried: Vec<&Bytes> = site.sent.iter().map(|entry| &entry.2).filter(|d| Site::is_forwarded(d)).collect();
        let (count, bytes) = site.forwarded();
        prop_assert_eq!(carried.len() as u64, count);
        prop_assert_eq!(carried.iter().map(|d| d.len() as u64).sum::<u64>(), bytes);
        let authentic: u64 = Side::ALL.iter().map(|side| site.relay.counters(*side).opened).sum();
        prop_assert!(count <= authentic, "{} of {}", count, authentic);
        prop_assert!(site.sent.iter().all(|(_, to, _)| *to != ATTACKER));
        let received: usize = site.opened.iter().map(Vec::len).sum();
        prop_assert!(received as u64 <= count);
        let received: usize = site.received.iter().map(|entry| entry.1.len()).sum();
        let sent: usize = site.sent.iter().map(|entry| entry.2.len()).sum();
        // Hellos of both sides have the same length, and an answer is one byte longer than a hello.
        prop_assert!(sent <= received + received / OVERHEAD, "{} B for {} B", sent, received);
    }

    /// Over any interval, a node's forwarded traffic is at most its rate plus the burst.
    #[test]
    fn the_rate_of_a_node_is_bounded(
        mbits in 1..20_u64,
        gaps in prop::collection::vec((0..3_000_u64, 2..1400_usize), 300),
    ) {
        let rate = Rate::from_mbits(mbits);
        let mut site = Site::established(rate);
        let start = site.sent.len();
        for (us, len) in gaps {
            site.pass(Duration::from_micros(us));
            site.seal(0, vec![7; len]);
        }
        let sent: Vec<(Time, u64)> = site.sent[start..]
            .iter()
            .filter(|(_, to, datagram)| *to == 20 && Site::is_forwarded(datagram))
            .map(|(at, _, datagram)| (*at, datagram.len() as u64 * 8))
            .collect();
        let burst = BURST.max(rate.transmission_time(MIN_BURST));
        for first in 0..sent.len() {
            let mut bits = 0;
            for (at, more) in &sent[first..] {
                bits += more;
                let span = at.since(sent[first].0) + burst;
                let most = span.as_secs_f64() * rate.as_f64();
                prop_assert!(bits as f64 <= most + 1.0, "{} bits in {}", bits, span);
            }
        }
        let dropped = site.undelivered(Side::First, Undelivered::Rate);
        let count = sent.len() as u64;
        prop_assert_eq!(count + dropped, 300);
        // Datagrams within the burst are never dropped.
        prop_assert!(count >= 16);
    }
}

#[test]
fn a_flood_of_one_node_does_not_reduce_the_rate_of_the_other() {
    let mut site = Site::established(Rate::from_mbits(1));
    let mut own = Stream::clone(&Seed(5).stream("lengths"));
    for _ in 0..2000 {
        // Ten times the rate in one direction, less than the rate in the other.
        for _ in 0..10 {
            site.seal(0, vec![7; 100]);
        }
        let len = usize::try_from(2 + own.below(90)).unwrap();
        site.seal(1, vec![7; len]);
        site.pass(Duration::from_millis(1));
    }
    assert!(site.undelivered(Side::First, Undelivered::Rate) > 10_000);
    assert_eq!(site.undelivered(Side::Second, Undelivered::Rate), 0);
    assert_eq!(site.relay.traffic(Side::Second).forwarded, 2000);
}
