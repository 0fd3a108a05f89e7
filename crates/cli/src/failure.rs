//! Why a command failed, as an exit code and a message.

use std::fmt::Display;
use std::io::{self, Write};

/// The exit code of a run that was told to stop: it failed.
pub(crate) const INTERRUPTED: i32 = 1;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The run failed, was interrupted, or its result is invalid: exit code 1.
    Run(anyhow::Error),
    /// The command line, a file or a folder that it names is wrong: exit code 2.
    Input(anyhow::Error),
    /// This machine lacks something that the command needs: exit code 3.
    Machine(anyhow::Error),
}

impl Failure {
    /// What is wrong with a file or an argument, already in words for the user.
    pub(crate) fn input(message: impl Display) -> Self {
        Self::Input(anyhow::anyhow!("{message}"))
    }

    /// Why a run ended before its end.
    pub(crate) fn run(message: impl Display) -> Self {
        Self::Run(anyhow::anyhow!("{message}"))
    }

    /// The later of two that may both have come to pass, or the other one; where both have, the
    /// earlier is told now.
    pub(crate) fn combine(earlier: Result<(), Self>, later: Result<(), Self>) -> Result<(), Self> {
        if later.is_err() {
            _ = earlier.inspect_err(Self::report);
            return later;
        }
        earlier
    }

    /// Prints the message.
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
        in_words(error)
    }
}

/// Says something on standard error, each line of it as the program's; where nobody listens there
/// is nobody to tell.
pub(crate) fn print_message(words: &str) {
    let words = plain(words);
    let lines: Vec<&str> = words.lines().collect();
    let lines = format!("polypath: {}\n", lines.join("\npolypath: "));
    let _ = io::stderr().write_all(lines.as_bytes());
}

/// Without what would steer a terminal: messages quote files and arguments.
pub(crate) fn plain(words: &str) -> String {
    let steers = |c: char| c.is_control() && c != '\n';
    words
        .chars()
        .map(|c| {
            if steers(c) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}

/// An error and its causes, each once: some messages name their cause themselves.
fn in_words(error: &anyhow::Error) -> String {
    let mut words = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !words.contains(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    words
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Run(error)
    }
}
