//! The file that is transferred.

use std::fs;
use std::io;
use std::path::Path;

use polypath_core::rng::Seed;
use polypath_core::units::Bytes;
use sha2::{Digest, Sha256};

/// The name under which the HTTP server has the file.
pub(crate) const NAME: &str = "clip";

/// The file that is transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clip {
    /// Its size.
    pub(crate) size: Bytes,
    /// Its SHA-256.
    pub(crate) digest: [u8; 32],
}

impl Clip {
    /// Puts the first `size` bytes of the media file `source` into `documents`, or all of a shorter one;
    /// without a source as many random bytes.
    pub(crate) fn prepare(
        source: Option<&Path>,
        size: Bytes,
        seed: Seed,
        documents: &Path,
    ) -> io::Result<Self> {
        let content = match source {
            Some(path) => {
                let mut content = fs::read(path).map_err(|e| named(&e, path))?;
                content.truncate(usize::try_from(size.0).unwrap_or(usize::MAX));
                content
            }
            None => random(size, seed),
        };
        if content.is_empty() {
            let empty = io::Error::other("the file to be transferred is empty");
            return Err(source.map_or(io::ErrorKind::InvalidInput.into(), |p| named(&empty, p)));
        }
        fs::create_dir_all(documents)?;
        fs::write(documents.join(NAME), &content)?;
        Ok(Self {
            size: Bytes(content.len() as u64),
            digest: Sha256::digest(&content).into(),
        })
    }
}

fn named(error: &io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn random(size: Bytes, seed: Seed) -> Vec<u8> {
    let mut stream = seed.stream("lab/clip");
    let words = std::iter::repeat_with(|| stream.bits().to_le_bytes()).flatten();
    words
        .take(usize::try_from(size.0).unwrap_or(usize::MAX))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_cut_and_a_short_one_whole() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("film.ts");
        fs::write(&source, [7; 1000]).unwrap();
        let prepare = |size| Clip::prepare(Some(&source), Bytes(size), Seed(1), directory.path());
        let cut = prepare(300).unwrap();
        assert_eq!(cut.size, Bytes(300));
        assert_eq!(cut.digest, <[u8; 32]>::from(Sha256::digest([7; 300])));
        assert_eq!(prepare(2000).unwrap().size, Bytes(1000));
    }

    #[test]
    fn without_a_file_the_bytes_follow_from_the_seed() {
        let directory = tempfile::tempdir().unwrap();
        let prepare =
            |seed| Clip::prepare(None, Bytes(1003), Seed(seed), directory.path()).unwrap();
        assert_eq!(prepare(1), prepare(1));
        assert_ne!(prepare(1).digest, prepare(2).digest);
        assert_eq!(fs::read(directory.path().join(NAME)).unwrap().len(), 1003);
    }

    #[test]
    fn a_missing_or_empty_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("none.ts");
        let prepare = || Clip::prepare(Some(&missing), Bytes(10), Seed(1), directory.path());
        assert!(prepare().unwrap_err().to_string().contains("none.ts"));
        fs::write(&missing, []).unwrap();
        assert!(prepare().unwrap_err().to_string().contains("empty"));
    }
}
