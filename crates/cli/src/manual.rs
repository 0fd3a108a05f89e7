//! `polypath completions` and `polypath man`: shell completions and manual pages.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::Cli;
use crate::failure::Failure;
use crate::output::print;

/// Arguments of `polypath completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Arguments of `polypath man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// The directory for the pages, one per command; it is created if it does not exist.
    directory: PathBuf,
}

/// Prints the completion script of a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "polypath", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Writes the manual pages.
pub(crate) fn man(args: &ManArgs) -> Result<(), Failure> {
    let directory = &args.directory;
    let write = || {
        fs::create_dir_all(directory)?;
        clap_mangen::generate_to(Cli::command(), directory)
    };
    write()
        .with_context(|| format!("{}: cannot write the manual pages", directory.display()))
        .map_err(Failure::Input)
}
