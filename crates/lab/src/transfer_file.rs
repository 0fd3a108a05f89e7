//! The file that is transferred.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use polypath_core::rng::Seed;
use polypath_core::units::Bytes;
use polypath_report::{Content, Source};
use sha2::{Digest, Sha256};

use crate::LabError;

/// The name under which the HTTP server has the file.
pub(crate) const SERVED_NAME: &str = "clip";

/// The file that is transferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TransferFile {
    /// What it is, and its size.
    pub(crate) content: Content,
    /// Its SHA-256.
    pub(crate) digest: [u8; 32],
}

impl TransferFile {
    /// Puts the first `size` bytes of the media file `path` into `documents`, or all of a shorter one, which
    /// is logged; without a path as many random bytes.
    ///
    /// Fails with [`LabError::TransferFile`] where the media file is at fault, with [`LabError::Files`] else.
    pub(crate) fn prepare(
        path: Option<&Path>,
        size: Bytes,
        seed: Seed,
        documents: &Path,
    ) -> Result<Self, LabError> {
        let (bytes, source) = match path {
            Some(path) => {
                beginning(path, size).map_err(|e| LabError::TransferFile(named(&e, path)))?
            }
            None => (random(size, seed), Source::Random),
        };
        fs::create_dir_all(documents)
            .and_then(|()| fs::write(documents.join(SERVED_NAME), &bytes))
            .map_err(LabError::Files)?;
        let content = Content {
            source,
            size: Bytes(bytes.len() as u64),
        };
        if content.size < size {
            tracing::warn!(%content, "a transfer is shorter than the scenario says");
        }
        Ok(Self {
            content,
            digest: Sha256::digest(&bytes).into(),
        })
    }
}

/// The first `wanted` bytes of a file, as far as it has them.
fn beginning(path: &Path, wanted: Bytes) -> io::Result<(Vec<u8>, Source)> {
    let file = File::open(path)?;
    let size = Bytes(file.metadata()?.len());
    let mut bytes = Vec::new();
    file.take(wanted.0).read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        return Err(io::Error::other("the file to be transferred is empty"));
    }
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = name.to_string_lossy().into_owned();
    let source = Source::Clip { name, size, wanted };
    Ok((bytes, source))
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
        let prepare =
            |size| TransferFile::prepare(Some(&source), Bytes(size), Seed(1), directory.path());
        let cut = prepare(300).unwrap();
        assert_eq!(cut.content.to_string(), "the first 300 B of film.ts (1 kB)");
        assert_eq!(cut.digest, <[u8; 32]>::from(Sha256::digest([7; 300])));
        let whole = prepare(2000).unwrap();
        assert_eq!(whole.content.size, Bytes(1000));
        assert_eq!(whole.digest, <[u8; 32]>::from(Sha256::digest([7; 1000])));
        let served = fs::read(directory.path().join(SERVED_NAME)).unwrap();
        assert_eq!(served, [7; 1000]);
    }

    #[test]
    fn without_a_file_the_bytes_follow_from_the_seed() {
        let directory = tempfile::tempdir().unwrap();
        let prepare =
            |seed| TransferFile::prepare(None, Bytes(1003), Seed(seed), directory.path()).unwrap();
        assert_eq!(prepare(1), prepare(1));
        assert_ne!(prepare(1).digest, prepare(2).digest);
        assert_eq!(
            fs::read(directory.path().join(SERVED_NAME)).unwrap().len(),
            1003
        );
    }

    #[test]
    fn a_missing_or_empty_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("none.ts");
        let prepare =
            || TransferFile::prepare(Some(&missing), Bytes(10), Seed(1), directory.path());
        let refused = |part: &str| match prepare() {
            Err(LabError::TransferFile(error)) => {
                assert!(error.to_string().contains(part), "{error}")
            }
            other => panic!("{other:?}"),
        };
        refused("none.ts");
        fs::write(&missing, []).unwrap();
        refused("empty");
    }
}
