//! The state that a node keeps in a file for the next run: the timestamp of the peer's newest
//! initiation, the addresses that were learned, and the use of [quotas](super::quotas).
//!
//! A node that restarts has otherwise no memory of initiations, and answers a replayed one. The
//! answer has no effect, but it costs two Diffie-Hellman operations and a budget that the peer may
//! need. And without the peer's address it cannot start a handshake, but waits until the peer
//! notices the restart, which takes it ten seconds. A file that cannot be read or written does not
//! stop the node, unless a path has a quota, which it would use again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::Path;

use polypath_core::time::{Duration, Time};
use polypath_session::key::PublicKey;
use polypath_session::session::usable_timestamp;
use serde::{Deserialize, Serialize};

use super::quotas::SavedQuotas;
use crate::output_file::{Kind, kind_of};
use crate::snapshot::{Messages, SnapshotFile, SnapshotWriter, WriteState};

/// The version of the file.
const VERSION: u32 = 1;
/// The lead of a kept time over this machine's clock from which it is logged, in nanoseconds: clocks
/// of two nodes differ by less.
const NOTABLE_LEAD: u64 = 10_000_000_000;
/// The most bytes that are read: more than the addresses and quotas of 64 paths with long names, and
/// the counts of many former names.
const MAX_LEN: u64 = 1 << 20;
/// The time between attempts to write after one that failed.
const RETRY: Duration = Duration::from_secs(1);
/// The time after which a write that has not ended counts as failed: the disk is stuck.
const STUCK: Duration = Duration::from_secs(1);
/// The consequence of a file that cannot be written, with the remedy.
const UNWRITABLE: &str = "the node continues, but after a restart it answers replayed handshakes, and waits for \
                          the peer to start a handshake where it has no `remote`; let the user that the node runs \
                          as create files in this directory, which must exist, and start it again";

const MESSAGES: Messages = Messages {
    option: "--state",
    content: "state",
    on_failure: "the node continues, and retries each second; a path with a quota closes when it has carried what the \
                 file covers; let the user that the node runs as create files in this directory, and check that the \
                 disk is not full",
};

/// The state that the next run can use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedState {
    /// The timestamp of its newest initiation, in nanoseconds since 1970; 0 if there is none.
    #[serde(default)]
    pub(super) timestamp: u64,
    /// The learned addresses, by the name of the path.
    #[serde(default)]
    pub(super) addresses: BTreeMap<String, SocketAddr>,
    /// The use of quotas, by the name of the path. It holds for any peer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) quotas: SavedQuotas,
}

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    version: u32,
    /// The peer's public key.
    peer: String,
    #[serde(flatten)]
    kept: SavedState,
}

/// The reason why a kept state is not used.
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

impl StateError {
    /// The correction.
    const fn remedy(&self) -> &'static str {
        match self {
            Self::Io(_) => "let the user that the node runs as read and write it",
            Self::NotRegular => "name a regular file, or one that does not exist",
            Self::Malformed(_) | Self::Version(_) => {
                "nothing to do if it is an old state file: the node replaces it; else name another file"
            }
            Self::OtherPeer => {
                "nothing to do if this node has a new peer: the node replaces it; else give each node a file of its own"
            }
            Self::Ahead => {
                "set this machine's clock if it is behind; else nothing to do: the node replaces the time when its \
                 peer has a new handshake"
            }
        }
    }
}

/// A file that keeps the state of the peer.
#[derive(Debug)]
pub(super) struct StateFile {
    peer: PublicKey,
    /// The state in the file.
    kept: SavedState,
    /// The state on its way there.
    submitted: Option<SubmittedState>,
    /// Whether the last attempt to write failed, and the time from which the next may follow.
    has_failed: bool,
    next: Time,
    /// Whether the file contains a state, or will.
    has_content: bool,
    writer: Option<SnapshotWriter<State>>,
    /// The reason why a quota cannot be kept in the file.
    defect: Option<String>,
}

#[derive(Debug)]
struct SubmittedState {
    state: SavedState,
    at: Time,
}

impl StateFile {
    /// Reads the state of `peer` from the file `path`, if it has one, and prepares the file for the
    /// next. The wall clock shows `wall_clock`, in nanoseconds since 1970.
    pub(super) fn open(path: &Path, peer: PublicKey, wall_clock: u64) -> Self {
        let warn = |error: StateError, lacks: &str| {
            let (path, remedy) = (path.display(), error.remedy());
            tracing::warn!("--state {path}: {error}; the node starts without {lacks}; {remedy}");
        };
        let mut defect = None;
        let kept = match read(path) {
            Ok(state) if state.peer == peer.to_string() => state.kept,
            Ok(state) if state.peer.is_empty() => SavedState::default(),
            Ok(state) => {
                warn(StateError::OtherPeer, "the state of its peer");
                SavedState {
                    quotas: state.kept.quotas,
                    ..SavedState::default()
                }
            }
            Err(error) => {
                defect = Some(error.to_string());
                warn(error, "the state of its peer");
                SavedState::default()
            }
        };
        let lead = kept.timestamp.saturating_sub(wall_clock);
        if usable_timestamp(kept.timestamp, wall_clock).is_none() {
            warn(StateError::Ahead, "the timestamp of its peer");
        } else if lead > NOTABLE_LEAD {
            tracing::warn!(
                "--state {}: the peer's newest handshake is {} s ahead of this machine's clock, and the node ignores \
                 earlier ones; if the peer's clock was wrong, stop the node, remove the file and start it again",
                path.display(),
                lead / 1_000_000_000
            );
        }
        let opened = SnapshotFile::new(path).map(SnapshotFile::durable);
        let writer = opened.and_then(|file| SnapshotWriter::start(file, MESSAGES));
        if let Err(error) = &writer {
            tracing::warn!("--state {}: {error}; {UNWRITABLE}", path.display());
            defect.get_or_insert(error.to_string());
        }
        Self {
            peer,
            has_content: kept != SavedState::default(),
            kept,
            submitted: None,
            has_failed: false,
            next: Time::ZERO,
            writer: writer.ok(),
            defect,
        }
    }

    /// The reason why the use of a quota is not known, or cannot be kept.
    pub(super) fn defect(&self) -> Option<&str> {
        self.defect.as_deref()
    }

    /// The kept state.
    pub(super) fn kept(&self) -> &SavedState {
        &self.kept
    }

    /// Keeps `state` if it differs from that in the file; never blocks. After a failure it is tried
    /// again each second.
    pub(super) fn keep(&mut self, state: SavedState, now: Time) {
        self.update(now);
        let is_free = self.submitted.is_none() && now >= self.next;
        if is_free
            && state != self.kept
            && let Some(writer) = &self.writer
            && writer.submit(self.content(state.clone()))
        {
            self.submitted = Some(SubmittedState { state, at: now });
            self.has_content = true;
        }
    }

    /// Notes the outcome of the last write.
    fn update(&mut self, now: Time) {
        let (Some(writer), Some(submitted)) = (&self.writer, &self.submitted) else {
            return;
        };
        match writer.state() {
            WriteState::Busy => self.has_failed |= now.since(submitted.at) >= STUCK,
            WriteState::Failed => {
                self.has_failed = true;
                self.next = now + RETRY;
                self.submitted = None;
            }
            WriteState::Written => {
                self.has_failed = false;
                self.kept = self
                    .submitted
                    .take()
                    .map_or_else(Default::default, |s| s.state);
            }
        }
    }

    /// The uses of quotas in the file, if it cannot be written at `now`.
    pub(super) fn limit(&mut self, now: Time) -> Option<&SavedQuotas> {
        self.update(now);
        self.has_failed.then_some(&self.kept.quotas)
    }

    /// Keeps the last state and waits until it is written or given up.
    pub(super) fn finish(&mut self, last: SavedState) {
        if last == SavedState::default() && !self.has_content {
            return;
        }
        let content = self.content(last);
        if let Some(writer) = &mut self.writer {
            writer.finish(content);
        }
    }

    fn content(&self, kept: SavedState) -> State {
        State {
            version: VERSION,
            peer: self.peer.to_string(),
            kept,
        }
    }
}

/// The content of the file; one of no peer if there is no file.
fn read(path: &Path) -> Result<State, StateError> {
    // Opening a FIFO would wait for its writer.
    if kind_of(path)? != Kind::File {
        return Err(StateError::NotRegular);
    }
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::default()),
        file => file?,
    };
    let mut text = Vec::new();
    file.take(MAX_LEN).read_to_end(&mut text)?;
    let state: State = serde_json::from_slice(&text)?;
    if state.version != VERSION {
        return Err(StateError::Version(state.version));
    }
    Ok(state)
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

    /// A state without addresses.
    fn at(timestamp: u64) -> SavedState {
        SavedState {
            timestamp,
            ..SavedState::default()
        }
    }

    /// The addresses of a path `lte`.
    fn address(text: &str) -> BTreeMap<String, SocketAddr> {
        [("lte".to_owned(), text.parse().unwrap())].into()
    }

    #[test]
    fn the_newest_timestamp_is_kept_for_the_next_run() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        let open = |peer| StateFile::open(&path, peer, WALL);
        let mut file = open(peer("b"));
        assert_eq!(file.kept().timestamp, 0);
        file.finish(at(0));
        assert!(!path.exists(), "nothing to keep");
        let mut file = open(peer("b"));
        file.keep(at(WALL + 5), Time::ZERO);
        file.finish(at(WALL + 9));
        assert_eq!(open(peer("b")).kept().timestamp, WALL + 9);
        assert_eq!(open(peer("c")).kept().timestamp, 0, "of another peer");
    }

    #[test]
    fn the_last_addresses_are_kept_for_the_next_run() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        let open = |peer| StateFile::open(&path, peer, WALL);
        let state = |text| SavedState {
            addresses: address(text),
            ..SavedState::default()
        };
        let mut file = open(peer("b"));
        file.keep(state("192.0.2.1:7001"), Time::ZERO);
        file.finish(state("[2001:db8::1]:7001"));
        assert_eq!(open(peer("b")).kept(), &state("[2001:db8::1]:7001"));
        assert_eq!(open(peer("c")).kept(), &SavedState::default());
        // An address that is configured now, and learned no longer.
        let mut file = open(peer("b"));
        file.keep(SavedState::default(), Time::ZERO);
        file.finish(SavedState::default());
        assert_eq!(open(peer("b")).kept(), &SavedState::default());
    }

    #[test]
    fn a_file_without_addresses_of_an_older_version_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        let text = format!(
            r#"{{"version":1,"peer":"{}","timestamp":{WALL}}}"#,
            peer("b")
        );
        fs::write(&path, text).unwrap();
        assert_eq!(StateFile::open(&path, peer("b"), WALL).kept(), &at(WALL));
    }

    #[test]
    fn a_wrong_clock_costs_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        let state = SavedState {
            timestamp: u64::MAX,
            addresses: address("192.0.2.1:7001"),
            ..SavedState::default()
        };
        StateFile::open(&path, peer("b"), u64::MAX).finish(state.clone());
        let mut file = StateFile::open(&path, peer("b"), WALL);
        assert_eq!(file.kept(), &state);
        file.finish(at(WALL));
        let kept = StateFile::open(&path, peer("b"), WALL).kept().timestamp;
        assert_eq!(kept, WALL, "what the session gives replaces it");
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
            let mut file = StateFile::open(&path, peer("b"), WALL);
            assert_eq!(file.kept().timestamp, 0, "{text}");
            file.finish(at(5));
            let reopened = StateFile::open(&path, peer("b"), WALL);
            assert_eq!(reopened.kept().timestamp, 5, "{text}");
        }
        let nowhere = directory.path().join("none/state.json");
        let fifo = directory.path().join("fifo");
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        for path in [directory.path(), &nowhere, &fifo] {
            let mut file = StateFile::open(path, peer("b"), WALL);
            file.keep(at(5), Time::ZERO);
            file.finish(at(6));
            assert_eq!(file.kept().timestamp, 0);
        }
    }

    #[test]
    fn the_limit_is_what_the_last_write_has_until_one_succeeds() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let mut file = StateFile::open(&folder.join("state.json"), peer("b"), WALL);
        let second = |n| Time::ZERO + Duration::from_secs(n);
        let mut keep = |timestamp, n| {
            file.keep(at(timestamp), second(n));
            while file.writer.as_ref().unwrap().state() == WriteState::Busy {
                std::thread::yield_now();
            }
            let is_limited = file.limit(second(n)).is_some();
            (is_limited, file.kept().timestamp)
        };
        assert_eq!(keep(1, 0), (false, 1));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(keep(2, 1), (true, 1));
        fs::create_dir(&folder).unwrap();
        assert_eq!(keep(3, 1), (true, 1), "not before a second");
        assert_eq!(keep(3, 2), (false, 3));
    }
}
