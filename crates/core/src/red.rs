//! Defaults of random early detection (Floyd and Jacobson 1993) in ns-2 2.35 (`red.cc`), which a link acts on and a
//! scenario is checked against.

use crate::units::{Bytes, Rate};

/// Least `min_th` where none is given, in packets.
const MIN_THRESHOLD: f64 = 5.0;
/// The queueing delay for which `min_th` is made where none is given, in seconds (`targetdelay_`).
const TARGET_DELAY: f64 = 0.005;

/// `min_th` in packets, where none is given, on a line of this rate with packets of this mean size, which is not zero:
/// what waits for half of the target delay of 5 ms, but at least 5 packets.
#[must_use]
pub fn default_min_th(rate: Rate, mean_packet: Bytes) -> f64 {
    let packets_per_second = rate.as_f64() / (8.0 * mean_packet.0 as f64);
    MIN_THRESHOLD.max(TARGET_DELAY * packets_per_second / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_grows_with_the_packets_that_a_line_carries() {
        let at = |mbits, mean| default_min_th(Rate::from_mbits(mbits), Bytes(mean));
        let found = [at(0, 500), at(8, 500), at(40, 500), at(40, 1000)];
        for (found, wanted) in found.into_iter().zip([5.0, 5.0, 25.0, 12.5]) {
            assert!((found - wanted).abs() < 1e-9, "{found}, not {wanted}");
        }
    }
}
