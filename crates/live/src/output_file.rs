//! Files that a run writes, which only their readers may open.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use polypath_document::create_draft;

/// Those who may read a file, whatever the umask of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Its owner alone.
    Owner,
    /// Its owner and group: the traffic of a node is nobody else's business.
    Group,
}

impl Readers {
    /// The mode of a new file.
    const fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::Group => 0o640,
        }
    }

    /// The mode of a file that replaces one with the mode `existing`: a wider one is narrowed.
    const fn narrow(self, existing: u32) -> u32 {
        match self {
            Self::Owner => existing & 0o700,
            Self::Group => existing & 0o770,
        }
    }

    /// Creates a file beside `path`, to replace it; it has the mode of an existing one, narrowed.
    ///
    /// # Errors
    /// Those of [`create_draft`], or its mode cannot be set.
    pub(crate) fn create_draft(self, path: &Path) -> io::Result<(PathBuf, File)> {
        let existing = path.metadata().ok();
        let kept = existing.map(|existing| self.narrow(existing.permissions().mode()));
        let (draft, file) = create_draft(path, kept.unwrap_or(self.mode()))?;
        // The umask applies to new files alone.
        if let Some(error) = kept.and_then(|mode| set_mode(&file, mode).err()) {
            let _ = fs::remove_file(&draft);
            return Err(error);
        }
        Ok((draft, file))
    }
}

/// The kind of an output file, symbolic links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file, or one that does not exist yet.
    File,
    /// A device, such as `/dev/null` or a terminal.
    Device,
    /// A FIFO.
    Fifo,
}

/// The kind of the file `path`.
///
/// # Errors
/// It is a directory or a socket, or cannot be read.
pub(crate) fn kind_of(path: &Path) -> io::Result<Kind> {
    let kind = match fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kind::File),
        Err(error) => return Err(error),
    };
    if kind.is_file() {
        Ok(Kind::File)
    } else if kind.is_char_device() {
        Ok(Kind::Device)
    } else if kind.is_fifo() {
        Ok(Kind::Fifo)
    } else if kind.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        Err(refusal(
            "it is neither a regular file nor a character device",
        ))
    }
}

/// Creates the regular file `path`, or empties it and closes it to others.
///
/// # Errors
/// It cannot be written, or others may read it and its mode cannot be changed.
pub(crate) fn create(path: &Path, readers: Readers) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false);
    let file = options.mode(readers.mode()).open(path)?;
    // An existing file may be readable for others; that ends before anything is written.
    let mode = file.metadata()?.permissions().mode() & 0o7777;
    let narrow = readers.narrow(mode);
    if narrow != mode {
        set_mode(&file, narrow)?;
    }
    file.set_len(0)?;
    Ok(file)
}

/// The error of a file that cannot be used for `reason`.
pub(crate) fn refusal(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_keeps_its_mode_unless_others_may_read_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        for (readers, existing, narrowed) in [
            (Readers::Group, 0o666, 0o660),
            (Readers::Group, 0o640, 0o640),
            (Readers::Group, 0o600, 0o600),
            (Readers::Owner, 0o664, 0o600),
            (Readers::Owner, 0o600, 0o600),
        ] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(existing)).unwrap();
            let (draft, file) = readers.create_draft(&path).unwrap();
            let created = file.metadata().unwrap().permissions().mode() & 0o7777;
            assert_eq!(created, narrowed, "{existing:o}");
            fs::remove_file(draft).unwrap();
            let file = create(&path, readers).unwrap();
            assert_eq!((mode(), file.metadata().unwrap().len()), (narrowed, 0));
        }
        for readers in [Readers::Group, Readers::Owner] {
            fs::remove_file(&path).unwrap();
            create(&path, readers).unwrap();
            assert_eq!(mode() & !readers.mode(), 0, "the umask may narrow it");
        }
    }
}
