//! The file that a lab transfers.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use polypath_core::rng::Seed;
use polypath_core::units::Bytes;
use polypath_report::{Content, Source};
use sha2::{Digest, Sha256};

use crate::LabError;

/// The file's name on the HTTP server.
pub(crate) const SERVED_NAME: &str = "clip";

/// The content and digest of the transferred file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TransferFile {
    /// The file's source and size.
    pub(crate) content: Content,
    /// The file's SHA-256.
    pub(crate) digest: [u8; 32],
}

impl TransferFile {
    /// Writes the first `size` bytes of the media file `path` into `documents`, or `size` random
    /// bytes if `path` is `None`. A shorter media file is used whole, with a warning.
    ///
    /// Fails with [`LabError::TransferFile`] if the media file cannot be read or is empty, and with
    /// [`LabError::Files`] if the copy cannot be written.
    pub(crate) fn prepare(
        path: Option<&Path>,
        size: Bytes,
        seed: Seed,
        documents: &Path,
    ) -> Result<Self, LabError> {
        let (bytes, source) = match path {
            Some(path) => {
                read_prefix(path, size).map_err(|e| LabError::TransferFile(with_path(&e, path)))?
            }
            None => (random_bytes(size, seed), Source::Random),
        };
        fs::create_dir_all(documents)
            .and_then(|()| fs::write(documents.join(SERVED_NAME), &bytes))
            .map_err(LabError::Files)?;
        let content = Content {
            source,
            size: Bytes(bytes.len() as u64),
        };
        if content.size < size {
            tracing::warn!(%content, "the media file is shorter than transfer.size");
        }
        Ok(Self {
            content,
            digest: Sha256::digest(&bytes).into(),
        })
    }
}

/// Reads at most the first `wanted` bytes of a file.
fn read_prefix(path: &Path, wanted: Bytes) -> io::Result<(Vec<u8>, Source)> {
    let file = File::open(path)?;
    let size = Bytes(file.metadata()?.len());
    let mut bytes = Vec::new();
    file.take(wanted.0).read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        return Err(io::Error::other("the file to transfer is empty"));
    }
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = name.to_string_lossy().into_owned();
    let source = Source::Clip { name, size, wanted };
    Ok((bytes, source))
}

fn with_path(error: &io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn random_bytes(size: Bytes, seed: Seed) -> Vec<u8> {
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
    fn a_long_file_is_truncated_and_a_short_one_used_whole() {
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
    fn random_bytes_depend_on_the_seed_alone() {
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
    fn an_error_names_the_missing_or_empty_file() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("none.ts");
        let prepare =
            || TransferFile::prepare(Some(&missing), Bytes(10), Seed(1), directory.path());
        let refused = |part: &str| match prepare() {
            Err(LabError::TransferFile(error)) => {
                assert!(error.to_string().contains(part), "{error}");
            }
            other => panic!("{other:?}"),
        };
        refused("none.ts");
        fs::write(&missing, []).unwrap();
        refused("empty");
    }
}
