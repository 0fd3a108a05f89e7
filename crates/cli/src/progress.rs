//! Progress on standard error, for people only: where standard error is no terminal, nothing is drawn.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Redraws a second.
const REDRAW_HZ: u8 = 5;
/// Work that takes no longer than this shows nothing.
const SHORT: Duration = Duration::from_secs(2);

/// A progress bar over `steps` steps of `what`, not yet drawn.
pub(crate) fn bar(steps: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
    let template = "{msg} {bar:40} {pos}/{len}, {elapsed} elapsed, about {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_message(what)
}

/// Moves on to `steps`, and draws from the time on at which the work has become long.
pub(crate) fn advance(bar: &ProgressBar, steps: u64) {
    bar.set_position(steps);
    if bar.is_hidden() && bar.elapsed() > SHORT {
        draw(bar);
    }
}

/// Draws the bar from now on: the work is known to be long.
pub(crate) fn draw(bar: &ProgressBar) {
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(REDRAW_HZ));
}
