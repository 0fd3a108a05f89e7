//! The erasure code of fragments: a systematic Cauchy code over GF(2^8) (J. Blömer et al., "An
//! XOR-Based Erasure-Resilient Coding Scheme", ICSI TR-95-048, 1995).
//!
//! Recovery fragment i is the sum of all originals j, each times (x0 + yj) / (xi + yj), with yj = j
//! and xi = k + i. These elements differ, so that each square part of the matrix of the quotients 1
//! / (xi + yj) is regular; to multiply its columns by x0 + yj changes nothing in that, and makes
//! all coefficients of the first recovery fragment 1.

use alloc::vec;
use alloc::vec::Vec;

use super::field::{add_product, product, quotient};
use super::{Code, Fragment};

/// The fragments of `packet`, in their order, each of [`Code::fragment_len`] bytes. `None` if the
/// packet is empty or longer than 65 535 bytes.
pub(crate) fn split(packet: &[u8], code: Code) -> Option<Vec<Vec<u8>>> {
    let packet_len = u16::try_from(packet.len()).ok().filter(|len| *len > 0)?;
    let len = usize::from(code.fragment_len(packet_len));
    let mut fragments = Vec::with_capacity(code.total().into());
    // A packet that is short for its code ends before the last originals, which are padding.
    for index in 0..usize::from(code.needed()) {
        let rest = packet.get(index * len..).unwrap_or_default();
        let mut original = Vec::with_capacity(len);
        original.extend_from_slice(&rest[..rest.len().min(len)]);
        original.resize(len, 0);
        fragments.push(original);
    }
    for row in 0..code.recovery() {
        let mut recovery = vec![0; len];
        for (column, original) in (0..code.needed()).zip(&fragments) {
            add_product(&mut recovery, coefficient(code, row, column), original);
        }
        fragments.push(recovery);
    }
    Some(fragments)
}

/// The packet of `packet_len` bytes that the first [`Code::needed`] of `fragments` restore. `None`
/// if there are fewer, if one is there twice, or if one has a wrong length or index.
pub(crate) fn restore<T: AsRef<[u8]>>(
    fragments: &[Fragment<T>],
    code: Code,
    packet_len: u16,
) -> Option<Vec<u8>> {
    let len = usize::from(code.fragment_len(packet_len));
    let needed = usize::from(code.needed());
    let mut given = vec![None; code.total().into()];
    for fragment in fragments.get(..needed)? {
        let bytes = fragment.payload.as_ref();
        let slot = given.get_mut(usize::from(fragment.index))?;
        if bytes.len() != len || slot.replace(bytes).is_some() {
            return None;
        }
    }
    let (originals, recovery) = given.split_at(needed);
    let mut packet = vec![0; needed * len];
    for (to, original) in packet.chunks_exact_mut(len).zip(originals) {
        if let Some(original) = original {
            to.copy_from_slice(original);
        }
    }
    restore_missing(&mut packet, len, originals, recovery, code);
    packet.truncate(packet_len.into());
    Some(packet)
}

/// Writes the originals that are missing in `packet`.
fn restore_missing(
    packet: &mut [u8],
    len: usize,
    originals: &[Option<&[u8]>],
    recovery: &[Option<&[u8]>],
    code: Code,
) {
    let missing: Vec<u8> = positions(originals, false).collect();
    let rows: Vec<u8> = positions(recovery, true).take(missing.len()).collect();
    // What each recovery fragment has of the missing originals.
    let mut sums = Vec::with_capacity(rows.len());
    for &row in &rows {
        let mut sum = recovery[usize::from(row)].unwrap_or_default().to_vec();
        for (column, original) in (0..).zip(originals) {
            if let Some(original) = original {
                add_product(&mut sum, coefficient(code, row, column), original);
            }
        }
        sums.push(sum);
    }
    let coefficients = rows.iter().map(|&row| {
        let columns = missing.iter();
        columns
            .map(|&column| coefficient(code, row, column))
            .collect()
    });
    let inverse = inverse(coefficients.collect());
    for (&column, factors) in missing.iter().zip(&inverse) {
        let start = usize::from(column) * len;
        let to = &mut packet[start..start + len];
        for (&factor, sum) in factors.iter().zip(&sums) {
            add_product(to, factor, sum);
        }
    }
}

/// The positions of the fragments that are there, or of those that are not.
fn positions(fragments: &[Option<&[u8]>], are_there: bool) -> impl Iterator<Item = u8> {
    let all = (0..).zip(fragments);
    let wanted = all.filter(move |(_, fragment)| fragment.is_some() == are_there);
    wanted.map(|(position, _)| position)
}

/// The factor of original `column` in recovery fragment `row`.
const fn coefficient(code: Code, row: u8, column: u8) -> u8 {
    let first = code.needed() ^ column;
    let of_row = (code.needed() + row) ^ column;
    quotient(first, of_row)
}

/// The inverse of a regular matrix, by rows (Gauss and Jordan).
fn inverse(mut matrix: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let size = matrix.len();
    for (number, row) in matrix.iter_mut().enumerate() {
        row.extend((0..size).map(|column| u8::from(column == number)));
    }
    for pivot in 0..size {
        let below = (pivot..size).find(|row| matrix[*row][pivot] != 0);
        // There is one, since the matrix is regular.
        matrix.swap(pivot, below.unwrap_or(pivot));
        let factor = quotient(1, matrix[pivot][pivot]);
        for element in &mut matrix[pivot] {
            *element = product(*element, factor);
        }
        let pivot_row = matrix[pivot].clone();
        for (number, row) in matrix.iter_mut().enumerate() {
            let factor = row[pivot];
            if number != pivot && factor != 0 {
                add_product(row, factor, &pivot_row);
            }
        }
    }
    for row in &mut matrix {
        row.drain(..size);
    }
    matrix
}
