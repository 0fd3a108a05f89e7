//! Progress on standard error: a bar on a terminal, and elsewhere a line now and then.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use polypath_batch::PARTS;
use polypath_core::time::Time;
use polypath_papers::Progress;

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
    round: u32,
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
    pub(crate) fn perhaps_short(steps: u64) -> Self {
        Self::new(steps, false, STEPS)
    }

    /// Of jobs of unequal length, round by round; they may be over soon, too.
    pub(crate) fn of_jobs() -> Self {
        let template = "{msg} {wide_bar} {percent} %, {elapsed} elapsed{left}";
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
            round: 0,
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
        if self.round != round {
            self.round = round;
            self.bar.reset_eta();
        }
        let percent = 100.0 * share;
        self.bar
            .set_message(format!("round {round}: {finished} of {jobs} jobs"));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a thousand"
        )]
        self.bar.set_position((share * PARTS as f64) as u64);
        self.draw();
        if self.bar.elapsed() >= self.next_line {
            self.next_line = self.bar.elapsed() + INTERVAL;
            let left = if share > 0.0 {
                format!(", about {} left", HumanDuration(self.bar.eta()))
            } else {
                String::new()
            };
            self.write(&format!(
                "round {round}: {finished} of {jobs} jobs, {percent:.0} %{left}"
            ));
        }
    }

    /// Moves on to `steps` transfers, where the simulation is at `at`, which moves between two transfers, too.
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
    pub(crate) fn say(&mut self, what: &'static str) {
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

/// How long it may still take, once there is anything to tell it by.
fn write_left(state: &ProgressState, text: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        // A line that cannot be written is not drawn either.
        let _ = write!(text, ", about {} left", HumanDuration(state.eta()));
    }
}
