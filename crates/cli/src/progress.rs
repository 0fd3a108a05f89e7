//! Progress on standard error: a bar on a terminal, otherwise a line every ten seconds.

mod time_left;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use polypath_batch::PARTS;
use polypath_claims::Progress;
use polypath_core::time::Time;
use time_left::TimeLeft;

/// The redraw rate.
const REDRAW_HZ: u8 = 5;
/// Work shorter than this shows no progress.
const MIN_SHOWN: Duration = Duration::from_secs(2);
/// The interval between lines if standard error is not a terminal.
const INTERVAL: Duration = Duration::from_secs(10);

/// The template of a bar that counts steps.
const STEPS: &str = "{msg} {wide_bar} {pos}/{len}, {elapsed} elapsed{left}";

/// A progress indicator.
pub(crate) struct Indicator {
    bar: ProgressBar,
    steps: u64,
    /// Whether to show progress immediately rather than after [`MIN_SHOWN`].
    is_long: bool,
    /// The writer of lines, if standard error is not a terminal.
    lines: Option<Box<dyn Write + Send>>,
    /// The time of the next line since the start.
    next_line: Duration,
    /// The estimate for rounds of jobs.
    time_left: TimeLeft,
}

impl Indicator {
    /// An indicator of `steps` long steps, shown immediately.
    pub(crate) fn long(steps: u64) -> Self {
        Self::new(steps, true, STEPS)
    }

    /// An indicator of `runs` simulations, each counted in parts ([`PARTS`]).
    pub(crate) fn of_runs(runs: u64) -> Self {
        let template = "{msg} {wide_bar} {percent} %, {elapsed} elapsed{left}";
        Self::new(runs * PARTS, false, template)
    }

    /// An indicator of `steps` steps, hidden for the first [`MIN_SHOWN`].
    pub(crate) fn of_steps(steps: u64) -> Self {
        Self::new(steps, false, STEPS)
    }

    /// An indicator of rounds of jobs of unequal length.
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
            time_left: TimeLeft::default(),
        }
    }

    /// Advances to `steps` of `what`.
    pub(crate) fn advance(&mut self, what: &'static str, steps: u64) {
        self.bar.set_message(what);
        self.bar.set_position(steps);
        self.draw();
        if self.bar.elapsed() >= self.next_line {
            self.next_line = self.bar.elapsed() + INTERVAL;
            self.write(&format!("{what}: {steps} of {}", self.steps));
        }
    }

    /// Advances to `parts` of the parts of all runs.
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

    /// Advances within a round of jobs.
    pub(crate) fn advance_jobs(&mut self, progress: Progress) {
        let Progress {
            round,
            finished,
            jobs,
            share,
            ..
        } = progress;
        let elapsed = self.bar.elapsed();
        let left = self.time_left.update(elapsed, progress);
        let shown = left.map_or(String::new(), |left| {
            format!(", {}", time_left::words(left))
        });
        let what = format!("round {round}: {finished} of {jobs} jobs");
        self.bar.set_message(what.clone());
        self.bar.set_prefix(shown);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share between 0 and 1 of PARTS"
        )]
        self.bar.set_position((share * PARTS as f64) as u64);
        self.draw();
        if elapsed >= self.next_line {
            self.next_line = elapsed + INTERVAL;
            let percent = (100.0 * share).floor();
            let left = left.map_or(String::new(), |left| {
                format!(", about {} left", HumanDuration(left))
            });
            self.write(&format!("{what}, {percent} %{left}"));
        }
    }

    /// Advances to `steps` transfers at the simulated time `at`.
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

    /// Shows a stage that has no countable steps.
    pub(crate) fn set_stage(&mut self, what: &'static str) {
        self.bar.set_message(what);
        self.draw();
        self.write(what);
    }

    /// Removes the bar of jobs; without a terminal, the last line has the duration of a long call.
    pub(crate) fn finish_jobs(&mut self) {
        self.finish();
        let elapsed = self.bar.elapsed();
        if elapsed >= INTERVAL {
            self.write(&format!("all jobs took {}", time_left::duration(elapsed)));
        }
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.bar.elapsed()
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn draw(&self) {
        let is_due = self.is_long || self.bar.elapsed() > MIN_SHOWN;
        if self.lines.is_none() && self.bar.is_hidden() && is_due {
            let terminal = ProgressDrawTarget::stderr_with_hz(REDRAW_HZ);
            self.bar.set_draw_target(terminal);
        }
    }

    fn write(&mut self, line: &str) {
        if let Some(lines) = &mut self.lines {
            // Progress that cannot be written is not worth a failure.
            let _ = writeln!(lines, "polypath: {line}");
        }
    }
}

/// Writes the estimated remaining time once there is any progress.
fn write_left(state: &ProgressState, text: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        // A write to the draw buffer does not fail.
        let _ = write!(text, ", about {} left", HumanDuration(state.eta()));
    }
}
