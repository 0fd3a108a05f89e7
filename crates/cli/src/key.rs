//! `polypath key`: private keys and their public keys, and pre-shared keys.

use std::path::PathBuf;

use polypath_live::keys;

use crate::failure::Failure;
use crate::output::print;

/// Arguments of `polypath key`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file for the key; only its owner can read it, and it is never overwritten.
    file: PathBuf,
    /// Print the public key of an existing private key, and create none.
    #[arg(long)]
    public: bool,
    /// Create a pre-shared key, which both nodes of a tunnel have in common; copy the file to the
    /// other machine over a secure channel.
    #[arg(long, conflicts_with = "public")]
    preshared: bool,
}

/// Creates or reads a private key and prints its public key, or creates a pre-shared key.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.preshared {
        return keys::generate_preshared(&args.file).map_err(Failure::input);
    }
    let public = if args.public {
        keys::load(&args.file).map(|key| key.public())
    } else {
        keys::generate(&args.file)
    };
    print(&format!("{}\n", public.map_err(Failure::input)?))
}
