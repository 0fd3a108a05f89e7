//! `polypath stream key`: the public key of an end of a stream.

use std::path::PathBuf;

use super::identity;
use crate::failure::Failure;
use crate::output::print;

/// Arguments of `polypath stream key`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The private key of this machine, made by `polypath key`: that of its node, if it has one.
    file: PathBuf,
}

/// Prints the public key, another than that of the node.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let identity = identity(&args.file)?;
    print(&format!("{}\n", identity.public()))
}
