//! Numbers of a sentence: as many digits as the interval justifies.

use crate::statistics::Estimate;

/// The digits after the point, at most.
const MOST: usize = 9;

/// A mean and the ends of its interval in the unit of a sentence.
pub(crate) struct Numbers {
    mean: f64,
    ends: [f64; 2],
    decimals: usize,
}

impl Numbers {
    pub(crate) fn of(estimate: Estimate, scale: f64) -> Self {
        let mean = estimate.mean * scale;
        let half = estimate.ci95.unwrap_or(0.0) * scale;
        let ends = [mean - half, mean + half];
        Self {
            mean,
            ends,
            decimals: decimals(mean, half, ends),
        }
    }

    /// The size of the mean, without its sign.
    pub(crate) fn size(&self) -> String {
        self.text(self.mean.abs())
    }

    pub(crate) fn mean(&self) -> String {
        self.text(self.mean)
    }

    /// The ends of the interval.
    pub(crate) fn ends(&self) -> [String; 2] {
        self.ends.map(|end| self.text(end))
    }

    /// The ends of the interval of a quantity that cannot be negative.
    fn ends_from_zero(&self) -> [String; 2] {
        self.ends.map(|end| self.text(end.max(0.0)))
    }

    /// The ends of an interval without zero, without their sign, the nearer to zero first.
    pub(crate) fn sizes_of_ends(&self) -> [String; 2] {
        let [low, high] = self.ends.map(f64::abs);
        [low.min(high), low.max(high)].map(|end| self.text(end))
    }

    fn text(&self, value: f64) -> String {
        // A negative zero has a sign.
        format!("{:.*}", self.decimals, value + 0.0)
    }
}

/// One digit of the interval, two if the first is 1; without an interval three of the mean. More
/// if a value or an end would otherwise look like zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and MOST"
)]
fn decimals(mean: f64, half: f64, ends: [f64; 2]) -> usize {
    let digits = if half > 0.0 {
        let power = half.log10().floor();
        let is_one = half / 10_f64.powf(power) < 2.0;
        f64::from(u8::from(is_one)) - power
    } else if mean == 0.0 {
        0.0
    } else {
        2.0 - mean.abs().log10().floor()
    };
    let least = digits.clamp(0.0, MOST as f64) as usize;
    let looks_like_zero = |value: f64, digits: usize| {
        let text = format!("{value:.digits$}");
        value != 0.0 && text.bytes().all(|byte| matches!(byte, b'0' | b'.' | b'-'))
    };
    let values = [mean, ends[0], ends[1]];
    let shows_all = |digits: &usize| !values.iter().any(|value| looks_like_zero(*value, *digits));
    (least..MOST).find(shows_all).unwrap_or(MOST)
}

/// The mean of a non-negative quantity with its interval, in a unit: `4.6 s (3.8 to 5.4 s)`.
pub(crate) fn with_interval(estimate: Estimate, scale: f64, unit: &str) -> String {
    let numbers = Numbers::of(estimate, scale);
    let mean = numbers.mean();
    let space = if unit.is_empty() { "" } else { " " };
    if estimate.ci95.is_none_or(|half| half == 0.0) {
        return format!("{mean}{space}{unit}");
    }
    let [low, high] = numbers.ends_from_zero();
    format!("{mean}{space}{unit} ({low} to {high}{space}{unit})")
}
