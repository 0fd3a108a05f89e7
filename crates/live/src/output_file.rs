//! Files that a run writes, which only their readers may open.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

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

    /// The mode of the file that replaces `path`, if that exists.
    pub(crate) fn mode_of(self, path: &Path) -> u32 {
        path.metadata().map_or(self.mode(), |existing| {
            self.narrow(existing.permissions().mode())
        })
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
        file.set_permissions(Permissions::from_mode(narrow))?;
    }
    file.set_len(0)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
            assert_eq!(readers.mode_of(&path), narrowed);
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
