//! Drafts: new files that replace others once they are complete.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

/// The number of names that are tried for a draft.
const MAX_DRAFTS: u32 = 1000;

/// Creates a file beside `path` under an unused name, which is that of `path` with an extension. A
/// symbolic link of that name is not followed.
///
/// # Errors
/// No file can be created in the folder of `path`, or all names are in use.
pub fn create_draft(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = 0_u32;
    loop {
        let draft = path.with_added_extension(format!("{}.{number}.draft", process::id()));
        match File::create_new(&draft) {
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && number + 1 < MAX_DRAFTS =>
            {
                number += 1;
            }
            created => return created.map(|file| (draft, file)),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    #[test]
    fn files_and_links_of_the_names_of_drafts_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let [file, other] = ["file", "other"].map(|name| directory.path().join(name));
        let name = |number| file.with_added_extension(format!("{}.{number}.draft", process::id()));
        fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, name(0)).unwrap();
        fs::write(name(1), "kept").unwrap();
        let (draft, mut new) = create_draft(&file).unwrap();
        assert_eq!(draft, name(2));
        new.write_all(b"new").unwrap();
        for kept in [other, name(0), name(1)] {
            assert_eq!(fs::read(&kept).unwrap(), b"kept", "{kept:?}");
        }
        assert!(create_draft(&directory.path().join("none/file")).is_err());
    }
}
