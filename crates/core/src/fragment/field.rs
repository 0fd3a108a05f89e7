//! The field GF(2^8) with the primitive polynomial x^8 + x^4 + x^3 + x^2 + 1, as in RFC 5510
//! (section 8.1): bytes, whose sum is their exclusive or.

/// The primitive polynomial.
const POLYNOMIAL: u16 = 0x11d;
/// The number of elements other than 0.
const ORDER: usize = 255;

/// The powers of 2, twice, so that the sum of two logarithms needs no remainder.
const EXP: [u8; 2 * ORDER] = powers();
/// The logarithms to the base 2; that of 0 is not used.
const LOG: [u8; 256] = logarithms();

#[expect(
    clippy::cast_possible_truncation,
    reason = "elements of the field are below 256"
)]
const fn powers() -> [u8; 2 * ORDER] {
    let mut powers = [0; 2 * ORDER];
    let (mut element, mut power) = (1_u16, 0);
    while power < ORDER {
        powers[power] = element as u8;
        powers[power + ORDER] = element as u8;
        element <<= 1;
        if element > 0xff {
            element ^= POLYNOMIAL;
        }
        power += 1;
    }
    powers
}

#[expect(clippy::cast_possible_truncation, reason = "logarithms are below 255")]
const fn logarithms() -> [u8; 256] {
    let mut logarithms = [0; 256];
    let mut power = 0;
    while power < ORDER {
        logarithms[EXP[power] as usize] = power as u8;
        power += 1;
    }
    logarithms
}

/// The products of all pairs of elements. A table for one factor would be made for each fragment,
/// and takes as long as its bytes.
static PRODUCTS: [[u8; 256]; 256] = products();

#[expect(clippy::large_stack_arrays, reason = "the compiler evaluates it")]
const fn products() -> [[u8; 256]; 256] {
    let mut products = [[0; 256]; 256];
    let mut a = 1;
    while a < products.len() {
        let mut b = 1;
        while b < products.len() {
            products[a][b] = EXP[LOG[a] as usize + LOG[b] as usize];
            b += 1;
        }
        a += 1;
    }
    products
}

/// The product of two elements.
pub(super) fn product(a: u8, b: u8) -> u8 {
    PRODUCTS[usize::from(a)][usize::from(b)]
}

/// The quotient of two elements, of which the second is not 0.
pub(super) const fn quotient(a: u8, b: u8) -> u8 {
    if a == 0 {
        return 0;
    }
    EXP[LOG[a as usize] as usize + ORDER - LOG[b as usize] as usize]
}

/// Adds `by` times each element of `of` to that of `to`.
pub(super) fn add_product(to: &mut [u8], by: u8, of: &[u8]) {
    if by == 1 {
        for (to, of) in to.iter_mut().zip(of) {
            *to ^= of;
        }
        return;
    }
    let products = &PRODUCTS[usize::from(by)];
    for (to, of) in to.iter_mut().zip(of) {
        *to ^= products[usize::from(*of)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product by shifts and sums, as its definition has it.
    fn shifted(a: u8, b: u8) -> u8 {
        let bits = (0..8).filter(|bit| b >> bit & 1 == 1);
        let sum = bits.fold(0_u16, |sum, bit| sum ^ u16::from(a) << bit);
        let reduced = (8..16).rev().fold(sum, |sum, bit| {
            if sum >> bit & 1 == 1 {
                sum ^ POLYNOMIAL << (bit - 8)
            } else {
                sum
            }
        });
        u8::try_from(reduced).unwrap()
    }

    #[test]
    fn products_are_those_of_polynomials_and_quotients_their_inverse() {
        for a in 0..=u8::MAX {
            for b in 0..=u8::MAX {
                assert_eq!(product(a, b), shifted(a, b), "{a} * {b}");
                if b != 0 {
                    assert_eq!(quotient(product(a, b), b), a, "{a} * {b} / {b}");
                }
            }
        }
    }

    #[test]
    fn multiples_are_added_element_by_element() {
        let of: [u8; 256] = core::array::from_fn(|n| u8::try_from(n).unwrap());
        for by in 0..=u8::MAX {
            let mut to = [0x5a; 256];
            add_product(&mut to, by, &of);
            for (to, of) in to.into_iter().zip(of) {
                assert_eq!(to, 0x5a ^ shifted(by, of), "{by} * {of}");
            }
        }
    }
}
