//! What the kernel sends in one go, as the packets that it stands for.

use super::headers::{CWR, FIN, FLAGS, Headers, PSH, SEQUENCE, number};
use super::{Header, Kind, Unknown, checksum};

/// Splits `packet` as `header` says: `write` gets each packet's length and fills in the packet, by the function that it is
/// given.
///
/// # Errors
/// Where the packet is none that can be split so; nothing has been written then.
pub fn split(
    header: Header,
    packet: &mut [u8],
    mut write: impl FnMut(usize, &dyn Fn(&mut [u8])),
) -> Result<(), Unknown> {
    if header.kind == Kind::Whole {
        if header.needs_checksum {
            complete(header, packet)?;
        }
        write(packet.len(), &|to| to.copy_from_slice(packet));
        return Ok(());
    }
    let start = usize::from(header.checksum_start);
    let headers = Headers::told(packet, header.kind, start).ok_or(Unknown)?;
    let segment = usize::from(header.segment);
    if segment == 0 || headers.all == packet.len() {
        return Err(Unknown);
    }
    let (head, payload) = packet.split_at(headers.all);
    let last = (payload.len() - 1) / segment;
    for (n, part) in payload.chunks(segment).enumerate() {
        write(head.len() + part.len(), &|to| {
            to[..head.len()].copy_from_slice(head);
            to[head.len()..].copy_from_slice(part);
            finish(
                headers,
                to,
                Place {
                    n,
                    segment,
                    is_last: n == last,
                },
            );
        });
    }
    Ok(())
}

/// Which of the packets one is.
#[derive(Clone, Copy)]
struct Place {
    n: usize,
    segment: usize,
    is_last: bool,
}

/// Makes the headers of the whole those of one of its packets.
fn finish(headers: Headers, packet: &mut [u8], place: Place) {
    if headers.is_v4 {
        let id = u16::from_be_bytes([packet[4], packet[5]]);
        let id = id.wrapping_add(u16::try_from(place.n).unwrap_or(0));
        packet[4..6].copy_from_slice(&id.to_be_bytes());
    }
    headers.set_len(packet, packet.len());
    if headers.is_tcp {
        let skipped = u32::try_from(place.n * place.segment).unwrap_or(0);
        let sequence = number(packet, headers.ip + SEQUENCE).wrapping_add(skipped);
        let at = headers.ip + SEQUENCE;
        packet[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
        let flags = &mut packet[headers.ip + FLAGS];
        *flags &= if place.is_last { !0 } else { !(FIN | PSH) };
        *flags &= if place.n == 0 { !0 } else { !CWR };
    }
    headers.set_checksum(packet);
}

/// Completes the checksum of a packet that is whole but for it.
fn complete(header: Header, packet: &mut [u8]) -> Result<(), Unknown> {
    let start = usize::from(header.checksum_start);
    let at = start + usize::from(header.checksum_offset);
    if at + 2 > packet.len() {
        return Err(Unknown);
    }
    // The sum of the pseudo-header is where the checksum will be, and so is part of the sum.
    let sum = match checksum::complement(checksum::add(0, &packet[start..])) {
        [0, 0] => [0xff, 0xff],
        sum => sum,
    };
    packet[at..at + 2].copy_from_slice(&sum);
    Ok(())
}
