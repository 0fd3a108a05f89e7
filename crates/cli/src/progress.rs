//! Progress on standard error: a bar on a terminal, and elsewhere a line now and then.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use polypath_batch::PARTS;
use polypath_claims::Progress;
use polypath_core::time::Time;

/// Redraws a second.
const REDRAW_HZ: u8 = 5;
/// Work that takes no longer than this shows nothing.
const SHORT: Duration = Duration::from_secs(2);
/// The time between two lines where standard error is no terminal.
const INTERVAL: Duration = Duration::from_secs(10);

/// What stands on a terminal where steps are counted.
const STEPS: &str = "{msg} {wide_bar} {pos}/{len}, {elapsed} elapsed{left}";

/// How far some work has come.
pub(crate) struct Indicator {
    bar: ProgressBar,
    steps: u64,
    /// Work that is known to be long is shown at once.
    is_long: bool,
    /// Where to write lines, if standard error is no terminal.
    lines: Option<Box<dyn Write + Send>>,
    /// Since the start.
    next_line: Duration,
    /// The round of jobs.
    round: Option<Round>,
}

/// A round of jobs, for what is left of it.
#[derive(Clone, Copy)]
struct Round {
    number: u32,
    began: Duration,
    /// The share that was done when it began: finished jobs of an earlier call.
    done: f64,
}

impl Indicator {
    /// Of `steps` steps that are known to take long.
    pub(crate) fn long(steps: u64) -> Self {
        Self::new(steps, true, STEPS)
    }

    /// Of `runs` simulations, whose parts are counted ([`PARTS`]); they may be over soon, too.
    pub(crate) fn of_runs(runs: u64) -> Self {
        let template = "{msg} {wide_bar} {percent} %, {elapsed} elapsed{left}";
        Self::new(runs * PARTS, false, template)
    }

    /// Of `steps` steps that may be over soon: it shows nothing before the work has become long.
    pub(crate) fn of_steps(steps: u64) -> Self {
        Self::new(steps, false, STEPS)
    }

    /// Of jobs of unequal length, round by round; they may be over soon, too.
    pub(crate) fn of_jobs() -> Self {
        let template = "{msg} {wide_bar} {percent} %, {elapsed} elapsed{prefix}";
        Self::new(PARTS, false, template)
    }

    fn new(steps: u64, is_long: bool, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("left", write_left));
        }
        let lines =
            (!io::stderr().is_terminal()).then(|| Box::new(io::stderr()) as Box<dyn Write + Send>);
        let next_line = if is_long { Duration::ZERO } else { INTERVAL };
        Self {
            bar,
            steps,
            is_long,
            lines,
            next_line,
            round: None,
        }
    }

    /// Moves on to `steps` of `what`.
    pub(crate) fn advance(&mut self, what: &'static str, steps: u64) {
        self.bar.set_message(what);
        self.bar.set_position(steps);
        self.draw();
        if self.bar.elapsed() >= self.next_line {
            self.next_line = self.bar.elapsed() + INTERVAL;
            self.write(&format!("{what}: {steps} of {}", self.steps));
        }
    }

    /// Moves on to `parts` of all parts of the runs.
    pub(crate) fn advance_runs(&mut self, parts: u64) {
        let what = match self.steps / PARTS {
            1 => "simulating a run".to_owned(),
            runs => format!("simulating {runs} runs"),
        };
        self.bar.set_position(parts);
        self.bar.set_message(what.clone());
        self.draw();
        if self.bar.elapsed() >= self.next_line {
            self.next_line = self.bar.elapsed() + INTERVAL;
            let percent = 100 * parts / self.steps.max(1);
            self.write(&format!("{what}: {percent} %"));
        }
    }

    /// Moves on within a round of jobs; a new round begins anew.
    pub(crate) fn advance_jobs(&mut self, progress: Progress) {
        let Progress {
            round,
            finished,
            jobs,
            share,
        } = progress;
        let elapsed = self.bar.elapsed();
        let began = match self.round.filter(|began| began.number == round) {
            Some(began) => began,
            None => Round {
                number: round,
                began: elapsed,
                done: share,
            },
        };
        self.round = Some(began);
        let left = began.left(elapsed, share);
        let left = left.map_or(String::new(), |left| {
            format!(", about {} left", HumanDuration(left))
        });
        let what = format!("round {round}: {finished} of {jobs} jobs");
        self.bar.set_message(what.clone());
        self.bar.set_prefix(left.clone());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a thousand"
        )]
        self.bar.set_position((share * PARTS as f64) as u64);
        self.draw();
        if elapsed >= self.next_line {
            self.next_line = elapsed + INTERVAL;
            let percent = (100.0 * share).floor();
            self.write(&format!("{what}, {percent} %{left}"));
        }
    }

    /// Moves on to `steps` transfers, where the simulation is at `at`, which moves between two
    /// transfers, too.
    pub(crate) fn advance_at(&mut self, steps: u64, at: Time) {
        let seconds = at.0 / 1_000_000_000;
        self.bar
            .set_message(format!("transfers, at {seconds} s simulated,"));
        self.bar.set_position(steps);
        self.draw();
        if self.bar.elapsed() >= self.next_line {
            self.next_line = self.bar.elapsed() + INTERVAL;
            let of = self.steps;
            self.write(&format!(
                "transfers: {steps} of {of}, at {seconds} s simulated"
            ));
        }
    }

    /// Says what is done now, where it cannot be counted.
    pub(crate) fn set_stage(&mut self, what: &'static str) {
        self.bar.set_message(what);
        self.draw();
        self.write(what);
    }

    /// Takes it away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn draw(&self) {
        let is_due = self.is_long || self.bar.elapsed() > SHORT;
        if self.lines.is_none() && self.bar.is_hidden() && is_due {
            let terminal = ProgressDrawTarget::stderr_with_hz(REDRAW_HZ);
            self.bar.set_draw_target(terminal);
        }
    }

    fn write(&mut self, line: &str) {
        if let Some(lines) = &mut self.lines {
            // Whoever does not read it does not want it.
            let _ = writeln!(lines, "polypath: {line}");
        }
    }
}

impl Round {
    /// How long it may still take at `share`, at the pace of the whole round: jobs end in groups,
    /// so that a pace of the last seconds says nothing. Nothing before a hundredth is done.
    fn left(self, elapsed: Duration, share: f64) -> Option<Duration> {
        let done = share - self.done;
        let factor = (1.0 - share).max(0.0) / done;
        let spent = elapsed.saturating_sub(self.began);
        (done >= 0.01).then(|| spent.mul_f64(factor))
    }
}

/// How long it may still take, once there is anything to tell it by.
fn write_left(state: &ProgressState, text: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        // A line that cannot be written is not drawn either.
        let _ = write!(text, ", about {} left", HumanDuration(state.eta()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_goes_by_the_pace_of_the_round() {
        let round = Round {
            number: 1,
            began: Duration::from_secs(10),
            done: 0.5,
        };
        let left = |elapsed, share| round.left(Duration::from_secs(elapsed), share);
        assert_eq!(left(10, 0.5), None);
        assert_eq!(left(20, 0.505), None);
        assert_eq!(left(30, 0.75), Some(Duration::from_secs(20)));
        // A pause makes it longer by as much as it lasted, and no more.
        assert_eq!(left(50, 0.75), Some(Duration::from_secs(40)));
        assert_eq!(left(50, 1.0), Some(Duration::ZERO));
    }
}
