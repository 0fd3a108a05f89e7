//! `polypath key`: static key pairs.

use std::path::PathBuf;

use polypath_live::keys;

use crate::failure::Failure;

/// Arguments of `polypath key`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file of the private key; it is made readable for its owner only, and never overwritten.
    file: PathBuf,
    /// Print the public key of a private key that exists, and make none.
    #[arg(long)]
    public: bool,
}

/// Makes or reads a private key and prints its public key.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let public = if args.public {
        keys::load(&args.file).map(|key| key.public())
    } else {
        keys::generate(&args.file)
    };
    println!("{}", public.map_err(Failure::input)?);
    Ok(())
}
