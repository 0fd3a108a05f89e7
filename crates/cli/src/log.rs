//! The log on standard error, and the failure of a command in the log's format.

use std::env::{self, VarError};
use std::io::{self, IsTerminal, Write};
use std::str::FromStr;

use clap::ValueEnum;
use polypath_document::nearest;
use serde_json::json;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

use crate::failure::{Failure, print_message};

/// The environment variable of the level.
const VARIABLE: &str = "POLYPATH_LOG";
/// The default level.
const DEFAULT: &str = "info";
/// The crates that write to the log.
const CRATES: [&str; 4] = [
    "polypath",
    "polypath_lab",
    "polypath_live",
    "polypath_stream",
];
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The log options of a long-running command.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// The format of the log on standard error: lines of text, or one JSON object per line.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    log_format: Format,
}

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
}

impl Args {
    pub(crate) fn format(self) -> Format {
        self.log_format
    }
}

/// Initializes the log at the level of the environment.
pub(crate) fn init(format: Format) -> Result<(), Failure> {
    let log = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        // Otherwise a failed write to standard error is itself reported there, and panics.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal())
        .with_env_filter(level().map_err(Failure::input)?);
    match format {
        Format::Text => log.init(),
        Format::Json => log.json().flatten_event(true).init(),
    }
    Ok(())
}

/// Prints why the program ends, in the format of the log, at any level.
pub(crate) fn log_failure(format: Format, failure: &Failure) {
    match format {
        Format::Text => print_message(&failure.message()),
        Format::Json => {
            let line = json!({
                "timestamp": now(),
                "level": "ERROR",
                "message": failure.message(),
                "exit_code": failure.code(),
                "target": "polypath",
            });
            // A failed write to standard error cannot be reported.
            let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
        }
    }
}

/// The present time in the format of the log.
fn now() -> String {
    let mut text = String::new();
    match SystemTime.format_time(&mut Writer::new(&mut text)) {
        Ok(()) => text,
        Err(_) => String::new(),
    }
}

fn level() -> Result<EnvFilter, String> {
    match env::var(VARIABLE) {
        Ok(text) => filter(&text),
        Err(VarError::NotPresent) => filter(""),
        Err(VarError::NotUnicode(text)) => Err(invalid(&text.display(), "not valid UTF-8")),
    }
}

/// The filter of `text`; the default level if it is empty.
fn filter(text: &str) -> Result<EnvFilter, String> {
    let text = match text.trim() {
        "" => DEFAULT,
        text => text,
    };
    text.split(',').try_for_each(check)?;
    let is_level = |directive: &str| LevelFilter::from_str(directive.trim()).is_ok();
    // With directives for crates alone, the filter would suppress the other crates.
    let text = if text.split(',').any(is_level) {
        text.to_owned()
    } else {
        format!("{DEFAULT},{text}")
    };
    EnvFilter::try_new(&text).map_err(|error| invalid(&text, &error.to_string()))
}

/// Checks a directive: the filter itself accepts any word as a module.
fn check(directive: &str) -> Result<(), String> {
    let directive = directive.trim();
    let (module, level) = match directive.split_once('=') {
        Some((module, level)) => (module, Some(level)),
        None if LevelFilter::from_str(directive).is_ok() => return Ok(()),
        None => (directive, None),
    };
    let is_invalid = |level: &&str| level.is_empty() || LevelFilter::from_str(level).is_err();
    if let Some(level) = level.filter(is_invalid) {
        return Err(invalid(&level, &suggestion(level, &LEVELS)));
    }
    if CRATES.contains(&module.split("::").next().unwrap_or_default()) {
        return Ok(());
    }
    let known = [&LEVELS[..], &CRATES].concat();
    Err(invalid(&module, &suggestion(module, &known)))
}

fn suggestion(word: &str, known: &[&str]) -> String {
    nearest(word, known.iter().copied()).map_or_else(
        || "neither a level nor a module of the program".to_owned(),
        |nearest| format!("did you mean `{nearest}`?"),
    )
}

fn invalid(value: &dyn std::fmt::Display, reason: &str) -> String {
    let levels = LEVELS.join(", ");
    format!(
        "{VARIABLE}: `{value}`: {reason}; expected a level ({levels}) or comma-separated levels of modules, such as \
         polypath_live::node=debug"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_modules_are_accepted_and_the_default_is_info() {
        for (text, wanted) in [
            ("", "info"),
            ("  ", "info"),
            ("DEBUG", "debug"),
            (
                "warn,polypath_live::node=debug",
                "polypath_live::node=debug,warn",
            ),
            ("polypath_live", "polypath_live=trace,info"),
            ("polypath_live::nod=debug", "polypath_live::nod=debug,info"),
            ("off,polypath_live=warn", "polypath_live=warn,off"),
        ] {
            let accepted = filter(text).expect(text).to_string();
            assert_eq!(accepted, wanted, "{text}");
        }
    }

    #[test]
    fn a_filter_that_would_silence_the_log_is_refused_with_a_remedy() {
        for (text, wanted) in [
            ("nonsense", "neither a level nor a module"),
            ("debgu", "did you mean `debug`?"),
            ("polypath_liv=debug", "did you mean `polypath_live`?"),
            ("polypath_live=loud", "`loud`"),
            ("polypath_live=", "``"),
            ("info,tokio=debug", "`tokio`"),
        ] {
            let error = filter(text).expect_err(text);
            assert!(error.contains(wanted), "{text}: {error}");
            assert!(
                error.contains("POLYPATH_LOG") && error.contains("error, warn"),
                "{error}"
            );
        }
    }
}
