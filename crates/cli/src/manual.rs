//! `polypath completions` and `polypath man`: what a shell and `man` know of the command line.

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
    /// The directory of the pages, one for each command; it is made if need be.
    directory: PathBuf,
}

/// Prints the completions of a shell.
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
