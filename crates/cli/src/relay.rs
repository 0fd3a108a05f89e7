//! `polypath relay`: a relay for paths between nodes without a direct path.

use std::path::PathBuf;

use polypath_live::config::relay::RelayFile;
use polypath_live::relay::{self, RelayError};

use crate::failure::Failure;
use crate::{log, output};

/// Arguments of `polypath relay`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The relay's configuration file; `polypath schema relay` prints its schema.
    config: PathBuf,
    /// Write statistics to this file every second and at exit, as JSON. The file is replaced each
    /// time, unless it is a device.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) log: log::Args,
}

/// Runs the relay until a signal stops it.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let file = RelayFile::load(&args.config).map_err(Failure::input)?;
    output::check_distinct(
        &[("--stats", &args.stats)],
        &[&args.config, &file.relay.key_file],
    )?;
    match relay::run(&file, args.stats.as_deref()) {
        Ok(_) => Ok(()),
        Err(error @ RelayError::Drive(_)) => Err(Failure::Run(error.into())),
        Err(error @ (RelayError::Udp(_) | RelayError::Privilege(_))) => {
            Err(Failure::Machine(error.into()))
        }
        Err(error) => Err(Failure::Input(error.into())),
    }
}
