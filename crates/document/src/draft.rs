//! Drafts: new files that replace others once they are complete.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

/// The number of names that are tried for a draft.
const MAX_DRAFTS: u32 = 1000;
/// The mode of a file that everybody may read, as [`File::create`] gives it.
pub const PUBLIC_MODE: u32 = 0o666;

/// Creates a file beside `path` under an unused name, which is that of `path` with an extension. A
/// symbolic link of that name is not followed. On Unix its mode is `mode`, less the umask.
///
/// # Errors
/// No file can be created in the folder of `path`, or all names are in use.
pub fn create_draft(path: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    let mut number = 0_u32;
    loop {
        let draft = path.with_added_extension(format!("{}.{number}.draft", process::id()));
        match create_new(&draft, mode) {
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && number + 1 < MAX_DRAFTS =>
            {
                number += 1;
            }
            created => return created.map(|file| (draft, file)),
        }
    }
}

#[cfg_attr(
    not(unix),
    expect(unused_variables, reason = "other systems have no modes")
)]
fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn files_and_links_of_the_names_of_drafts_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let [file, other] = ["file", "other"].map(|name| directory.path().join(name));
        let name = |number| file.with_added_extension(format!("{}.{number}.draft", process::id()));
        fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, name(0)).unwrap();
        fs::write(name(1), "kept").unwrap();
        let (draft, mut new) = create_draft(&file, 0o600).unwrap();
        assert_eq!(draft, name(2));
        new.write_all(b"new").unwrap();
        let mode = fs::metadata(&draft).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for kept in [other, name(0), name(1)] {
            assert_eq!(fs::read(&kept).unwrap(), b"kept", "{kept:?}");
        }
        assert!(create_draft(&directory.path().join("none/file"), 0o600).is_err());
    }
}
