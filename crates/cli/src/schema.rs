//! `polypath schema`: the JSON schemas of the files that polypath reads.

use anyhow::Context;
use clap::ValueEnum;

use crate::failure::Failure;
use crate::output::print;

/// Arguments of `polypath schema`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which file.
    #[arg(value_enum)]
    file: File,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum File {
    /// Transfers over paths: what `polypath sim` and `polypath lab` read.
    Scenario,
    /// A network of flows: what `polypath sim` reads, too.
    Network,
    /// What `polypath node` reads.
    Node,
    /// What `polypath relay` reads.
    Relay,
}

/// Prints the schema.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let schema = match args.file {
        File::Scenario => polypath_scenario::Scenario::schema(),
        File::Network => polypath_scenario::Network::schema(),
        File::Node => polypath_live::config::NodeConfig::schema(),
        File::Relay => polypath_live::config::relay::RelayFile::schema(),
    };
    let mut text = serde_json::to_string_pretty(&schema).context("writing the schema")?;
    text.push('\n');
    print(&text)
}
