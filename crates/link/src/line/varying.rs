//! A line whose rate varies at random, as that of a cellular link.
//!
//! The rate is constant for a step of time. Its logarithm is a first-order autoregressive process,
//! that is, an Ornstein-Uhlenbeck process sampled at the steps: the rate is log-normal, and the
//! correlation of its logarithm falls by a factor of e over the correlation time. It follows from time
//! and the seed alone: which packets are sent does not change it.

use alloc::borrow::Cow;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use polypath_core::rng::Stream;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;

use super::TransmissionTimes;
use crate::config_error::{ConfigError, lasting};

/// The time for which the rate is constant.
const STEP: Duration = Duration::from_millis(100);
/// The largest deviation: the rates then span five orders of magnitude.
const MAX_DEVIATION: f64 = 3.0;
/// The least rate: without a bound a packet could take for ever.
const MIN_RATE: Rate = Rate(1000);
/// Bit-nanoseconds per second in a byte.
const BYTE: u128 = 8 * 1_000_000_000;

/// The variation of a rate about its mean: log-normal, correlated in time. Each direction of a duplex
/// link varies by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct RateVariation {
    /// The standard deviation of the natural logarithm of the rate.
    pub deviation: f64,
    /// The time over which the correlation of the logarithm falls to 1/e.
    pub correlation: Duration,
}

impl RateVariation {
    /// The problems of the configuration.
    #[must_use]
    pub fn problems(&self) -> Vec<ConfigError> {
        let is_valid = (0.0..=MAX_DEVIATION).contains(&self.deviation);
        let deviation = (!is_valid).then(|| ConfigError::Inconsistent {
            keys: alloc::vec![Cow::Borrowed("variation.deviation")],
            message: "`deviation` is not within 0 and 3".into(),
            remedy: "the natural logarithm of the rate has it: with 1 two thirds of the time are within a \
                     factor of e",
        });
        let correlation = lasting("variation.correlation", self.correlation);
        deviation.into_iter().chain(correlation).collect()
    }
}

/// The rate of each step, computed as far as it is needed; the first step begins at time zero.
#[derive(Clone, Debug)]
struct RateSteps {
    mean: Rate,
    deviation: f64,
    /// The correlation of the logarithms of two successive steps.
    correlation: f64,
    stream: Stream,
    /// The logarithm of the last rate, as a standard normal variable.
    last: f64,
    /// The number of the first of `rates`.
    first: u64,
    /// The rates that may still be asked for.
    rates: VecDeque<Rate>,
}

impl RateSteps {
    fn new(mean: Rate, variation: RateVariation, mut stream: Stream) -> Self {
        let steps = variation.correlation.as_secs_f64() / STEP.as_secs_f64();
        Self {
            mean,
            deviation: variation.deviation,
            correlation: libm::exp(-1.0 / steps),
            last: stream.normal(),
            stream,
            first: 0,
            rates: VecDeque::new(),
        }
    }

    /// The rate in the step with this number, which [`Self::forget`] has kept.
    fn rate(&mut self, step: u64) -> Rate {
        let index = usize::try_from(step - self.first).unwrap_or(usize::MAX);
        while self.rates.len() <= index {
            let next = self.next();
            self.rates.push_back(next);
        }
        self.rates[index]
    }

    /// Forgets the rates of all steps before that of `time`.
    fn forget(&mut self, time: Time) {
        let step = step_of(time);
        while self.first < step {
            if self.rates.pop_front().is_none() {
                self.next();
            }
            self.first += 1;
        }
    }

    fn next(&mut self) -> Rate {
        let sigma = self.deviation;
        // The mean of the log-normal distribution is the mean of the rate.
        let factor = libm::exp(sigma * self.last - sigma * sigma / 2.0);
        let innovation = libm::sqrt(1.0 - self.correlation * self.correlation);
        self.last = self.correlation * self.last + innovation * self.stream.normal();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the factor is not negative, and the conversion saturates"
        )]
        let rate = Rate((self.mean.as_f64() * factor) as u64);
        rate.max(MIN_RATE)
    }
}

fn step_of(time: Time) -> u64 {
    time.0 / STEP.0
}

fn end_of(step: u64) -> Time {
    Time((step + 1) * STEP.0)
}

/// A line with a rate that varies.
#[derive(Clone, Debug)]
pub(crate) struct Varying {
    steps: RateSteps,
    pub(super) free_at: Time,
}

impl Varying {
    pub(super) fn new(mean: Rate, variation: RateVariation, stream: Stream) -> Self {
        Self {
            steps: RateSteps::new(mean, variation, stream),
            free_at: Time::ZERO,
        }
    }

    pub(super) fn send(&mut self, ready: Time, size: u32) -> TransmissionTimes {
        // No later query concerns a time before the input of this packet.
        self.steps.forget(ready);
        let begin = ready.max(self.free_at);
        let mut left = u128::from(size) * BYTE;
        let mut at = begin;
        loop {
            let step = step_of(at);
            let rate = u128::from(self.steps.rate(step).0);
            let carried = rate * u128::from(end_of(step).since(at).as_nanos());
            if left <= carried {
                let span = left.div_ceil(rate);
                self.free_at = at + Duration(u64::try_from(span).unwrap_or(u64::MAX));
                break;
            }
            left -= carried;
            at = end_of(step);
        }
        TransmissionTimes {
            begin,
            finish: self.free_at,
        }
    }

    /// The bytes that leave after `now`, rounded up, so that no byte counts as transmitted early.
    pub(super) fn bytes_after(&self, now: Time) -> u64 {
        let mut steps = self.steps.clone();
        let mut bits_ns = 0_u128;
        // What was sent before the last input has left.
        let mut at = now.max(Time(steps.first * STEP.0));
        while at < self.free_at {
            let step = step_of(at);
            let until = end_of(step).min(self.free_at);
            bits_ns += u128::from(steps.rate(step).0) * u128::from(until.since(at).as_nanos());
            at = until;
        }
        u64::try_from(bits_ns.div_ceil(BYTE)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_core::rng::Seed;

    const MEAN: Rate = Rate::from_mbits(6);
    const VARIATION: RateVariation = RateVariation {
        deviation: 0.9,
        correlation: Duration::from_secs(2),
    };

    fn steps(variation: RateVariation, seed: u64) -> RateSteps {
        RateSteps::new(MEAN, variation, Seed(seed).stream("rate"))
    }

    fn line(seed: u64) -> Varying {
        Varying::new(MEAN, VARIATION, Seed(seed).stream("rate"))
    }

    /// Mean, standard deviation of the logarithm, and its correlation over 2 s, over 40 000 s: some
    /// 10 000 independent values, whose means deviate by 1 %.
    #[test]
    fn rates_have_the_mean_the_deviation_and_the_correlation_of_the_configuration() {
        let mut steps = steps(VARIATION, 5);
        let rates: Vec<f64> = (0..400_000).map(|n| steps.rate(n).as_f64()).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let ratio = mean(&rates) / MEAN.as_f64();
        assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
        let logs: Vec<f64> = rates.iter().map(|rate| libm::log(*rate)).collect();
        let middle = mean(&logs);
        let product = |lag: usize| {
            let pairs = logs.iter().zip(&logs[lag..]);
            let products: Vec<f64> = pairs.map(|(a, b)| (a - middle) * (b - middle)).collect();
            mean(&products)
        };
        let deviation = libm::sqrt(product(0));
        assert!((deviation - 0.9).abs() < 0.03, "{deviation}");
        let correlation = product(20) / product(0);
        assert!(
            (correlation - libm::exp(-1.0)).abs() < 0.04,
            "{correlation}"
        );
    }

    #[test]
    fn a_rate_without_deviation_is_constant() {
        let variation = RateVariation {
            deviation: 0.0,
            ..VARIATION
        };
        let mut steps = steps(variation, 1);
        assert!((0..100).all(|n| steps.rate(n) == MEAN));
    }

    #[test]
    fn the_rate_does_not_depend_on_what_is_sent() {
        let (mut busy, mut idle) = (line(3), line(3));
        for ms in 0..20_000 {
            busy.send(Time(ms * 1_000_000), 300);
        }
        let late = Time(30_000_000_000);
        assert!(busy.free_at < late);
        assert_eq!(busy.send(late, 1500), idle.send(late, 1500));
    }

    /// A packet of n bytes takes as long as n packets of one byte, but for the rounding of each.
    #[test]
    fn a_packet_takes_the_time_in_which_the_rate_carries_its_bytes() {
        let (mut whole, mut parts) = (line(7), line(7));
        let size = 400_000;
        let finish = whole.send(Time::ZERO, size).finish;
        assert!(finish > Time::ZERO + STEP + STEP, "{finish:?}");
        for _ in 0..size / 100 {
            parts.send(Time::ZERO, 100);
        }
        let rounded = parts.free_at.since(finish).as_nanos();
        assert!(rounded <= u64::from(size / 100), "{rounded}");
        let now = Time(finish.0 / 2);
        let mut until = line(7);
        let left = whole.bytes_after(now);
        let sent = u64::from(size) - left;
        let at = until.send(Time::ZERO, u32::try_from(sent).unwrap()).finish;
        assert!(
            at <= now && now.since(at) < Duration::from_millis(10),
            "{at:?} {now:?}"
        );
        assert_eq!(whole.bytes_after(finish), 0);
        // Rounded up, as the last nanosecond is.
        let all = whole.bytes_after(Time::ZERO) - u64::from(size);
        assert!(all <= 1, "{all}");
    }
}
