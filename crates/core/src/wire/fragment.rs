//! The wire format of a fragment.

use alloc::vec::Vec;

use super::WireError;
use crate::fragment::{Code, FragmentHeader};
use crate::frame::{Body, FRAGMENT_HEADER_LEN};
use crate::packet::TrafficClass;

/// Appends a fragment.
pub(super) fn encode(header: FragmentHeader, fragment: &[u8], to: &mut Vec<u8>) {
    let FragmentHeader {
        code,
        index,
        packet_len,
        ..
    } = header;
    let originals = u32::from(code.needed()) * u32::from(header.fragment_len());
    let [.., padding] = (originals - u32::from(packet_len)).to_be_bytes();
    to.extend_from_slice(&[index, code.needed(), code.total(), padding]);
    to.extend_from_slice(fragment);
}

/// Decodes a fragment whose outer header has the default traffic class.
pub(super) fn decode<'a>(bytes: &[u8], rest: &'a [u8]) -> Result<Body<&'a [u8]>, WireError> {
    const HEADER: usize = FRAGMENT_HEADER_LEN as usize;
    let short = WireError::Short(bytes.len());
    let (header, fragment) = rest.split_first_chunk::<HEADER>().ok_or(short)?;
    let [index, needed, total, padding] = *header;
    let code = Code::new(needed, total).map_err(|_| WireError::Field(needed))?;
    if index >= total {
        return Err(WireError::Field(index));
    }
    let originals = fragment.len() * usize::from(needed);
    let packet_len = originals
        .checked_sub(padding.into())
        .filter(|len| *len > 0)
        .ok_or(short)?;
    let packet_len = u16::try_from(packet_len).map_err(|_| WireError::Long(bytes.len()))?;
    // Each packet has one form: the shortest fragments of its length.
    if usize::from(code.fragment_len(packet_len)) != fragment.len() {
        return Err(WireError::Field(padding));
    }
    let traffic_class = TrafficClass::DEFAULT;
    let header = FragmentHeader {
        code,
        index,
        packet_len,
        traffic_class,
    };
    Ok(Body::Fragment {
        header,
        payload: fragment,
    })
}
