//! Fragmentation of IPv4 packets (RFC 791, sections 2.3 and 3.2).

use bytes::Bytes;
use etherparse::{Ipv4Header, Ipv4Options};

/// The unit of fragment offsets, in bytes.
const OFFSET_UNIT: usize = 8;
/// The copied flag of an option type: the option is present in every fragment.
const COPIED_FLAG: u8 = 0x80;

/// The fragments of an IPv4 packet, each of at most `limit` bytes; `None` if its don't-fragment bit
/// is set, if it is not IPv4, or if the limit leaves no room for a payload.
#[must_use]
pub fn split(packet: &[u8], limit: u16) -> Option<Vec<Bytes>> {
    let (header, behind) = Ipv4Header::from_slice(packet).ok()?;
    if header.dont_fragment {
        return None;
    }
    let len = usize::from(header.total_len).checked_sub(header.header_len())?;
    let payload = behind.get(..len)?;
    let room = usize::from(limit).checked_sub(header.header_len())? / OFFSET_UNIT * OFFSET_UNIT;
    if room == 0 {
        return None;
    }
    let mut later = header.clone();
    later.options = without_uncopied(&header.options);
    let pieces = payload.chunks(room).enumerate();
    pieces
        .map(|(number, piece)| {
            let header = if number == 0 { &header } else { &later };
            let at = number * room;
            let is_last = at + piece.len() == payload.len();
            fragment(header, at / OFFSET_UNIT, piece, is_last)
        })
        .collect()
}

/// One fragment, `units` after the start of the packet with header `whole`, which may be a fragment
/// itself.
fn fragment(whole: &Ipv4Header, units: usize, piece: &[u8], is_last: bool) -> Option<Bytes> {
    let mut header = whole.clone();
    let offset = whole.fragment_offset.value() + u16::try_from(units).ok()?;
    header.fragment_offset = offset.try_into().ok()?;
    header.more_fragments = whole.more_fragments || !is_last;
    header.total_len = u16::try_from(header.header_len() + piece.len()).ok()?;
    header.header_checksum = header.calc_header_checksum();
    let mut bytes = Vec::with_capacity(header.header_len() + piece.len());
    bytes.extend_from_slice(&header.to_bytes());
    bytes.extend_from_slice(piece);
    Some(bytes.into())
}

/// The options, with those that belong only in the first fragment replaced by padding.
fn without_uncopied(options: &Ipv4Options) -> Ipv4Options {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    let mut options = options.clone();
    let mut rest: &mut [u8] = &mut options;
    while let [kind, ..] = *rest
        && kind != END
    {
        let len = match rest {
            [NO_OPERATION, ..] => 1,
            [_, len, ..] => usize::from(*len).max(2),
            _ => 1,
        };
        let (option, behind) = rest.split_at_mut(len.min(rest.len()));
        if kind & COPIED_FLAG == 0 {
            option.fill(NO_OPERATION);
        }
        rest = behind;
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpFragOffset, IpNumber};
    use proptest::prelude::*;

    fn packet(payload: &[u8], options: &[u8]) -> (Ipv4Header, Vec<u8>) {
        let len = u16::try_from(payload.len()).unwrap();
        let (from, to) = ([10, 77, 0, 1], [10, 77, 0, 2]);
        let mut header = Ipv4Header::new(len, 64, IpNumber::UDP, from, to).unwrap();
        header.identification = 7;
        header.dont_fragment = false;
        header.options = Ipv4Options::try_from(options).unwrap();
        header.set_payload_len(payload.len()).unwrap();
        header.header_checksum = header.calc_header_checksum();
        let mut bytes = header.to_bytes().to_vec();
        bytes.extend_from_slice(payload);
        (header, bytes)
    }

    /// The payload that a host reassembles, with its checks.
    fn reassemble(fragments: &[Bytes], limit: u16) -> Vec<u8> {
        let mut payloads = Vec::new();
        for (number, bytes) in fragments.iter().enumerate() {
            assert!(bytes.len() <= usize::from(limit));
            let (header, payload) = Ipv4Header::from_slice(bytes).unwrap();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            assert_eq!(usize::from(header.total_len), bytes.len());
            assert_eq!((header.identification, header.time_to_live), (7, 64));
            assert_eq!(
                header.fragment_offset.byte_offset() as usize,
                payloads.len()
            );
            assert_eq!(header.more_fragments, number + 1 < fragments.len());
            payloads.extend_from_slice(payload);
        }
        payloads
    }

    proptest! {
        #[test]
        fn fragments_fit_and_reassemble_to_the_payload(
            payload in prop::collection::vec(any::<u8>(), 1..3000), limit in 60_u16..1500,
        ) {
            let (_, bytes) = packet(&payload, &[]);
            let fragments = split(&bytes, limit).unwrap();
            prop_assert_eq!(reassemble(&fragments, limit), &payload[..]);
            // A later hop with a smaller MTU fragments the fragments.
            let limit = 52;
            let again: Option<Vec<_>> = fragments.iter().map(|f| split(f, limit)).collect();
            prop_assert_eq!(reassemble(&again.unwrap().concat(), limit), payload);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..100), limit: u16) {
            _ = split(&bytes, limit);
            let (mut bytes, tail) = (vec![0x45 + (limit % 11) as u8], bytes);
            bytes.extend_from_slice(&tail);
            _ = split(&bytes, limit);
        }
    }

    #[test]
    fn packets_that_cannot_be_fragmented_are_refused() {
        let (mut header, bytes) = packet(&[1; 100], &[]);
        assert!(split(&bytes, 60).is_some());
        assert_eq!(split(&bytes, 27), None, "no room for a payload");
        assert_eq!(split(&bytes[..90], 60), None, "truncated");
        header.dont_fragment = true;
        let forbidden = [&header.to_bytes()[..], &[1; 100]].concat();
        assert_eq!(split(&forbidden, 60), None);
        assert_eq!(split(&[0x60; 100], 60), None, "IPv6");
        header.dont_fragment = false;
        header.fragment_offset = IpFragOffset::try_new(IpFragOffset::MAX_U16).unwrap();
        let beyond = [&header.to_bytes()[..], &[1; 100]].concat();
        assert_eq!(split(&beyond, 60), None, "an offset beyond the field");
    }

    #[test]
    fn options_are_copied_only_where_the_flag_is_set() {
        // A record route option, which is not copied, and a stream identifier, which is.
        let options = [7, 3, 4, 1, 136, 4, 0, 9];
        let (_, bytes) = packet(&[1; 100], &options);
        let fragments = split(&bytes, 100).unwrap();
        let read = |fragment: &[u8]| Ipv4Header::from_slice(fragment).unwrap().0.options.to_vec();
        assert_eq!(read(&fragments[0]), options);
        assert_eq!(read(&fragments[1]), [1, 1, 1, 1, 136, 4, 0, 9]);
    }
}
