//! The files that `polypath init` writes: all of them or none.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use polypath_live::keys;
use polypath_session::key::PublicKey;
use serde_json::{Value, json};

use super::plan::{Plan, Side};
use crate::failure::Failure;
use crate::scenario::OutputFolder;

/// New files in a folder, which are removed again unless they are kept.
pub(super) struct NewFiles {
    folder: OutputFolder,
    created: Vec<PathBuf>,
    kept: bool,
}

/// The public keys of the written private keys.
pub(super) struct PublicKeys {
    pub(super) a: PublicKey,
    pub(super) b: PublicKey,
    pub(super) relay: Option<PublicKey>,
}

impl PublicKeys {
    /// The keys by the names of their owners.
    pub(super) fn json(&self, plan: &Plan) -> Value {
        let mut keys = json!({
            plan.name(Side::A): self.a.to_string(),
            plan.name(Side::B): self.b.to_string(),
        });
        if let Some(relay) = &self.relay {
            keys["relay"] = relay.to_string().into();
        }
        keys
    }
}

impl NewFiles {
    /// Opens the folder, in which no file of `names` may exist.
    pub(super) fn open(folder: &Path, names: &[String]) -> Result<Self, Failure> {
        let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
        let paths = names.iter().map(|name| folder.join(name));
        let existing = paths.filter(exists).map(|path| path.display().to_string());
        let existing: Vec<String> = existing.collect();
        if !existing.is_empty() {
            let (existing, verb) = match &existing[..] {
                [one] => (one.clone(), "exists"),
                several => (several.join(", "), "exist"),
            };
            return Err(Failure::input(format!(
                "{existing} {verb}, and nothing is overwritten; choose another folder, as `polypath init NEW`, \
                 or remove what is there"
            )));
        }
        let opened = OutputFolder::open(folder).map_err(|error| {
            let folder = folder.display();
            Failure::input(format!(
                "cannot write to the folder {folder}: {error}; choose another, as `polypath init NEW`"
            ))
        })?;
        Ok(Self {
            folder: opened,
            created: Vec::new(),
            kept: false,
        })
    }

    /// Writes a new private key for each node, and for the relay, and the pre-shared key.
    pub(super) fn generate_keys(&mut self, plan: &Plan) -> Result<PublicKeys, Failure> {
        if let Some(name) = plan.preshared_key_file() {
            let path = self.folder.path().join(name);
            keys::generate_preshared(&path).map_err(Failure::input)?;
            self.created.push(path);
        }
        Ok(PublicKeys {
            a: self.generate(&plan.key_file(Side::A))?,
            b: self.generate(&plan.key_file(Side::B))?,
            relay: if plan.has_relay() {
                Some(self.generate("relay.key")?)
            } else {
                None
            },
        })
    }

    fn generate(&mut self, name: &str) -> Result<PublicKey, Failure> {
        let path = self.folder.path().join(name);
        let key = keys::generate(&path).map_err(Failure::input)?;
        self.created.push(path);
        Ok(key)
    }

    /// Writes a new file.
    pub(super) fn write(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.path().join(name);
        let unwritable =
            |error| Failure::input(format!("cannot write {}: {error}", path.display()));
        let mut options = OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(0o644).open(&path);
        let mut file = opened.map_err(unwritable)?;
        self.created.push(path.clone());
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(unwritable)
    }

    /// Keeps the files.
    pub(super) fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for path in &self.created {
            // A file that is gone needs no removal.
            let _ = fs::remove_file(path);
        }
        self.folder.discard();
    }
}
