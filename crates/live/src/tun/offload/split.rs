//! Splits a segmentation-offload packet of the kernel into the packets of its flow.

use super::headers::{CWR, FIN, FLAGS, Headers, PSH, SEQUENCE, number};
use super::{GsoType, InvalidHeader, VirtioHeader, checksum};

/// Splits `packet` as `header` states: calls `write` for each packet with its length and a function
/// that fills it in.
///
/// # Errors
/// If the packet cannot be split like this; nothing is written then.
pub fn split(
    header: VirtioHeader,
    packet: &mut [u8],
    mut write: impl FnMut(usize, &dyn Fn(&mut [u8])),
) -> Result<(), InvalidHeader> {
    if header.kind == GsoType::None {
        if header.needs_checksum {
            complete(header, packet)?;
        }
        write(packet.len(), &|to| to.copy_from_slice(packet));
        return Ok(());
    }
    let start = usize::from(header.checksum_start);
    let headers = Headers::at(packet, header.kind, start).ok_or(InvalidHeader)?;
    let segment = usize::from(header.segment);
    if segment == 0 || headers.all == packet.len() {
        return Err(InvalidHeader);
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
                Segment {
                    n,
                    len: segment,
                    is_last: n == last,
                },
            );
        });
    }
    Ok(())
}

/// The position of a segment in the packet.
#[derive(Clone, Copy)]
struct Segment {
    n: usize,
    len: usize,
    is_last: bool,
}

/// Turns the headers of the whole packet into those of a segment.
fn finish(headers: Headers, packet: &mut [u8], segment: Segment) {
    if headers.is_v4 {
        let id = u16::from_be_bytes([packet[4], packet[5]]);
        let id = id.wrapping_add(u16::try_from(segment.n).unwrap_or(0));
        packet[4..6].copy_from_slice(&id.to_be_bytes());
    }
    headers.set_len(packet, packet.len());
    if headers.is_tcp {
        let skipped = u32::try_from(segment.n * segment.len).unwrap_or(0);
        let sequence = number(packet, headers.ip + SEQUENCE).wrapping_add(skipped);
        let at = headers.ip + SEQUENCE;
        packet[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
        let flags = &mut packet[headers.ip + FLAGS];
        *flags &= if segment.is_last { !0 } else { !(FIN | PSH) };
        *flags &= if segment.n == 0 { !0 } else { !CWR };
    }
    headers.set_checksum(packet);
}

/// Completes the checksum of a packet that needs no splitting.
fn complete(header: VirtioHeader, packet: &mut [u8]) -> Result<(), InvalidHeader> {
    let start = usize::from(header.checksum_start);
    let at = start + usize::from(header.checksum_offset);
    if at + 2 > packet.len() {
        return Err(InvalidHeader);
    }
    // The checksum field holds the sum of the pseudo-header, and so is part of the sum.
    let sum = match checksum::complement(checksum::add(0, &packet[start..])) {
        [0, 0] => [0xff, 0xff],
        sum => sum,
    };
    packet[at..at + 2].copy_from_slice(&sum);
    Ok(())
}
