//! The state that a node keeps in a file for the next run: the timestamp of the peer's newest
//! initiation, the addresses that were learned, and the use of [quotas](super::quotas).
//!
//! A node that restarts has otherwise no memory of initiations, and answers a replayed one. The
//! answer has no effect, but it costs two Diffie-Hellman operations and a budget that the peer may
//! need. And without the peer's address it cannot start a handshake, but waits until the peer
//! notices the restart, which takes it ten seconds. A file that cannot be read or written does not
//! stop the node, unless a path has a quota, which it would use again.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;

use polypath_core::time::{Duration, Time};
use polypath_session::key::PublicKey;
use polypath_session::session::usable_timestamp;
use serde::{Deserialize, Serialize};

use super::quotas::{Limit, SavedQuotas};
use crate::clock::Clock;
use crate::output_file::{Kind, kind_of};
use crate::snapshot::{Messages, SnapshotFile, SnapshotWriter, WriteState};

mod error;
mod lock;

pub(super) use error::StateError;
use lock::StateLock;

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
/// The time after which a write that has not ended counts as failed: less than that for which the
/// last one covers steady traffic, half of the lead.
const STUCK: Duration = Duration::from_millis(800);
/// The time after which a write is slow: a path that has carried more than is in the file waits.
const SLOW: Duration = Duration::from_millis(200);
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
    defect: Option<StateError>,
    path: PathBuf,
    /// Held until the last write: no other process keeps a state in the file meanwhile.
    lock: Option<StateLock>,
    /// Defects that are logged at the start.
    warnings: Vec<String>,
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
        let mut file = Self {
            peer,
            kept: SavedState::default(),
            submitted: None,
            has_failed: false,
            next: Time::ZERO,
            has_content: false,
            writer: None,
            defect: None,
            path: path.to_owned(),
            lock: None,
            warnings: Vec::new(),
        };
        match lock::lock(path) {
            Ok(lock) => file.lock = lock,
            Err(error) => {
                file.defect = Some(error);
                return file;
            }
        }
        file.read(wall_clock);
        let opened = SnapshotFile::new(path).map(SnapshotFile::durable);
        match opened.and_then(|file| SnapshotWriter::start(file, MESSAGES)) {
            Ok(writer) => file.writer = Some(writer),
            Err(error) => {
                let error = StateError::Unwritable(error);
                let remedy = error.remedy();
                file.warn(format_args!(
                    "{error}; the node continues, but after a restart it answers replayed handshakes, and waits for \
                     the peer to start a handshake where it has no `remote`; {remedy}"
                ));
                file.defect.get_or_insert(error);
            }
        }
        file
    }

    fn read(&mut self, wall_clock: u64) {
        match read(&self.path) {
            Ok(state) if state.peer == self.peer.to_string() => self.kept = state.kept,
            Ok(state) if state.peer.is_empty() => {}
            Ok(state) => {
                self.kept.quotas = state.kept.quotas;
                self.warn_of(&StateError::OtherPeer, "the state of its peer");
            }
            Err(error) => {
                self.warn_of(&error, "the state of its peer");
                self.defect = Some(error);
            }
        }
        self.has_content = self.kept != SavedState::default();
        let lead = self.kept.timestamp.saturating_sub(wall_clock);
        if usable_timestamp(self.kept.timestamp, wall_clock).is_none() {
            self.warn_of(&StateError::Ahead, "the timestamp of its peer");
        } else if lead > NOTABLE_LEAD {
            self.warn(format_args!(
                "the peer's newest handshake is {} s ahead of this machine's clock, and the node ignores earlier \
                 ones; if the peer's clock was wrong, stop the node, remove `timestamp` from the file and start it \
                 again",
                lead / 1_000_000_000
            ));
        }
    }

    fn warn_of(&mut self, error: &StateError, lacks: &str) {
        let remedy = error.remedy();
        self.warn(format_args!(
            "{error}; the node starts without {lacks}; {remedy}"
        ));
    }

    fn warn(&mut self, text: fmt::Arguments<'_>) {
        let path = self.path.display();
        self.warnings.push(format!("--state {path}: {text}"));
    }

    /// Logs what is wrong with the file, for a node that starts all the same.
    pub(super) fn log_warnings(&mut self) {
        for warning in self.warnings.drain(..) {
            tracing::warn!("{warning}");
        }
    }

    /// Checks again that the process can write the file, as another user.
    pub(super) fn check_writable(&mut self) {
        if let Err(error) = SnapshotFile::new(&self.path) {
            self.defect.get_or_insert(StateError::Unwritable(error));
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The reason why the use of a quota is not known, or cannot be kept.
    pub(super) fn defect(&self) -> Option<&StateError> {
        self.defect.as_ref()
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

    /// Keeps `state` and waits until it is in the file or that fails, at most [`STUCK`].
    pub(super) fn keep_now(&mut self, state: &SavedState, clock: Clock) {
        let start = clock.now();
        while self.writer.is_some() && clock.now().since(start) < STUCK {
            self.keep(state.clone(), clock.now());
            if self.kept == *state || self.has_failed {
                return;
            }
            thread::sleep(std::time::Duration::from_millis(1));
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

    /// The uses of quotas in the file, if it cannot be written at `now`, or a write takes long.
    pub(super) fn limit(&mut self, now: Time) -> Option<Limit<'_>> {
        self.update(now);
        let submitted = self.submitted.as_ref();
        let is_slow = submitted.is_some_and(|submitted| now.since(submitted.at) >= SLOW);
        (self.has_failed || is_slow).then_some(Limit {
            saved: &self.kept.quotas,
            applies_below: self.has_failed,
        })
    }

    /// Keeps the last state and waits until it is written or given up.
    pub(super) fn finish(&mut self, last: SavedState) {
        if last != SavedState::default() || self.has_content {
            let content = self.content(last);
            if let Some(writer) = &mut self.writer {
                writer.finish(content);
            }
        }
        self.lock = None;
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
mod tests;
