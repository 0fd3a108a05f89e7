//! Numbers of a sentence: as many digits as the interval justifies.

use crate::statistics::Estimate;

/// The digits after the point, at most.
const MOST: usize = 9;

/// The significant digits, at most.
const SIGNIFICANT: i32 = 4;

/// The possible values of a difference.
pub(crate) const ANY: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// The possible values of a quantity that cannot be negative.
const NOT_NEGATIVE: [f64; 2] = [0.0, f64::INFINITY];

/// The possible values of a share in per cent.
const PERCENT: [f64; 2] = [0.0, 100.0];

/// A mean and the ends of its interval in the unit of a sentence.
pub(crate) struct Numbers {
    mean: f64,
    half: f64,
    ends: [f64; 2],
    decimals: usize,
}

impl Numbers {
    /// The numbers of an estimate whose possible values are in `range`: neither the mean nor an end
    /// of the interval is outside.
    pub(crate) fn of(estimate: Estimate, range: [f64; 2]) -> Self {
        let clipped = |value: f64| value.max(range[0]).min(range[1]);
        let half = estimate.ci95.unwrap_or(0.0);
        let mean = clipped(estimate.mean);
        let ends = [estimate.mean - half, estimate.mean + half].map(clipped);
        Self {
            mean,
            half,
            ends,
            decimals: decimals(mean, half, ends),
        }
    }

    /// The size of the mean, without its sign.
    pub(crate) fn size(&self) -> String {
        self.text(self.mean.abs())
    }

    /// The mean with its sign.
    fn mean(&self) -> String {
        self.text(self.mean)
    }

    /// The ends of the interval, to show without the mean.
    pub(crate) fn ends(&self) -> [String; 2] {
        let alone = Self {
            decimals: decimals(self.ends[0], self.half, self.ends),
            ..*self
        };
        alone.ends.map(|end| alone.text(end))
    }

    /// The ends of an interval without zero, without their sign, the nearer to zero first; `None`
    /// if both read like the mean.
    pub(crate) fn sizes_of_ends(&self) -> Option<[String; 2]> {
        let [low, high] = self.ends.map(f64::abs);
        let texts = [low.min(high), low.max(high)].map(|end| self.text(end));
        let size = self.size();
        texts.iter().any(|text| *text != size).then_some(texts)
    }

    fn text(&self, value: f64) -> String {
        let rounded = rounded(value);
        // A negative zero has a sign.
        match usize::try_from(SIGNIFICANT - 1 - magnitude(rounded)) {
            Ok(decimals) => format!("{:.*}", self.decimals.min(decimals), value + 0.0),
            Err(_) => format!("{rounded:.0}"),
        }
    }
}

/// A value with [`SIGNIFICANT`] digits.
fn rounded(value: f64) -> f64 {
    let text = format!("{value:.*e}", usize::try_from(SIGNIFICANT - 1).unwrap_or(0));
    text.parse().unwrap_or(value)
}

/// The power of ten of the first digit; 0 for zero.
#[expect(clippy::cast_possible_truncation, reason = "at most 308")]
fn magnitude(value: f64) -> i32 {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    // Rounded values are near decimal powers, and a logarithm can be a little too low.
    (value.abs().log10() + 1e-12).floor() as i32
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

/// The possible values of a quantity that cannot be negative; one in per cent is a share.
pub(crate) fn range_of(unit: &str) -> [f64; 2] {
    if unit == "%" { PERCENT } else { NOT_NEGATIVE }
}

/// A single value with three digits.
pub(crate) fn single(mean: f64) -> String {
    let estimate = Estimate {
        mean,
        ci95: None,
        n: 1,
    };
    Numbers::of(estimate, ANY).mean()
}

/// The mean of a quantity that cannot be negative with its interval, in a unit: `4.6 s (3.8 to 5.4
/// s)`; a quantity in per cent is a share.
pub(crate) fn with_interval(estimate: Estimate, unit: &str) -> String {
    let numbers = Numbers::of(estimate, range_of(unit));
    let space = if unit.is_empty() { "" } else { " " };
    let has_interval = estimate.ci95.is_some_and(|half| half > 0.0);
    match numbers.sizes_of_ends().filter(|_| has_interval) {
        Some([low, high]) => {
            let mean = numbers.mean();
            format!("{mean}{space}{unit} ({low} to {high}{space}{unit})")
        }
        None => format!("{}{space}{unit}", single(numbers.mean)),
    }
}
