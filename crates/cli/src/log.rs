//! The log on standard error, and how a program says there that it failed.

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

/// The variable of the environment that has the level.
const VARIABLE: &str = "POLYPATH_LOG";
/// The level unless it says otherwise.
const DEFAULT: &str = "info";
/// The parts of the program that write to the log.
const PARTS: [&str; 3] = ["polypath", "polypath_lab", "polypath_live"];
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// How a command that runs for long writes its log.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// How the log on standard error is written: lines for reading, or a JSON object each.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    log_format: Format,
}

/// How the log is written.
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

/// Begins the log, at the level that the environment says.
pub(crate) fn init(format: Format) -> Result<(), Failure> {
    let log = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        // It would tell on standard error that standard error cannot be written, and panic.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal())
        .with_env_filter(level().map_err(Failure::input)?);
    match format {
        Format::Text => log.init(),
        Format::Json => log.json().flatten_event(true).init(),
    }
    Ok(())
}

/// Says why the program ends, as the log is written but whatever its level.
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
            // Where nobody listens there is nobody to tell.
            let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
        }
    }
}

/// The time as the log has it.
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
        Err(VarError::NotUnicode(text)) => Err(wrong(&text.display(), "it is no text")),
    }
}

/// What `text` lets through; an empty one what is usual.
fn filter(text: &str) -> Result<EnvFilter, String> {
    let text = match text.trim() {
        "" => DEFAULT,
        text => text,
    };
    text.split(',').try_for_each(check)?;
    let is_level = |directive: &str| LevelFilter::from_str(directive.trim()).is_ok();
    // Where only parts are given, the filter lets nothing of the rest through.
    let text = if text.split(',').any(is_level) {
        text.to_owned()
    } else {
        format!("{DEFAULT},{text}")
    };
    EnvFilter::try_new(&text).map_err(|error| wrong(&text, &error.to_string()))
}

/// The filter takes any word for a part of the program.
fn check(directive: &str) -> Result<(), String> {
    let directive = directive.trim();
    let (part, level) = match directive.split_once('=') {
        Some((part, level)) => (part, Some(level)),
        None if LevelFilter::from_str(directive).is_ok() => return Ok(()),
        None => (directive, None),
    };
    let is_none = |level: &&str| level.is_empty() || LevelFilter::from_str(level).is_err();
    if let Some(level) = level.filter(is_none) {
        return Err(wrong(&level, &meant(level, &LEVELS)));
    }
    if PARTS.contains(&part.split("::").next().unwrap_or_default()) {
        return Ok(());
    }
    let known = [&LEVELS[..], &PARTS].concat();
    Err(wrong(&part, &meant(part, &known)))
}

fn meant(word: &str, known: &[&str]) -> String {
    nearest(word, known.iter().copied()).map_or_else(
        || "it is neither a level nor a part of the program".to_owned(),
        |meant| format!("did you mean `{meant}`?"),
    )
}

fn wrong(what: &dyn std::fmt::Display, why: &str) -> String {
    let levels = LEVELS.join(", ");
    format!(
        "{VARIABLE}: `{what}`: {why}; give a level ({levels}), or one for a part of the program, as \
         polypath_live::node=debug, several with commas"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_parts_of_the_program_are_taken_and_nothing_is_the_usual_level() {
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
            let taken = filter(text).expect(text).to_string();
            assert_eq!(taken, wanted, "{text}");
        }
    }

    #[test]
    fn what_would_silence_the_log_unseen_is_refused_with_the_remedy() {
        for (text, wanted) in [
            ("nonsense", "neither a level nor a part"),
            ("debgu", "did you mean `debug`?"),
            ("polypath_liv=debug", "did you mean `polypath_live`?"),
            ("polypath_live=loud", "`loud`"),
            ("polypath_live=", "``"),
            ("info,tokio=debug", "`tokio`"),
        ] {
            let said = filter(text).expect_err(text);
            assert!(said.contains(wanted), "{text}: {said}");
            assert!(
                said.contains("POLYPATH_LOG") && said.contains("error, warn"),
                "{said}"
            );
        }
    }
}
