//! Key files, and the operating system's random source.
//!
//! A key file holds the private key of a node, or the pre-shared key of two, base64 on one line, and
//! is readable for its owner alone. A comment in the first line of a pre-shared key distinguishes it
//! from a private one.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use polypath_document::{FileKind, PRESHARED_KEY_HEADING, WrongKind, check_kind, file, shell_word};
use polypath_session::entropy::{Entropy, EntropyError};
use polypath_session::key::{ParseKeyError, PresharedKey, PrivateKey, PublicKey};
use zeroize::Zeroizing;

/// The number of bytes that are read: more than a key, to recognise files of other kinds.
const MAX_LEN: u64 = 64 << 10;

/// The operating system's random source (`getrandom(2)`).
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        getrandom::fill(bytes).map_err(|_| EntropyError)
    }
}

/// An error in writing or reading a key file.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file exists: a key is not overwritten, since the peer has its public key.
    #[error("{path}: exists and is not overwritten; choose another name or remove it first", path = .0.display())]
    Exists(PathBuf),
    /// The file does not exist.
    #[error("{path}: there is no such key file; make one with `{1} {word}`", path = .0.display(), word = word(.0))]
    Missing(PathBuf, &'static str),
    /// The path names a directory.
    #[error("{path}: is a directory; name the key file in it", path = .0.display())]
    Directory(PathBuf),
    /// Others may read the private key.
    #[error("{path}: others may read this secret key; run `chmod 600 {word}`", path = .0.display(), word = word(.0))]
    Exposed(PathBuf),
    /// The file does not hold a key.
    #[error(
        "{path}:{line}: not the key: a key file has one line with 32 bytes in base64, 44 characters that end in \
         `=`, and not all zero; `{command}` makes one",
        path = path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The command that makes a key.
        command: &'static str,
    },
    /// The file is of another kind.
    #[error(transparent)]
    WrongKind(#[from] WrongKind),
    /// The random source failed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The user of this process may not read the file.
    #[error(
        "{path}: permission denied; run this as the user that owns the file, or make the user that runs this its \
         owner",
        path = .0.display()
    )]
    Denied(PathBuf),
    /// The user of this process may not create the file.
    #[error("{path}: you may not create files there; name one in a directory of your own", path = .0.display())]
    NotCreated(PathBuf),
    /// The file cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Generates a key pair, writes the private key to the new file `path` (mode 0600) and returns the
/// public key.
pub fn generate(path: &Path) -> Result<PublicKey, KeyError> {
    let key = PrivateKey::generate(&mut SystemEntropy)?;
    create(path, "", &key.to_base64())?;
    Ok(key.public())
}

/// Generates a pre-shared key and writes it to the new file `path` (mode 0600).
pub fn generate_preshared(path: &Path) -> Result<(), KeyError> {
    let key = PresharedKey::generate(&mut SystemEntropy)?;
    let heading = format!("{PRESHARED_KEY_HEADING}, the same at both nodes\n");
    create(path, &heading, &key.to_base64())
}

fn create(path: &Path, heading: &str, key: &str) -> Result<(), KeyError> {
    let error = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => KeyError::Exists(path.to_owned()),
        io::ErrorKind::PermissionDenied => KeyError::NotCreated(path.to_owned()),
        _ => io_error(path, source),
    };
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(error)?;
    writeln!(file, "{heading}{key}")
        .and_then(|()| file.sync_all())
        .map_err(|source| {
            // A truncated key file is worse than none.
            let _ = fs::remove_file(path);
            io_error(path, source)
        })
}

/// Reads the private key in `path`, which must be readable for its owner alone.
pub fn load(path: &Path) -> Result<PrivateKey, KeyError> {
    read(path, &PRIVATE)
}

/// Reads the pre-shared key in `path`, which must be readable for its owner alone.
pub fn load_preshared(path: &Path) -> Result<PresharedKey, KeyError> {
    read(path, &PRESHARED)
}

/// Parses `content` of the file `path` as a private key.
pub fn parse(path: &Path, content: &[u8]) -> Result<PrivateKey, KeyError> {
    parse_as(path, content, &PRIVATE)
}

/// Parses `content` of the file `path` as a pre-shared key.
pub fn parse_preshared(path: &Path, content: &[u8]) -> Result<PresharedKey, KeyError> {
    parse_as(path, content, &PRESHARED)
}

/// The public key if `key` is a private one; [`None`] if it cannot be one.
pub(crate) fn public_of(key: &PresharedKey) -> Option<PublicKey> {
    let key: Result<PrivateKey, _> = key.to_base64().parse();
    key.ok().map(|key| key.public())
}

/// The files of a sort of key.
struct KeyFormat {
    /// The command that makes a key.
    command: &'static str,
    kinds: &'static [FileKind],
    has_comments: bool,
}

const PRIVATE: KeyFormat = KeyFormat {
    command: "polypath key",
    kinds: &[FileKind::Key],
    has_comments: false,
};

/// Earlier versions wrote no heading.
const PRESHARED: KeyFormat = KeyFormat {
    command: "polypath key --preshared",
    kinds: &[FileKind::PresharedKey, FileKind::Key],
    has_comments: true,
};

fn parse_as<K: FromStr<Err = ParseKeyError>>(
    path: &Path,
    content: &[u8],
    format: &KeyFormat,
) -> Result<K, KeyError> {
    check_kind(&path.display().to_string(), content, format.kinds)?;
    // Text that is not UTF-8 is not a key.
    let text = str::from_utf8(content).unwrap_or_default();
    let is_key = |line: &str| {
        let is_comment = format.has_comments && line.starts_with('#');
        !line.is_empty() && !is_comment
    };
    let lines = (1..).zip(text.lines().map(str::trim));
    let mut keys = lines.filter(|(_, line)| is_key(line));
    let (line, key) = keys.next().unwrap_or((1, ""));
    let malformed = |line| KeyError::Malformed {
        path: path.to_owned(),
        line,
        command: format.command,
    };
    let key = key.parse().map_err(|_| malformed(line))?;
    match keys.next() {
        Some((line, _)) => Err(malformed(line)),
        None => Ok(key),
    }
}

/// Reads a key.
fn read<K: FromStr<Err = ParseKeyError>>(path: &Path, format: &KeyFormat) -> Result<K, KeyError> {
    let file = file::open(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => KeyError::Missing(path.to_owned(), format.command),
        io::ErrorKind::IsADirectory => KeyError::Directory(path.to_owned()),
        _ => io_error(path, source),
    })?;
    let metadata = file.metadata().map_err(|source| io_error(path, source))?;
    // A vector that grows leaves copies behind.
    let capacity = usize::try_from(MAX_LEN).unwrap_or(0);
    let mut content = Zeroizing::new(Vec::with_capacity(capacity));
    file.take(MAX_LEN)
        .read_to_end(&mut content)
        .map_err(|source| io_error(path, source))?;
    let key = parse_as(path, &content, format)?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(KeyError::Exposed(path.to_owned()));
    }
    Ok(key)
}

/// The file as a word of a shell command.
fn word(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

fn io_error(path: &Path, source: io::Error) -> KeyError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied => KeyError::Denied(path),
        _ => KeyError::Io { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_written_once_and_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.key");
        let public = generate(&path).unwrap();
        assert_eq!(load(&path).unwrap().public(), public);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert!(matches!(generate(&path), Err(KeyError::Exists(_))));
        assert_eq!(load(&path).unwrap().public(), public);
        assert_ne!(generate(&directory.path().join("b.key")).unwrap(), public);
    }

    #[test]
    fn preshared_keys_are_written_once_and_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ab.psk");
        let missing = load_preshared(&path).unwrap_err().to_string();
        assert!(missing.contains("polypath key --preshared"), "{missing}");
        generate_preshared(&path).unwrap();
        let key = load_preshared(&path).unwrap();
        assert!(matches!(
            generate_preshared(&path),
            Err(KeyError::Exists(_))
        ));
        assert_eq!(load_preshared(&path).unwrap(), key);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(load_preshared(&path), Err(KeyError::Exposed(_))));
    }

    #[test]
    fn a_preshared_key_is_not_taken_for_a_private_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ab.psk");
        generate_preshared(&path).unwrap();
        let refused = load(&path).unwrap_err().to_string();
        assert!(
            refused
                .contains("is a pre-shared key file, not a key file; `polypath key --preshared`"),
            "{refused}"
        );
        // As earlier versions wrote it.
        let text = fs::read_to_string(&path).unwrap();
        let (_, bare) = text.split_once('\n').unwrap();
        let key = load_preshared(&path).unwrap();
        fs::write(&path, bare).unwrap();
        assert_eq!(load_preshared(&path).unwrap(), key);
    }

    #[test]
    fn an_error_in_a_preshared_key_has_its_line() {
        let key = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=";
        let path = Path::new("ab.psk");
        let heading = PRESHARED_KEY_HEADING;
        for (text, line) in [
            (String::new(), 1),
            (format!("{heading}\n"), 1),
            (format!("{heading}\n\nshort=\n"), 3),
            (format!("{heading}\n{key}\n# more\n{key}\n"), 4),
            (format!("{heading}\n{}=\n", "A".repeat(43)), 2),
        ] {
            let error = parse_preshared(path, text.as_bytes()).unwrap_err();
            let error = error.to_string();
            assert!(error.starts_with(&format!("ab.psk:{line}: ")), "{error}");
            assert!(
                error.ends_with("`polypath key --preshared` makes one"),
                "{error}"
            );
        }
        let text = format!("\n{heading}\n {key} \n# end\n");
        assert_eq!(
            &*parse_preshared(path, text.as_bytes()).unwrap().to_base64(),
            key
        );
        assert!(parse(path, format!("# mine\n{key}\n").as_bytes()).is_err());
    }

    #[test]
    fn errors_of_key_files_name_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.key");
        let missing = load(&path).unwrap_err().to_string();
        assert!(missing.contains("polypath key"), "{missing}");
        let in_place = load(directory.path()).unwrap_err().to_string();
        assert!(in_place.contains("is a directory"), "{in_place}");
        let denied = io_error(&path, io::ErrorKind::PermissionDenied.into()).to_string();
        assert!(denied.contains("the user that owns"), "{denied}");
        generate(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let exposed = load(&path).unwrap_err().to_string();
        assert!(exposed.contains("chmod 600"), "{exposed}");
        fs::write(&path, "not a key\n").unwrap();
        assert!(matches!(
            load(&path),
            Err(KeyError::Malformed { line: 1, .. })
        ));
        fs::write(&path, "[node]\n[peer]\n").unwrap();
        assert!(matches!(load(&path), Err(KeyError::WrongKind(_))));
    }
}
