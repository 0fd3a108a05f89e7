//! The failure of a command: exit code and message.

use std::fmt::Display;
use std::io::{self, Write};

/// The exit code of an interrupted run.
pub(crate) const INTERRUPTED: i32 = 1;

/// The failure of a command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The run failed, was interrupted, or its result is invalid: exit code 1.
    Run(anyhow::Error),
    /// The command line, or a file or folder that it names, is wrong: exit code 2.
    Input(anyhow::Error),
    /// This machine lacks a prerequisite of the command: exit code 3.
    Machine(anyhow::Error),
}

impl Failure {
    /// An error in a file or an argument.
    pub(crate) fn input(message: impl Display) -> Self {
        Self::Input(anyhow::anyhow!("{message}"))
    }

    /// An error of a run.
    pub(crate) fn run(message: impl Display) -> Self {
        Self::Run(anyhow::anyhow!("{message}"))
    }

    /// Combines two results; if both failed, prints the earlier failure and returns the later one.
    pub(crate) fn combine(earlier: Result<(), Self>, later: Result<(), Self>) -> Result<(), Self> {
        if later.is_err() {
            _ = earlier.inspect_err(Self::report);
            return later;
        }
        earlier
    }

    /// Prints the message to standard error.
    pub(crate) fn report(&self) {
        print_message(&self.message());
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Run(_) => 1,
            Self::Input(_) => 2,
            Self::Machine(_) => 3,
        }
    }

    /// The message.
    pub(crate) fn message(&self) -> String {
        let (Self::Run(error) | Self::Input(error) | Self::Machine(error)) = self;
        error_chain(error)
    }
}

/// Prints a message to standard error, each line prefixed with the program's name; ignores write
/// errors.
pub(crate) fn print_message(message: &str) {
    let message = without_controls(message);
    let lines: Vec<&str> = message.lines().collect();
    let lines = format!("polypath: {}\n", lines.join("\npolypath: "));
    let _ = io::stderr().write_all(lines.as_bytes());
}

/// Replaces control characters, which could control the terminal: messages quote files and
/// arguments.
pub(crate) fn without_controls(text: &str) -> String {
    let is_control = |c: char| c.is_control() && c != '\n';
    text.chars()
        .map(|c| {
            if is_control(c) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}

/// An error and its causes, without causes that the message already contains.
fn error_chain(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Run(error)
    }
}
