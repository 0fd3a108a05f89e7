//! The timestamp of the peer's newest initiation, kept in a file for the next run.
//!
//! A node that restarts has otherwise no memory of initiations, and answers a replayed one. The
//! answer has no effect, but it costs two Diffie-Hellman operations and a budget that the peer may
//! need. A file that cannot be read or written therefore does not stop the node.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use polypath_session::key::PublicKey;
use polypath_session::session::usable_timestamp;
use serde::{Deserialize, Serialize};

use crate::output_file::{Kind, kind_of};
use crate::snapshot::{Messages, SnapshotFile, SnapshotWriter};

/// The version of the file.
const VERSION: u32 = 1;
/// The most bytes that are read.
const MAX_LEN: u64 = 4096;

const MESSAGES: Messages = Messages {
    option: "--state",
    content: "timestamp of the peer",
    on_failure: "the node continues, retries at the next handshake, and answers replayed handshakes after \
                 a restart",
};

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    version: u32,
    /// The peer's public key.
    peer: String,
    /// In nanoseconds since 1970.
    timestamp: u64,
}

/// The reason why a kept timestamp is not used.
#[derive(Debug, thiserror::Error)]
enum StateError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("not a regular file")]
    NotRegular,
    #[error("not a state file: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("it has version {0}, and this program reads {VERSION}")]
    Version(u32),
    #[error("it belongs to another peer")]
    OtherPeer,
    #[error("its time is more than a day ahead of this machine's clock")]
    Ahead,
}

/// A file that keeps the newest timestamp.
#[derive(Debug)]
pub(super) struct PeerTimestampFile {
    peer: PublicKey,
    /// The timestamp in the file, or on its way there.
    kept: u64,
    writer: Option<SnapshotWriter<State>>,
}

impl PeerTimestampFile {
    /// Reads the timestamp of `peer` from the file `path`, if it has one, and prepares the file for
    /// the next. The wall clock shows `wall_clock`, in nanoseconds since 1970.
    pub(super) fn open(path: &Path, peer: PublicKey, wall_clock: u64) -> Self {
        let kept = read(path, peer, wall_clock).unwrap_or_else(|error| {
            tracing::warn!(
                "--state {}: {error}; the node starts without the timestamp of its peer",
                path.display()
            );
            0
        });
        let opened = SnapshotFile::new(path).map(SnapshotFile::durable);
        let writer = opened.and_then(|file| SnapshotWriter::start(file, MESSAGES));
        if let Err(error) = &writer {
            tracing::warn!(
                "--state {}: {error}; the node continues, and answers replayed handshakes after a restart",
                path.display()
            );
        }
        Self {
            peer,
            kept,
            writer: writer.ok(),
        }
    }

    /// The kept timestamp, in nanoseconds since 1970; 0 if there is none.
    pub(super) fn timestamp(&self) -> u64 {
        self.kept
    }

    /// Keeps `timestamp` if it is newer; never blocks.
    pub(super) fn keep(&mut self, timestamp: u64) {
        if timestamp > self.kept
            && let Some(writer) = &self.writer
            && writer.submit(self.state(timestamp))
        {
            self.kept = timestamp;
        }
    }

    /// Keeps the last `timestamp` and waits until it is written or given up.
    pub(super) fn finish(&mut self, timestamp: u64) {
        let last = self.state(timestamp.max(self.kept));
        if last.timestamp > 0
            && let Some(writer) = &mut self.writer
        {
            writer.finish(last);
        }
    }

    fn state(&self, timestamp: u64) -> State {
        State {
            version: VERSION,
            peer: self.peer.to_string(),
            timestamp,
        }
    }
}

/// The timestamp in the file; 0 if there is no file.
fn read(path: &Path, peer: PublicKey, wall_clock: u64) -> Result<u64, StateError> {
    // Opening a FIFO would wait for its writer.
    if kind_of(path)? != Kind::File {
        return Err(StateError::NotRegular);
    }
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        file => file?,
    };
    let mut text = Vec::new();
    file.take(MAX_LEN).read_to_end(&mut text)?;
    let state: State = serde_json::from_slice(&text)?;
    if state.version != VERSION {
        return Err(StateError::Version(state.version));
    }
    if state.peer != peer.to_string() {
        return Err(StateError::OtherPeer);
    }
    usable_timestamp(state.timestamp, wall_clock).ok_or(StateError::Ahead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use polypath_core::rng::Seed;
    use polypath_session::key::PrivateKey;
    use std::fs;

    const WALL: u64 = 1_790_000_000_000_000_000;

    fn peer(name: &str) -> PublicKey {
        let stream = &mut Seed(1).stream(name);
        PrivateKey::generate(stream).unwrap().public()
    }

    #[test]
    fn the_newest_timestamp_is_kept_for_the_next_run() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        let open = |peer| PeerTimestampFile::open(&path, peer, WALL);
        let mut file = open(peer("b"));
        assert_eq!(file.timestamp(), 0);
        file.finish(0);
        assert!(!path.exists(), "nothing to keep");
        let mut file = open(peer("b"));
        file.keep(WALL + 5);
        file.finish(WALL + 9);
        assert_eq!(open(peer("b")).timestamp(), WALL + 9);
        let mut file = open(peer("b"));
        file.keep(7);
        file.finish(8);
        assert_eq!(open(peer("b")).timestamp(), WALL + 9, "never an older one");
        assert_eq!(open(peer("c")).timestamp(), 0, "of another peer");
    }

    #[test]
    fn a_timestamp_that_a_wrong_clock_caused_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        let open = || PeerTimestampFile::open(&path, peer("b"), WALL);
        let day = 86_400_000_000_000;
        for (ahead, used) in [(day, true), (day + 1, false)] {
            let timestamp = WALL + ahead;
            PeerTimestampFile::open(&path, peer("b"), u64::MAX).finish(timestamp);
            assert_eq!(open().timestamp(), if used { timestamp } else { 0 });
        }
        let mut file = open();
        file.finish(WALL);
        assert_eq!(open().timestamp(), WALL, "the next one replaces it");
    }

    #[test]
    fn a_file_that_cannot_be_read_or_written_stops_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        for text in [
            "",
            "{",
            "[relay]",
            r#"{"version":2,"peer":"","timestamp":1}"#,
        ] {
            fs::write(&path, text).unwrap();
            let mut file = PeerTimestampFile::open(&path, peer("b"), WALL);
            assert_eq!(file.timestamp(), 0, "{text}");
            file.finish(5);
            let reopened = PeerTimestampFile::open(&path, peer("b"), WALL);
            assert_eq!(reopened.timestamp(), 5, "{text}");
        }
        let nowhere = directory.path().join("none/state.json");
        let fifo = directory.path().join("fifo");
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        for path in [directory.path(), &nowhere, &fifo] {
            let mut file = PeerTimestampFile::open(path, peer("b"), WALL);
            file.keep(5);
            file.finish(6);
            assert_eq!(file.timestamp(), 0);
        }
    }
}
