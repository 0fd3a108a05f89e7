//! The growth function of CUBIC (RFC 9438), of a window or of a rate.

use crate::math;

/// The aggressiveness of a window, in segments per cubic second (RFC 9438, 5.1).
pub const CUBIC_C: f64 = 0.4;
/// The multiplicative decrease factor (RFC 9438, 4.6).
pub const CUBIC_BETA: f64 = 0.7;
/// The increase, in segments a round trip, with which a Reno window that is multiplied by
/// [`CUBIC_BETA`] has the mean of a standard one (RFC 9438, 4.3).
pub const CUBIC_ALPHA: f64 = 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA);

/// A cubic function of the time in seconds, with its plateau at the last known maximum.
#[derive(Clone, Copy, Debug)]
pub struct CubicCurve {
    maximum: f64,
    /// K: the seconds from the start until the maximum (RFC 9438, equation 2).
    k: f64,
    c: f64,
}

impl CubicCurve {
    /// A curve from `start` through `maximum`, not less than `start`, with the aggressiveness `c`.
    #[must_use]
    pub fn new(start: f64, maximum: f64, c: f64) -> Self {
        let maximum = maximum.max(start);
        Self {
            maximum,
            k: math::cbrt((maximum - start) / c),
            c,
        }
    }

    /// The value `t` seconds after the start (RFC 9438, equation 1).
    #[must_use]
    pub fn at(&self, t: f64) -> f64 {
        let from_maximum = t - self.k;
        self.c * from_maximum * from_maximum * from_maximum + self.maximum
    }
}

/// The next maximum after a reduction at `value`. Below the last one another flow may be taking its
/// share: fast convergence gives way to it (RFC 9438, 4.7).
#[must_use]
pub fn cubic_maximum(value: f64, last: Option<f64>) -> f64 {
    if last.is_some_and(|last| value < last) {
        value * f64::midpoint(1.0, CUBIC_BETA)
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_starts_at_its_start_and_rests_at_its_maximum() {
        let curve = CubicCurve::new(700.0, 1000.0, CUBIC_C);
        assert!((curve.at(0.0) - 700.0).abs() < 1e-9);
        // K = cbrt(1000 * 0.3 / 0.4) = 9.0856 s (RFC 9438, equation 2).
        assert!((curve.at(9.0856) - 1000.0).abs() < 1e-9);
        assert!((curve.at(10.0856) - 1000.4).abs() < 1e-3);
        let none = CubicCurve::new(5.0, 3.0, CUBIC_C);
        assert!((none.at(0.0) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn a_maximum_below_the_last_one_gives_way() {
        assert!((cubic_maximum(100.0, None) - 100.0).abs() < 1e-9);
        assert!((cubic_maximum(80.0, Some(100.0)) - 68.0).abs() < 1e-9);
        assert!((cubic_maximum(110.0, Some(100.0)) - 110.0).abs() < 1e-9);
    }
}
