//! Reassembly of IPv4 fragments (RFC 791, section 3.2) of datagrams that no path carries whole.

use std::collections::VecDeque;

use etherparse::defrag::IpDefragBuf;
use etherparse::{IpNumber, Ipv4HeaderSlice};
use polypath_core::packet::{Ecn, TrafficClass, traffic_class};
use polypath_core::time::{Duration, Time};

/// The maximum number of incomplete datagrams, each of at most 64 KiB; beyond it the oldest is dropped.
/// The tunnel rarely reorders packets, so few datagrams are incomplete at a time.
const MAX_INCOMPLETE: usize = 16;
/// The time after which an incomplete datagram is dropped: later fragments with its identification may
/// be those of another (RFC 4963).
const MAX_AGE: Duration = Duration::from_secs(1);

/// The fields by which fragments belong together (RFC 791, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FragmentKey {
    source: [u8; 4],
    destination: [u8; 4],
    identification: u16,
}

/// A datagram of which fragments are missing.
#[derive(Debug)]
struct IncompleteDatagram {
    key: FragmentKey,
    /// The time of its first fragment.
    since: Time,
    buffer: IpDefragBuf,
    /// Whether a fragment has a mark of congestion: the datagram then has it, too (RFC 3168, section
    /// 5.3).
    is_marked: bool,
}

/// A datagram whose fragments have all arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reassembled {
    /// With its UDP header.
    pub(super) datagram: Vec<u8>,
    pub(super) traffic_class: TrafficClass,
}

/// The incomplete datagrams, in the order of their first fragments.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    incomplete: VecDeque<IncompleteDatagram>,
}

impl Reassembly {
    /// Adds a fragment and returns the datagram that it completes. A fragment that contradicts
    /// earlier ones is ignored.
    pub(super) fn add(
        &mut self,
        now: Time,
        header: &Ipv4HeaderSlice<'_>,
        payload: &[u8],
    ) -> Option<Reassembled> {
        self.expire(now);
        let key = FragmentKey {
            source: header.source(),
            destination: header.destination(),
            identification: header.identification(),
        };
        let at = self.position(now, key);
        let datagram = self.incomplete.get_mut(at)?;
        let (offset, is_more) = (header.fragments_offset(), header.more_fragments());
        datagram.buffer.add(offset, is_more, payload).ok()?;
        let mut traffic_class = traffic_class(header.slice());
        datagram.is_marked |= traffic_class.ecn == Ecn::Ce;
        if !datagram.buffer.is_complete() {
            return None;
        }
        let datagram = self.incomplete.remove(at)?;
        if datagram.is_marked {
            traffic_class.ecn = Ecn::Ce;
        }
        Some(Reassembled {
            datagram: datagram.buffer.take_bufs().0,
            traffic_class,
        })
    }

    /// The number of incomplete datagrams.
    pub(super) fn incomplete(&self) -> usize {
        self.incomplete.len()
    }

    fn expire(&mut self, now: Time) {
        let is_old = |datagram: &IncompleteDatagram| now.since(datagram.since) > MAX_AGE;
        while self.incomplete.front().is_some_and(is_old) {
            self.incomplete.pop_front();
        }
    }

    /// The position of the datagram, which is added if it is new.
    fn position(&mut self, now: Time, key: FragmentKey) -> usize {
        let mut known = self.incomplete.iter();
        known
            .position(|datagram| datagram.key == key)
            .unwrap_or_else(|| {
                if self.incomplete.len() == MAX_INCOMPLETE {
                    self.incomplete.pop_front();
                }
                self.incomplete.push_back(IncompleteDatagram {
                    key,
                    since: now,
                    buffer: IpDefragBuf::new(IpNumber::UDP, Vec::new(), Vec::new()),
                    is_marked: false,
                });
                self.incomplete.len() - 1
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpFragOffset, Ipv4Header};

    /// Fragment `at` (in units of 8 bytes) of the datagram `identification`.
    fn fragment(identification: u16, at: u16, is_last: bool, payload: &[u8]) -> Vec<u8> {
        let header = Ipv4Header {
            identification,
            more_fragments: !is_last,
            fragment_offset: IpFragOffset::try_new(at).unwrap(),
            total_len: 20 + u16::try_from(payload.len()).unwrap(),
            protocol: IpNumber::UDP,
            ..Ipv4Header::default()
        };
        let mut bytes = header.to_bytes().to_vec();
        bytes.extend_from_slice(payload);
        bytes
    }

    fn add(reassembly: &mut Reassembly, fragment: &[u8]) -> Option<Vec<u8>> {
        add_at(reassembly, Time::ZERO, fragment).map(|complete| complete.datagram)
    }

    fn add_at(reassembly: &mut Reassembly, now: Time, fragment: &[u8]) -> Option<Reassembled> {
        let header = Ipv4HeaderSlice::from_slice(fragment).unwrap();
        reassembly.add(now, &header, &fragment[20..])
    }

    #[test]
    fn fragments_in_any_order_make_the_datagram() {
        let mut reassembly = Reassembly::default();
        let whole: Vec<u8> = (0..20).collect();
        let parts = [
            fragment(7, 0, false, &whole[..8]),
            fragment(7, 1, false, &whole[8..16]),
            fragment(7, 2, true, &whole[16..]),
        ];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let [first, second, third] = order.map(|at| &parts[at]);
            assert_eq!(add(&mut reassembly, first), None);
            assert_eq!(add(&mut reassembly, second), None);
            assert_eq!(add(&mut reassembly, first), None, "a copy");
            assert_eq!(add(&mut reassembly, third), Some(whole.clone()));
        }
    }

    #[test]
    fn beyond_the_maximum_the_oldest_incomplete_datagram_is_dropped() {
        let mut reassembly = Reassembly::default();
        for identification in 0..=16 {
            add(
                &mut reassembly,
                &fragment(identification, 0, false, &[0; 8]),
            );
        }
        assert_eq!(reassembly.incomplete.len(), MAX_INCOMPLETE);
        assert_eq!(add(&mut reassembly, &fragment(0, 1, true, &[1])), None);
        assert!(add(&mut reassembly, &fragment(16, 1, true, &[1])).is_some());
    }

    #[test]
    fn a_fragment_that_contradicts_earlier_ones_is_ignored() {
        let mut reassembly = Reassembly::default();
        assert_eq!(add(&mut reassembly, &fragment(1, 1, true, &[1])), None);
        assert_eq!(add(&mut reassembly, &fragment(1, 5, true, &[1])), None);
        assert!(add(&mut reassembly, &fragment(1, 0, false, &[0; 8])).is_some());
    }

    #[test]
    fn an_old_fragment_does_not_complete_a_later_datagram() {
        let mut reassembly = Reassembly::default();
        let first = fragment(7, 0, false, &[1; 8]);
        let second = fragment(7, 1, true, &[2; 8]);
        let later = |ms| Time::ZERO + Duration::from_millis(ms);
        assert_eq!(add_at(&mut reassembly, later(0), &first), None);
        assert_eq!(add_at(&mut reassembly, later(1001), &second), None);
        assert!(add_at(&mut reassembly, later(1002), &first).is_some());
        assert_eq!(reassembly.incomplete(), 0);
    }

    #[test]
    fn a_mark_of_any_fragment_is_that_of_the_datagram() {
        let mut reassembly = Reassembly::default();
        let mut marked = fragment(7, 0, false, &[1; 8]);
        marked[1] = 3;
        add(&mut reassembly, &marked);
        let whole = add_at(&mut reassembly, Time::ZERO, &fragment(7, 1, true, &[2; 8]));
        assert_eq!(whole.unwrap().traffic_class.ecn, Ecn::Ce);
    }
}
