//! The body of a report.

use alloc::vec::Vec;

use super::{WireError, number, put_number};
use crate::frame::PathId;
use crate::repair::{MAX_BITMAP, PATH_LEN, PathArrival, Report, SendTime};
use crate::time::Duration;

/// The unit of an age in nanoseconds.
const AGE: u64 = super::MICROSECOND;
/// The unit of reordering in nanoseconds.
const REORDERING: u64 = 100_000;

pub(super) fn encode(report: &Report, to: &mut Vec<u8>) {
    put_number(report.base, to);
    to.push(u8::try_from(report.paths.len()).unwrap_or(u8::MAX));
    for arrival in report.paths.iter().take(usize::from(u8::MAX)) {
        let age = u32::try_from(arrival.age.0 / AGE).unwrap_or(u32::MAX);
        let reordering = u16::try_from(arrival.reordering.0 / REORDERING).unwrap_or(u16::MAX);
        to.push(arrival.path.0);
        put_number(arrival.newest.micros(), to);
        to.extend_from_slice(&age.to_be_bytes());
        to.extend_from_slice(&reordering.to_be_bytes());
    }
    to.extend_from_slice(&report.arrived);
}

/// Decodes the body `rest` of the frame `bytes`; the base stays truncated.
pub(super) fn decode(bytes: &[u8], rest: &[u8]) -> Result<Report, WireError> {
    let short = || WireError::Short(bytes.len());
    let (base, rest) = rest.split_first_chunk().ok_or_else(short)?;
    let (count, rest) = rest.split_first().ok_or_else(short)?;
    let paths_len = usize::from(*count) * PATH_LEN;
    let (paths, arrived) = rest.split_at_checked(paths_len).ok_or_else(short)?;
    if arrived.len() > MAX_BITMAP {
        return Err(WireError::Long(bytes.len()));
    }
    Ok(Report {
        base: number(*base),
        paths: paths.as_chunks().0.iter().map(decode_path).collect(),
        arrived: arrived.to_vec(),
    })
}

fn decode_path(bytes: &[u8; PATH_LEN]) -> PathArrival {
    let [path, n0, n1, n2, a0, a1, a2, a3, r0, r1] = *bytes;
    PathArrival {
        path: PathId(path),
        newest: SendTime::from_micros(number([n0, n1, n2])),
        age: Duration(u64::from(u32::from_be_bytes([a0, a1, a2, a3])) * AGE),
        reordering: Duration(u64::from(u16::from_be_bytes([r0, r1])) * REORDERING),
    }
}
