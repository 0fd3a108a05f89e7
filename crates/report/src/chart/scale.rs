//! Axes: positions of values, and tick labels.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;

/// The leading digits of the ticks of a logarithmic axis in each decade, from sparse to dense, and
/// the decades between ticks.
const LOG_TICKS: [(&[u8], usize); 8] = [
    (&[1], 20),
    (&[1], 10),
    (&[1], 5),
    (&[1], 2),
    (&[1], 1),
    (&[1, 3], 1),
    (&[1, 2, 5], 1),
    (&[1, 2, 3, 4, 6, 8], 1),
];

/// The number of decades beyond which minor grid lines of a logarithmic axis would merge into grey.
const FINE_DECADES: f64 = 4.0;

/// An axis without its label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scale {
    span: Range<f64>,
    kind: Kind,
    ticks: Vec<(f64, String)>,
    /// Faint lines without text.
    between: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Linear,
    Log,
    Names,
}

impl Scale {
    /// A linear axis with no more than `most` ticks.
    pub(crate) fn linear(span: Range<f64>, most: usize) -> Self {
        let ticks = linear_ticks(&span, most);
        Self {
            span,
            kind: Kind::Linear,
            ticks,
            between: Vec::new(),
        }
    }

    /// A logarithmic axis over a span above 0, with no more than `most` ticks.
    pub(crate) fn log(span: Range<f64>, most: usize) -> Self {
        let ticks = log_ticks(&span, most);
        let is_fine = (span.end / span.start).log10() <= FINE_DECADES;
        let all: &[u8] = if is_fine {
            &[1, 2, 3, 4, 5, 6, 7, 8, 9]
        } else {
            &[]
        };
        Self {
            between: by_decades(&span, all, 1),
            span,
            kind: Kind::Log,
            ticks,
        }
    }

    /// An axis with names at the positions 0, 1, ...
    pub(crate) fn named(names: impl IntoIterator<Item = String>) -> Self {
        let ticks: Vec<(f64, String)> = (0_u32..).map(f64::from).zip(names).collect();
        Self {
            span: -0.5..ticks.len().max(1) as f64 - 0.5,
            kind: Kind::Names,
            ticks,
            between: Vec::new(),
        }
    }

    /// An axis without a scale and ticks.
    pub(crate) fn blank() -> Self {
        Self::linear(0.0..1.0, 0)
    }

    /// Whether its positions are labelled with names instead of numbers.
    pub(crate) fn has_names(&self) -> bool {
        self.kind == Kind::Names
    }

    /// Its start and end.
    pub(crate) fn span(&self) -> &Range<f64> {
        &self.span
    }

    /// The position of a value, from 0 at the start of the axis to 1 at its end; `None` for a value
    /// without a position.
    pub(crate) fn share(&self, value: f64) -> Option<f64> {
        let Range { start, end } = self.span;
        let share = if self.kind == Kind::Log {
            (value / start).ln() / (end / start).ln()
        } else {
            (value - start) / (end - start)
        };
        share.is_finite().then_some(share)
    }

    /// The value at a relative position of the axis.
    pub(crate) fn value(&self, share: f64) -> f64 {
        let Range { start, end } = self.span;
        if self.kind == Kind::Log {
            start * (end / start).powf(share)
        } else {
            start + share * (end - start)
        }
    }

    /// The label of a tick.
    pub(crate) fn text(&self, at: f64) -> String {
        let tick = self.ticks.iter().find(|tick| tick.0.total_cmp(&at).is_eq());
        tick.map(|tick| tick.1.clone()).unwrap_or_default()
    }
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = self.share(*value).unwrap_or(0.0);
        RangedCoordf64::from(0.0..1.0).map(&share, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return self.between.clone();
        }
        self.ticks.iter().map(|tick| tick.0).collect()
    }

    fn range(&self) -> Range<f64> {
        self.span.clone()
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "there are at most `most` steps in the span, and few digits in a step"
)]
fn linear_ticks(span: &Range<f64>, most: usize) -> Vec<(f64, String)> {
    let width = span.end - span.start;
    if most == 0 || !width.is_finite() || width <= 0.0 {
        return Vec::new();
    }
    let step = nice_above(width / most as f64);
    let (first, last) = (
        (span.start / step - 1e-9).ceil(),
        (span.end / step + 1e-9).floor(),
    );
    let steps = 0..=(last - first).max(0.0) as u32;
    let ticks = steps.map(|n| (first + f64::from(n)) * step);
    let ticks = ticks.filter(|at| *at <= span.end + 1e-9 * width);
    let greatest = span.start.abs().max(span.end.abs());
    let (places, digits) = (-step.log10().floor(), (greatest / step).log10().ceil());
    let is_long = greatest >= 1e6 || places > 4.0;
    let text = |at: f64| {
        if at.abs() < step / 2.0 {
            "0".to_owned()
        } else if is_long {
            short(&format!("{at:.*e}", digits.max(0.0) as usize))
        } else {
            format!("{at:.*}", places.max(0.0) as usize)
        }
    };
    ticks.map(|at| (at, text(at))).collect()
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least the given positive value.
fn nice_above(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|digit| digit * power);
    let fits = steps.into_iter().find(|step| *step >= least * (1.0 - 1e-9));
    fits.unwrap_or(10.0 * power)
}

/// The densest ticks per decade that fit, or those of a linear axis if fewer than three fit.
fn log_ticks(span: &Range<f64>, most: usize) -> Vec<(f64, String)> {
    let sets = LOG_TICKS.iter().rev();
    let mut sets = sets.map(|(digits, stride)| by_decades(span, digits, *stride));
    let ticks = sets.find(|ticks| ticks.len() <= most).unwrap_or_default();
    if ticks.len() < 3 {
        let linear = linear_ticks(span, most).into_iter();
        return linear.filter(|(at, _)| *at > 0.0).collect();
    }
    let text = |at: f64| {
        if (1e-4..1e6).contains(&at) {
            at.to_string()
        } else {
            format!("{at:e}")
        }
    };
    ticks.into_iter().map(|at| (at, text(at))).collect()
}

/// The values within a span with one of these leading digits followed by zeros, in every
/// `stride`-th decade.
#[expect(
    clippy::cast_possible_truncation,
    reason = "powers of ten of finite numbers are small"
)]
fn by_decades(span: &Range<f64>, digits: &[u8], stride: usize) -> Vec<f64> {
    let decade = |value: f64| value.log10().floor() as i32;
    let decades = decade(span.start)..=decade(span.end);
    let decades = decades.filter(|decade| (decade.unsigned_abs() as usize).is_multiple_of(stride));
    // Read as decimals, so that 3e-1 is the number that is written 0.3.
    let values = decades.flat_map(|decade| {
        let texts = digits.iter().map(move |digit| format!("{digit}e{decade}"));
        texts.filter_map(|text| text.parse().ok())
    });
    let slack = 1.0 + 1e-9;
    values
        .filter(|at: &f64| *at >= span.start / slack && *at <= span.end * slack)
        .collect()
}

/// A number with an exponent, without redundant zeros.
fn short(text: &str) -> String {
    match text.split_once('e') {
        Some((digits, exponent)) if digits.contains('.') => {
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            format!("{digits}e{exponent}")
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(scale: &Scale) -> String {
        let texts: Vec<&str> = scale.ticks.iter().map(|tick| tick.1.as_str()).collect();
        texts.join(" ")
    }

    #[test]
    fn linear_ticks_are_round_numbers() {
        let of = |span| texts(&Scale::linear(span, 8));
        assert_eq!(of(0.0..36.0), "0 5 10 15 20 25 30 35");
        assert_eq!(of(0.6..1.0), "0.60 0.65 0.70 0.75 0.80 0.85 0.90 0.95 1.00");
        assert_eq!(of(-0.3..0.3), "-0.3 -0.2 -0.1 0 0.1 0.2 0.3");
        assert_eq!(of(0.0..3e6), "0 5e5 1e6 1.5e6 2e6 2.5e6 3e6");
        assert_eq!(
            of(0.0..4e-6),
            "0 5e-7 1e-6 1.5e-6 2e-6 2.5e-6 3e-6 3.5e-6 4e-6"
        );
        assert_eq!(texts(&Scale::blank()), "");
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten_and_what_fits_between() {
        let of = |span| texts(&Scale::log(span, 8));
        assert_eq!(of(0.001..1000.0), "0.001 0.01 0.1 1 10 100 1000");
        assert_eq!(of(0.9..120.0), "1 2 5 10 20 50 100");
        assert_eq!(of(2.0..40.0), "2 5 10 20");
        assert_eq!(of(1.0..1e12), "1 100 10000 1e6 1e8 1e10 1e12");
        assert_eq!(of(0.3..0.36), "0.30 0.31 0.32 0.33 0.34 0.35 0.36");
    }

    #[test]
    fn names_stand_at_whole_positions() {
        let scale = Scale::named(["tcp", "ppd"].map(str::to_owned));
        assert_eq!(scale.span, -0.5..1.5);
        assert_eq!(
            (scale.text(1.0), scale.text(0.5)),
            ("ppd".into(), String::new())
        );
    }

    #[test]
    fn values_without_a_logarithm_have_no_position() {
        let scale = Scale::log(1.0..100.0, 8);
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(scale.share(value), None, "{value}");
        }
        assert_eq!(scale.share(10.0), Some(0.5));
    }

    proptest! {
        #[test]
        fn a_share_stands_for_its_value(start in 1e-3_f64..1e3, factor in 1.1_f64..1e6, share in 0.0_f64..1.0) {
            for scale in [Scale::log(start..start * factor, 8), Scale::linear(start..start * factor, 8)] {
                let back = scale.share(scale.value(share)).unwrap();
                prop_assert!((back - share).abs() < 1e-6, "{back}");
            }
        }

        #[test]
        fn ticks_are_few_and_in_the_span(start in 1e-3_f64..1e3, factor in 1.001_f64..1e9) {
            for scale in [Scale::log(start..start * factor, 8), Scale::linear(start..start * factor, 8)] {
                prop_assert!((2..=9).contains(&scale.ticks.len()), "{:?}", scale);
                let shares = scale.ticks.iter().filter_map(|tick| scale.share(tick.0));
                prop_assert!(shares.clone().all(|share| (-1e-6..=1.0 + 1e-6).contains(&share)), "{scale:?}");
                prop_assert_eq!(shares.count(), scale.ticks.len());
            }
        }
    }
}
