//! The maximum values that any document may have, and the reports of values beyond a limit.

use std::fmt::Display;

use polypath_core::class::Classes;
use polypath_core::spacing::SpacingConfig;
use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};

use crate::problem::Problems;

/// The longest duration of any key.
pub const MAX_DURATION: Duration = Duration::from_secs(24 * 3600);
/// The maximum rate of any key.
pub const MAX_RATE: Rate = Rate(1_000_000_000_000);
/// The maximum size of any key.
pub const MAX_SIZE: Bytes = Bytes(10_000_000_000);

/// Reports a duration at `key` that is longer than [`MAX_DURATION`].
pub fn at_most_a_day(key: &str, duration: Duration, problems: &mut Problems) {
    at_most(key, duration, MAX_DURATION, problems);
}

/// Reports the invalid ones among `classes`, the tables `[[class]]`.
pub fn check_classes(classes: &Classes, problems: &mut Problems) {
    for error in classes.problems() {
        problems.report(&error.key(), error.to_string(), error.remedy());
    }
}

/// Reports what is invalid in the spacing of packets, in the table `spacing` of that at `key`; an empty
/// key is the top level.
pub fn check_spacing(key: &str, spacing: Option<SpacingConfig>, problems: &mut Problems) {
    if let Some(Err(error)) = spacing.map(|spacing| spacing.check()) {
        let dot = if key.is_empty() { "" } else { "." };
        let key = format!("{key}{dot}spacing.{}", error.key());
        problems.report(&key, error.to_string(), error.remedy());
    }
}

/// Reports a value at `key` that is greater than `max`.
pub fn at_most<T: Copy + PartialOrd + Display>(
    key: &str,
    value: T,
    max: T,
    problems: &mut Problems,
) {
    if value > max {
        report_limit(
            key,
            &format!("{value}, but must be at most {max}"),
            problems,
        );
    }
}

/// Reports a value at `key` that is less than `min`.
pub fn at_least<T: Copy + PartialOrd + Display>(
    key: &str,
    value: T,
    min: T,
    problems: &mut Problems,
) {
    if value < min {
        report_limit(
            key,
            &format!("{value}, but must be at least {min}"),
            problems,
        );
    }
}

/// The last part of a dotted key.
#[must_use]
pub fn last_part(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, last)| last)
}

fn report_limit(key: &str, violation: &str, problems: &mut Problems) {
    let message = format!("`{}` is {violation}", last_part(key));
    problems.report(key, message, "");
}
