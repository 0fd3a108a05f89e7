//! The pre-buffer: how long playout must wait so that it never stalls (PPD paper, Fig. 5).
//!
//! `p(t)` is the number of bytes that arrived without a gap until just before `t`; `S` is the size
//! of the file and `T` the time at which it is complete. Playout at rate `r` after a pre-buffering
//! of `d` needs `r (t - d)` bytes at `t`.
//!
//! * The pre-buffer at a rate is `d(r) = max over t <= T of (t - p(t) / r)`, at least 0: the least
//!   `d` with `p(t) >= r (t - d)` throughout.
//! * *The* pre-buffer of a transfer is that of the line through the end of the file, `r = S / (T -
//!   d)`: the least `d` for which that line lies below the curve. A last burst of packets arrives
//!   at the rate of the link and would make every such line almost vertical; so the curve may fall
//!   short of the line by [`TOLERANCE`] of the file: `p(t) + TOLERANCE S >= r (t - d)`.
//!
//! For a transfer that timed out, `p(t)` is known until the timeout, which replaces `T`: `d(r)` is
//! then a lower bound, and *the* pre-buffer is that of a file whose rest arrives at that time.

use polypath_core::time::Duration;
use polypath_core::units::Bytes;

use crate::record::{Progress, Transfer};

/// The part of the file by which the curve may fall short of the line through the end of the file.
pub const TOLERANCE: f64 = 0.05;

/// The playable size of one transfer as a function of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Time in seconds and bytes playable from then on; both grow.
    steps: Vec<(f64, f64)>,
    size: f64,
    /// The time at which the file was complete, or the timeout.
    end: f64,
    complete: bool,
}

/// A playout line under a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The time before playout starts, in seconds.
    pub prebuffer: f64,
    /// The rate of the playout, in bytes a second.
    pub rate: f64,
}

impl Curve {
    /// The curve of a transfer, until the timeout if it did not complete; `None` for an empty one.
    #[must_use]
    pub fn of(transfer: &Transfer, timeout: Duration) -> Option<Curve> {
        let (size, duration) = (transfer.size, transfer.duration);
        Self::new(&transfer.progress, size, duration.ok_or(timeout))
    }

    /// `end` is the time at which the file was complete, or the timeout.
    fn new(progress: &[Progress], size: Bytes, end: Result<Duration, Duration>) -> Option<Curve> {
        let complete = end.is_ok();
        let (Ok(end) | Err(end)) = end;
        let (size, end) = (size.0 as f64, end.as_secs_f64());
        if size <= 0.0 || end <= 0.0 {
            return None;
        }
        let mut steps: Vec<(f64, f64)> = Vec::with_capacity(progress.len() + 1);
        for point in progress {
            let (at, bytes) = (point.at.as_secs_f64(), (point.bytes.0 as f64).min(size));
            let grown = steps
                .last()
                .is_none_or(|(before, had)| bytes > *had && at >= *before);
            if grown && at < end && bytes < size {
                steps.push((at, bytes));
            }
        }
        if complete {
            steps.push((end, size));
        }
        Some(Curve {
            steps,
            size,
            end,
            complete,
        })
    }

    /// The curve of a complete file from its size and its steps, in seconds and bytes, as
    /// [`steps`](Self::steps) returns them; `None` if the last is not the end of the file.
    #[must_use]
    pub fn of_steps(steps: &[(f64, f64)], size: Bytes) -> Option<Self> {
        let &(end, last) = steps.last()?;
        let size = size.0 as f64;
        let is_curve = steps.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1);
        (is_curve && last >= size && end > 0.0).then(|| Self {
            steps: steps.to_vec(),
            size,
            end,
            complete: true,
        })
    }

    /// The time at which the file was complete, or the timeout, in seconds since the start.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.end
    }

    /// Bytes that are playable at a time in seconds.
    #[must_use]
    pub fn playable(&self, at: f64) -> f64 {
        let passed = self.steps.partition_point(|(time, _)| *time <= at);
        passed
            .checked_sub(1)
            .map_or(0.0, |index| self.steps[index].1)
    }

    /// The steps: time in seconds, and bytes playable from then on.
    #[must_use]
    pub fn steps(&self) -> &[(f64, f64)] {
        &self.steps
    }

    /// The least time before playout at `rate` (bytes a second) can start and never stop, in
    /// seconds.
    #[must_use]
    pub fn prebuffer_at(&self, rate: f64) -> f64 {
        let waits = self.shortages().map(|(at, bytes)| at - bytes / rate);
        waits.fold(0.0, f64::max)
    }

    /// The earliest line through the end of the file below the curve, within [`TOLERANCE`].
    ///
    /// Where the last step alone is greater than the tolerance, the line is vertical: its rate is
    /// infinite and nothing can be played before the end.
    #[must_use]
    pub fn line(&self) -> Line {
        self.line_within(TOLERANCE)
    }

    /// The same with another tolerance, as a share of the file.
    #[must_use]
    pub fn line_within(&self, tolerance: f64) -> Line {
        let slack = tolerance * self.size;
        let missing = self
            .shortages()
            .map(|(at, bytes)| (at, self.size - bytes - slack));
        let slopes = missing
            .filter(|(_, missing)| *missing > 0.0)
            .map(|(at, missing)| missing / (self.end - at));
        let rate = slopes.fold(self.size / self.end, f64::max);
        Line {
            prebuffer: (self.end - self.size / rate).max(0.0),
            rate,
        }
    }

    /// The points at which the curve is least for its time: just before each step, and before the
    /// timeout.
    fn shortages(&self) -> impl Iterator<Item = (f64, f64)> {
        let before = std::iter::once(0.0).chain(self.steps.iter().map(|(_, bytes)| *bytes));
        let given_up = (!self.complete).then_some(self.end);
        let times = self.steps.iter().map(|(at, _)| *at).chain(given_up);
        times.zip(before)
    }
}

/// The mean playable size of several transfers at a time in seconds, until the timeout if one of
/// them was given up; none without a transfer.
#[must_use]
pub fn mean_playable(curves: &[Curve], at: f64) -> Option<f64> {
    let sum: f64 = curves.iter().map(|curve| curve.playable(at)).sum();
    (!curves.is_empty()).then(|| sum / curves.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curve(points: &[(u64, u64)]) -> Curve {
        let progress: Vec<Progress> = points
            .iter()
            .map(|(ms, bytes)| Progress {
                at: Duration::from_millis(*ms),
                bytes: Bytes(*bytes),
            })
            .collect();
        let (ms, size) = points.last().unwrap();
        Curve::new(&progress, Bytes(*size), Ok(Duration::from_millis(*ms))).unwrap()
    }

    #[test]
    fn even_arrivals_need_the_first_packet_only() {
        let points: Vec<(u64, u64)> = (1..=100).map(|n| (n * 10, n * 1000)).collect();
        let even = curve(&points);
        assert!((even.prebuffer_at(100_000.0) - 0.010).abs() < 1e-9);
        assert!(even.line().prebuffer < 0.011);
        assert!((even.playable(0.5) - 50_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_stall_must_be_buffered() {
        // 10 kB in the first second, a stall of four, then 90 kB in five seconds.
        let mut points = vec![(1000, 10_000)];
        points.extend((1..=90).map(|n| (5000 + n * 5000 / 90, 10_000 + n * 1000)));
        let stalled = curve(&points);
        assert_eq!(
            Curve::of_steps(stalled.steps(), Bytes(100_000)).as_ref(),
            Some(&stalled)
        );
        assert_eq!(Curve::of_steps(stalled.steps(), Bytes(100_001)), None);
        assert!(stalled.line_within(0.1).prebuffer < stalled.line_within(0.05).prebuffer);
        let line = stalled.line();
        // From the end, (10 s, 100 kB), past (5.06 s, 10 kB + 5 kB).
        let rate = (100_000.0 - 15_000.0) / (10.0 - 5.055);
        assert!((line.rate - rate).abs() < 1e-6, "{line:?}");
        assert!((line.prebuffer - (10.0 - 100_000.0 / rate)).abs() < 1e-6);
        assert!((stalled.prebuffer_at(rate) - (5.055 - 10_000.0 / rate)).abs() < 0.7);
    }

    #[test]
    fn a_burst_at_the_end_is_tolerated() {
        let mut points: Vec<(u64, u64)> = (1..=96).map(|n| (n * 100, n * 1000)).collect();
        points.extend([(9999, 97_000), (10_000, 100_000)]);
        assert!(curve(&points).line().prebuffer < 0.6);
    }

    #[test]
    fn nothing_has_no_curve() {
        assert_eq!(Curve::new(&[], Bytes(0), Ok(Duration::from_secs(1))), None);
        assert_eq!(Curve::new(&[], Bytes(1), Ok(Duration::ZERO)), None);
        assert_eq!(mean_playable(&[], 1.0), None);
    }

    #[test]
    fn a_timed_out_transfer_gives_a_lower_bound() {
        let half = [Progress {
            at: Duration::from_secs(1),
            bytes: Bytes(50_000),
        }];
        let given_up = Err(Duration::from_secs(10));
        let curve = Curve::new(&half, Bytes(100_000), given_up).unwrap();
        assert!((curve.playable(10.0) - 50_000.0).abs() < 1e-9);
        // Half of the file plays for 5 s at this rate, and the rest had not come after 10 s.
        assert!((curve.prebuffer_at(10_000.0) - 5.0).abs() < 1e-9);
        assert!((curve.line().prebuffer - 10.0).abs() < 1e-9);
    }

    prop_compose! {
        fn any_curve()(gaps in prop::collection::vec((1_u64..3000, 1_u64..5000), 1..60)) -> Curve {
            let mut points = Vec::new();
            let (mut at, mut bytes) = (0, 0);
            for (gap, more) in gaps {
                at += gap;
                bytes += more;
                points.push((at, bytes));
            }
            curve(&points)
        }
    }

    proptest! {
        #[test]
        fn the_line_lies_below_the_curve_and_meets_its_end(curve in any_curve()) {
            let line = curve.line();
            prop_assert!((0.0..=curve.end).contains(&line.prebuffer));
            if line.rate.is_infinite() {
                prop_assert!((line.prebuffer - curve.end).abs() < 1e-9);
                return Ok(());
            }
            let reached = line.rate * (curve.end - line.prebuffer);
            prop_assert!((reached - curve.size).abs() < 1e-6 * curve.size);
            for (at, bytes) in curve.shortages() {
                let needed = line.rate * (at - line.prebuffer);
                let had = (bytes + TOLERANCE * curve.size).min(curve.size);
                prop_assert!(needed <= had + 1e-6 * curve.size, "{at}: {needed} > {had}");
            }
        }

        #[test]
        fn the_prebuffer_suffices_is_least_and_grows_with_the_rate(
            curve in any_curve(),
            rate in 10.0..1e6,
        ) {
            let wait = curve.prebuffer_at(rate);
            let short = |wait: f64| {
                curve.shortages().any(|(at, bytes)| bytes < rate * (at - wait) - 1e-6 * curve.size)
            };
            prop_assert!(!short(wait));
            prop_assert!(wait < 1e-3 || short(wait - 1e-3 - 2e-6 * curve.size / rate));
            prop_assert!(curve.prebuffer_at(rate * 1.5) >= wait);
            prop_assert!(wait <= curve.end);
        }
    }
}
