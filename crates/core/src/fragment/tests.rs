use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::frame::Payload;
use crate::packet::Ecn;

/// A code, and the fragments of a random packet by it.
#[derive(Clone, Debug)]
struct Case {
    code: Code,
    packet: Vec<u8>,
    /// The positions of the fragments in the order of their arrival.
    order: Vec<u8>,
}

fn codes() -> impl Strategy<Value = Code> {
    (2_u8..9, 0_u8..7).prop_map(|(needed, recovery)| code(needed, needed + recovery))
}

fn code(needed: u8, total: u8) -> Code {
    Code::new(needed, total).unwrap()
}

fn cases() -> impl Strategy<Value = Case> {
    let packets = prop::collection::vec(any::<u8>(), 1..1600);
    (codes(), packets).prop_flat_map(|(code, packet)| {
        let all: Vec<u8> = (0..code.total()).collect();
        Just(all).prop_shuffle().prop_map(move |order| Case {
            code,
            packet: packet.clone(),
            order,
        })
    })
}

impl Case {
    fn packet_len(&self) -> u16 {
        u16::try_from(self.packet.len()).unwrap()
    }

    /// The fragments in the order of their arrival.
    fn fragments(&self) -> Vec<Fragment<Vec<u8>>> {
        let all = split(&self.packet, self.code).unwrap();
        assert_eq!(all.len(), usize::from(self.code.total()));
        let of = |index: &u8| Fragment {
            index: *index,
            payload: all[usize::from(*index)].clone(),
        };
        self.order.iter().map(of).collect()
    }

    fn restore(&self, fragments: &[Fragment<Vec<u8>>]) -> Option<Vec<u8>> {
        restore(fragments, self.code, self.packet_len())
    }
}

proptest! {
    #[test]
    fn any_fragments_that_suffice_restore_the_packet(case in cases()) {
        let mut fragments = case.fragments();
        prop_assert_eq!(case.restore(&fragments), Some(case.packet.clone()));
        fragments.truncate(case.code.needed().into());
        prop_assert_eq!(case.restore(&fragments), Some(case.packet.clone()));
        fragments.pop();
        prop_assert_eq!(case.restore(&fragments), None);
    }

    #[test]
    fn fragments_have_the_least_length(code in codes(), packet_len in 1_u16..) {
        let len = u32::from(code.fragment_len(packet_len));
        let needed = u32::from(code.needed());
        prop_assert!(len * needed >= packet_len.into());
        prop_assert!((len - 1) * needed < packet_len.into());
    }

    #[test]
    fn the_first_recovery_fragment_is_the_parity_of_the_originals(
        code in codes(),
        packet in prop::collection::vec(any::<u8>(), 1..1600),
    ) {
        let fragments = split(&packet, code).unwrap();
        let (originals, recovery) = fragments.split_at(code.needed().into());
        if let Some(first) = recovery.first() {
            let parity = originals.iter().fold(vec![0; first.len()], |sum, original| {
                sum.iter().zip(original).map(|(a, b)| a ^ b).collect()
            });
            prop_assert_eq!(first, &parity);
        }
    }

    /// In whatever order fragments of several packets arrive, each packet is restored by the
    /// fragment that completes it.
    #[test]
    fn packets_are_restored_as_soon_as_they_are_complete(
        cases in prop::collection::vec(cases(), 1..6),
        seed in any::<prop::sample::Index>(),
    ) {
        let mut reassembly = Reassembly::default();
        let mut rest: Vec<_> = cases.iter().map(Case::fragments).collect();
        let mut left: usize = rest.iter().map(Vec::len).sum();
        let mut kept = vec![0; cases.len()];
        let mut restored = 0;
        while left > 0 {
            let at = seed.index(left * 7 + 1) % cases.len();
            let at = (at..cases.len()).chain(0..at).find(|at| !rest[*at].is_empty()).unwrap();
            let Fragment { index, payload } = rest[at].remove(0);
            left -= 1;
            let case = &cases[at];
            kept[at] += 1;
            if kept[at] > case.code.needed() {
                continue;
            }
            let header = header(case.code, index, case.packet_len());
            let foreseen = reassembly.completed_by(at as u64, header, payload.clone());
            let expected = (kept[at] == case.code.needed()).then(|| case.packet.clone());
            prop_assert_eq!(&foreseen, &expected);
            let outcome = reassembly.offer(at as u64, header, payload);
            prop_assert_eq!(outcome, match expected {
                Some(packet) => ReassemblyOutcome::Restored { packet, outer: Ecn::NotEct },
                None => ReassemblyOutcome::Kept,
            });
            restored += u64::from(foreseen.is_some());
        }
        prop_assert_eq!(reassembly.buffered(), 0);
        prop_assert_eq!(reassembly.statistics().restored, restored);
    }
}

fn header(code: Code, index: u8, packet_len: u16) -> FragmentHeader {
    FragmentHeader {
        code,
        index,
        packet_len,
        traffic_class: TrafficClass::DEFAULT,
    }
}

#[test]
fn a_code_has_at_least_two_originals_and_as_many_fragments() {
    for (needed, total, is_valid) in [
        (0, 2, false),
        (1, 2, false),
        (2, 1, false),
        (2, 2, true),
        (63, 64, true),
        (64, 64, true),
        (64, 65, false),
    ] {
        assert_eq!(
            Code::new(needed, total).is_ok(),
            is_valid,
            "{needed} of {total}"
        );
    }
    let error = Code::new(3, 2).unwrap_err();
    assert_eq!(
        alloc::format!("{error}"),
        "no code restores a packet from 3 of 2 fragments"
    );
}

#[test]
fn fragments_that_do_not_fit_restore_nothing() {
    let case = Case {
        code: code(2, 4),
        packet: vec![7; 100],
        order: vec![3, 1],
    };
    let good = case.fragments();
    assert!(case.restore(&good).is_some());
    let with = |change: fn(&mut Vec<Fragment<Vec<u8>>>)| {
        let mut fragments = good.clone();
        change(&mut fragments);
        case.restore(&fragments)
    };
    assert_eq!(with(|all| all[1].index = 3), None, "one twice");
    assert_eq!(
        with(|all| all[1].index = 4),
        None,
        "an index beyond the last"
    );
    assert_eq!(with(|all| all[1].index = 200), None, "an index beyond all");
    assert_eq!(with(|all| all[0].payload.truncate(48)), None, "a short one");
    assert_eq!(with(|all| all[0].payload.push(0)), None, "a long one");
}

#[test]
fn empty_and_long_packets_are_not_split() {
    assert_eq!(split(&[], code(2, 3)), None);
    assert_eq!(split(&vec![0; 65_536], code(2, 3)), None);
    assert!(split(&vec![0; 65_535], code(2, 3)).is_some());
}

/// Offers fragment `index` of packet `sequence`, of 100 bytes by a (3, 2) code.
fn offer(
    reassembly: &mut Reassembly<Vec<u8>>,
    sequence: u64,
    index: u8,
) -> ReassemblyOutcome<Vec<u8>> {
    let packet = vec![sequence.to_le_bytes()[0]; 100];
    let fragments = packet.split(code(2, 3)).unwrap();
    let header = header(code(2, 3), index, 100);
    reassembly.offer(sequence, header, fragments[usize::from(index)].clone())
}

#[test]
fn fragments_of_other_packets_of_one_number_are_refused() {
    let mut reassembly = Reassembly::default();
    assert_eq!(offer(&mut reassembly, 5, 0), ReassemblyOutcome::Kept);
    assert_eq!(offer(&mut reassembly, 5, 0), ReassemblyOutcome::Duplicate);
    for other in [header(code(2, 4), 1, 100), header(code(2, 3), 1, 99)] {
        assert_eq!(
            reassembly.offer(5, other, vec![0; 50]),
            ReassemblyOutcome::Inconsistent
        );
    }
    assert!(matches!(
        offer(&mut reassembly, 5, 2),
        ReassemblyOutcome::Restored { .. }
    ));
}

#[test]
fn a_mark_on_any_fragment_is_a_mark_on_the_packet() {
    for marked in [0, 1, 2] {
        let mut reassembly = Reassembly::default();
        let mut last = ReassemblyOutcome::Kept;
        for index in [0, 1] {
            let class = TrafficClass {
                ecn: if index == marked { Ecn::Ce } else { Ecn::Ect0 },
                ..TrafficClass::DEFAULT
            };
            let header = FragmentHeader {
                traffic_class: class,
                ..header(code(2, 3), index, 4)
            };
            last = reassembly.offer(0, header, vec![index; 2]);
        }
        let packet = vec![0, 0, 1, 1];
        let outer = if marked < 2 { Ecn::Ce } else { Ecn::Ect0 };
        assert_eq!(last, ReassemblyOutcome::Restored { packet, outer });
    }
}

#[test]
fn old_fragments_give_way_to_new_packets() {
    let mut reassembly = Reassembly::default();
    let span = MAX_INCOMPLETE as u64;
    for sequence in 0..3 * span {
        assert_eq!(offer(&mut reassembly, sequence, 1), ReassemblyOutcome::Kept);
        assert!(reassembly.buffered() <= MAX_INCOMPLETE);
    }
    assert_eq!(reassembly.buffered(), MAX_INCOMPLETE);
    assert_eq!(reassembly.statistics().incomplete, 2 * span);
    assert_eq!(
        offer(&mut reassembly, 2 * span - 1, 0),
        ReassemblyOutcome::Behind
    );
    assert!(matches!(
        offer(&mut reassembly, 2 * span, 0),
        ReassemblyOutcome::Restored { .. }
    ));
}

#[test]
fn a_restarted_sender_counts_from_the_beginning() {
    let mut reassembly = Reassembly::default();
    assert_eq!(
        offer(&mut reassembly, 1_000_000, 0),
        ReassemblyOutcome::Kept
    );
    reassembly.restart();
    assert_eq!(offer(&mut reassembly, 0, 1), ReassemblyOutcome::Kept);
    assert_eq!(reassembly.buffered(), 1);
}

/// Of packets that need many long fragments, fewer are kept.
#[test]
fn the_bytes_of_fragments_are_bounded() {
    let mut reassembly = Reassembly::default();
    let code = code(60, 64);
    let payload = vec![0; usize::from(code.fragment_len(u16::MAX))];
    for sequence in 0..2 * MAX_INCOMPLETE as u64 {
        for index in 0..10 {
            let header = header(code, index, u16::MAX);
            let outcome = reassembly.offer(sequence, header, payload.clone());
            assert_eq!(outcome, ReassemblyOutcome::Kept);
        }
        let bytes = reassembly.buffered() * 10 * payload.len();
        assert!(bytes < (16 << 20) + 20 * payload.len(), "{bytes}");
    }
    assert!(reassembly.buffered() > 1000);
    reassembly.restart();
    assert_eq!(reassembly.buffered(), 0);
}

/// Every set of k of up to nine fragments restores the packet.
#[test]
fn every_set_of_fragments_of_short_codes_restores_the_packet() {
    let packet: Vec<u8> = (0..97_u8).map(|n| n.wrapping_mul(59)).collect();
    for total in 2..=9 {
        for needed in 2..=total {
            let code = code(needed, total);
            let all = split(&packet, code).unwrap();
            let sets = (0_u32..1 << total).filter(|set| set.count_ones() == u32::from(needed));
            for set in sets {
                let indexes = (0..total).filter(|index| set >> index & 1 == 1);
                let fragments: Vec<_> = indexes
                    .map(|index| Fragment {
                        index,
                        payload: &all[usize::from(index)],
                    })
                    .collect();
                let restored = restore(&fragments, code, 97);
                assert_eq!(restored.as_ref(), Some(&packet), "{set:b} of {total}");
            }
        }
    }
}

#[test]
fn the_longest_codes_restore_packets_from_recovery_fragments_alone() {
    let packet: Vec<u8> = (0..1400_u32).map(|n| n.to_le_bytes()[0]).collect();
    let code = code(32, 64);
    let all = split(&packet, code).unwrap();
    let recovery: Vec<_> = (32..64)
        .map(|index| Fragment {
            index,
            payload: &all[usize::from(index)],
        })
        .collect();
    assert_eq!(restore(&recovery, code, 1400), Some(packet));
}
