//! The remaining time of the jobs of a reproduction.

use std::time::Duration;

use polypath_claims::Progress;

/// The time in which the shown estimate approaches a new one: jobs finish in groups, so the rate
/// varies from moment to moment.
const SMOOTHING: f64 = 30.0;

/// The share of a round before which its rate is not known, unless an earlier round had one.
const FIRST_SHARE: f64 = 0.01;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

/// Estimates the remaining time of a round from the rate of all rounds of this call.
#[derive(Debug, Default)]
pub(super) struct TimeLeft {
    round: u32,
    /// The work done before the current round, in the cost of jobs.
    before: f64,
    /// The share of the current round at its start and now, and its cost.
    first: f64,
    share: f64,
    cost: f64,
    /// The time without the pauses between rounds.
    worked: f64,
    /// The time of the last update, and the time at which the round will end.
    updated: f64,
    end: Option<f64>,
}

impl TimeLeft {
    /// The remaining time of the round at `elapsed`; `None` before a rate is known.
    pub(super) fn update(&mut self, elapsed: Duration, progress: Progress) -> Option<Duration> {
        let now = elapsed.as_secs_f64();
        let step = now - self.updated;
        if progress.round == self.round {
            self.worked += step;
        } else {
            self.before += self.done_in_round();
            self.first = progress.share;
            self.end = None;
        }
        self.round = progress.round;
        self.share = progress.share;
        self.cost = progress.cost;
        self.updated = now;
        let rate = self.rate()?;
        let end = now + (1.0 - self.share).max(0.0) * self.cost / rate;
        let weight = 1.0 - (-step / SMOOTHING).exp();
        let end = self.end.map_or(end, |shown| shown + weight * (end - shown));
        self.end = Some(end);
        Some(Duration::from_secs_f64((end - now).max(0.0)))
    }

    fn done_in_round(&self) -> f64 {
        (self.share - self.first).max(0.0) * self.cost
    }

    /// The cost of the jobs done per second.
    fn rate(&self) -> Option<f64> {
        let is_known = self.before > 0.0 || self.share - self.first >= FIRST_SHARE;
        let rate = (self.before + self.done_in_round()) / self.worked;
        (is_known && rate.is_finite() && rate > 0.0).then_some(rate)
    }
}

/// The remaining time in words, such as `about 12 min left`.
pub(super) fn words(left: Duration) -> String {
    let seconds = left.as_secs();
    if seconds < MINUTE {
        return "less than 1 min left".to_owned();
    }
    if seconds < HOUR {
        return format!("about {} min left", seconds.div_ceil(MINUTE));
    }
    let minutes = seconds.div_ceil(10 * MINUTE) * 10;
    format!("about {} h {} min left", minutes / 60, minutes % 60)
}

/// A duration in words, such as `12 min 5 s`.
pub(super) fn duration(span: Duration) -> String {
    let seconds = span.as_secs();
    if seconds < MINUTE {
        return format!("{seconds} s");
    }
    if seconds < HOUR {
        return format!("{} min {} s", seconds / MINUTE, seconds % MINUTE);
    }
    format!("{} h {} min", seconds / HOUR, seconds % HOUR / MINUTE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(round: u32, share: f64, cost: f64) -> Progress {
        Progress {
            round,
            finished: 0,
            jobs: 10,
            share,
            cost,
        }
    }

    fn at(left: &mut TimeLeft, seconds: f64, progress: Progress) -> Option<f64> {
        let left = left.update(Duration::from_secs_f64(seconds), progress);
        left.map(|left| left.as_secs_f64())
    }

    #[test]
    fn a_steady_rate_counts_down() {
        let mut left = TimeLeft::default();
        assert_eq!(at(&mut left, 0.0, progress(1, 0.0, 400.0)), None);
        assert_eq!(at(&mut left, 0.5, progress(1, 0.005, 400.0)), None);
        for second in 1..=100 {
            let now = f64::from(second);
            let shown = at(&mut left, now, progress(1, now / 100.0, 400.0)).unwrap();
            assert!((shown - (100.0 - now)).abs() < 1e-6, "{shown} at {now}");
        }
    }

    #[test]
    fn a_group_of_jobs_that_ends_at_once_moves_the_estimate_slowly() {
        let mut left = TimeLeft::default();
        let mut shown = Vec::new();
        for tenth in 0..=3000_u32 {
            // Every 30 s a tenth of the work is done at once.
            let now = f64::from(tenth) / 10.0;
            let share = (now / 30.0).floor() / 10.0;
            shown.extend(at(&mut left, now, progress(1, share, 400.0)));
        }
        let steps = shown.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        assert!(steps.fold(0.0, f64::max) < 2.0);
        assert!(shown.len() > 2500 && *shown.last().unwrap() < 30.0);
    }

    #[test]
    fn a_new_round_starts_with_the_rate_of_the_earlier_ones() {
        let mut left = TimeLeft::default();
        at(&mut left, 0.0, progress(1, 0.0, 400.0));
        assert_eq!(at(&mut left, 100.0, progress(1, 1.0, 400.0)), Some(0.0));
        // Figures are drawn between the rounds, which is not counted as work.
        let shown = at(&mut left, 150.0, progress(2, 0.0, 200.0));
        assert_eq!(shown, Some(50.0));
    }

    #[test]
    fn what_an_earlier_call_finished_is_no_progress_of_this_one() {
        let mut left = TimeLeft::default();
        assert_eq!(at(&mut left, 10.0, progress(1, 0.5, 400.0)), None);
        assert_eq!(at(&mut left, 20.0, progress(1, 0.505, 400.0)), None);
        assert_eq!(at(&mut left, 30.0, progress(1, 0.75, 400.0)), Some(20.0));
    }

    #[test]
    fn the_time_left_is_rounded_and_has_units() {
        let words = |seconds| words(Duration::from_secs(seconds));
        assert_eq!(words(0), "less than 1 min left");
        assert_eq!(words(59), "less than 1 min left");
        assert_eq!(words(60), "about 1 min left");
        assert_eq!(words(11 * 60 + 1), "about 12 min left");
        assert_eq!(words(3599), "about 60 min left");
        assert_eq!(words(3600), "about 1 h 0 min left");
        assert_eq!(words(4000), "about 1 h 10 min left");
        let duration = |seconds| duration(Duration::from_secs(seconds));
        assert_eq!(duration(9), "9 s");
        assert_eq!(duration(725), "12 min 5 s");
        assert_eq!(duration(7320), "2 h 2 min");
    }
}
