//! `polypath schema`: JSON schemas of the configuration files.

use anyhow::Context;
use clap::ValueEnum;

use crate::failure::Failure;
use crate::output::print;

/// Arguments of `polypath schema`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The kind of file.
    #[arg(value_enum)]
    file: File,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum File {
    /// Transfers over paths, for `polypath sim` and `polypath lab`.
    Scenario,
    /// A media stream over paths, for `polypath sim` and `polypath lab`.
    Media,
    /// Flows over a network, for `polypath sim`; with senders that choose among paths also for
    /// `polypath stability` and `polypath source`.
    Network,
    /// A node, for `polypath node`.
    Node,
    /// A relay, for `polypath relay`.
    Relay,
}

/// Prints the schema.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let schema = match args.file {
        File::Scenario => polypath_scenario::Scenario::schema(),
        File::Media => polypath_scenario::MediaScenario::schema(),
        File::Network => polypath_scenario::Network::schema(),
        File::Node => polypath_live::config::NodeConfig::schema(),
        File::Relay => polypath_live::config::relay::RelayFile::schema(),
    };
    let mut text = serde_json::to_string_pretty(&schema).context("writing the schema")?;
    text.push('\n');
    print(&text)
}
