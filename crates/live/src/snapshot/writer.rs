//! A thread that writes a file again and again for a thread that must not block on a disk.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use serde::Serialize;

use super::SnapshotFile;
use crate::writer_thread::{PATIENCE, WriterThread};

/// The parts of the warnings about a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    /// The option of the command line that names the file.
    pub(crate) option: &'static str,
    /// The content of the file, in the singular or plural that follows "the last".
    pub(crate) content: &'static str,
    /// The consequence of a failure before the end.
    pub(crate) on_failure: &'static str,
}

impl Messages {
    /// The statistics of a node or relay, written each second.
    pub(crate) const STATS: Self = Self {
        option: "--stats",
        content: "statistics",
        on_failure: "the program continues and retries each second",
    };
}

/// The handle of a thread that replaces the content of a file.
#[derive(Debug)]
pub(crate) struct SnapshotWriter<S> {
    sender: Option<Sender<Submission<S>>>,
    progress: Arc<Progress>,
    thread: WriterThread,
    name: String,
    messages: Messages,
}

/// The progress of the thread.
#[derive(Debug, Default)]
struct Progress {
    /// Whether the thread has not yet written the last submission.
    is_busy: AtomicBool,
    /// Whether the last write failed.
    has_failed: AtomicBool,
}

/// The state of the last submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteState {
    /// It waits, or is being written.
    Busy,
    /// It is in the file; or there was none.
    Written,
    /// It could not be written.
    Failed,
}

#[derive(Debug)]
struct Submission<S> {
    snapshot: S,
    is_last: bool,
}

impl<S: Serialize + Send + 'static> SnapshotWriter<S> {
    /// Starts the thread for the statistics in the file `path`.
    pub(crate) fn of_statistics(path: &Path) -> io::Result<Self> {
        Self::start(SnapshotFile::new(path)?, Messages::STATS)
    }

    /// Starts the thread for `file`.
    pub(crate) fn start(file: SnapshotFile, messages: Messages) -> io::Result<Self> {
        let (sender, submissions) = mpsc::channel();
        let progress = Arc::new(Progress::default());
        let name = file.path().display().to_string();
        let of_thread = progress.clone();
        let work = move || write(&file, messages, &submissions, &of_thread);
        Ok(Self {
            sender: Some(sender),
            progress,
            thread: WriterThread::start("file writer", work)?,
            name,
            messages,
        })
    }

    /// Submits a snapshot, unless the last one is not written yet; never blocks. Returns whether it
    /// is submitted.
    pub(crate) fn submit(&self, snapshot: S) -> bool {
        let is_free = !self.progress.is_busy.swap(true, Ordering::AcqRel);
        if is_free {
            self.send(snapshot, false);
        }
        is_free
    }

    /// The state of the last submission.
    pub(crate) fn state(&self) -> WriteState {
        if self.progress.is_busy.load(Ordering::Acquire) {
            WriteState::Busy
        } else if self.progress.has_failed.load(Ordering::Relaxed) {
            WriteState::Failed
        } else {
            WriteState::Written
        }
    }

    /// Submits the last snapshot and waits until it is written or given up.
    pub(crate) fn finish(&mut self, snapshot: S) {
        self.send(snapshot, true);
        self.sender = None;
        if !self.thread.await_end() {
            let seconds = PATIENCE.as_secs();
            let Messages {
                option, content, ..
            } = self.messages;
            tracing::warn!(
                "{option} {}: gave up writing the last {content} after {seconds} s",
                self.name
            );
        }
    }

    fn send(&self, snapshot: S, is_last: bool) {
        if let Some(sender) = &self.sender {
            // A panic message of the thread is already on standard error.
            let _ = sender.send(Submission { snapshot, is_last });
        }
    }
}

/// Writes submissions until the channel closes; a failure is logged once, as is the next success;
/// and one at the end.
fn write<S: Serialize>(
    file: &SnapshotFile,
    messages: Messages,
    submissions: &Receiver<Submission<S>>,
    progress: &Progress,
) {
    let Messages {
        option,
        content,
        on_failure,
    } = messages;
    let mut logged = false;
    while let Ok(Submission { snapshot, is_last }) = submissions.recv() {
        let written = file.write(&snapshot);
        progress
            .has_failed
            .store(written.is_err(), Ordering::Relaxed);
        progress.is_busy.store(false, Ordering::Release);
        let path = file.path().display();
        match written {
            Ok(()) if logged => {
                tracing::info!("{option} {path}: the {content} can be written again");
                logged = false;
            }
            Err(error) if is_last => {
                tracing::warn!("{option} {path}: {error}; the last {content} cannot be written");
            }
            Err(error) if !logged => {
                tracing::warn!("{option} {path}: {error}; {on_failure}");
                logged = true;
            }
            Ok(()) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::Barrier;
    use std::thread;

    /// Statistics whose serialization waits at a barrier.
    struct Slow(u32, Arc<Barrier>);

    impl Serialize for Slow {
        fn serialize<T: serde::Serializer>(&self, to: T) -> Result<T::Ok, T::Error> {
            self.1.wait();
            self.0.serialize(to)
        }
    }

    #[test]
    fn the_last_statistics_are_written_and_earlier_ones_never_block() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stats.json");
        let file = SnapshotFile::new(&path).unwrap();
        let mut writer = SnapshotWriter::start(file, Messages::STATS).unwrap();
        let gate = Arc::new(Barrier::new(2));
        // The first blocks in the thread, and those after it are dropped.
        for number in 0..100 {
            writer.submit(Slow(number, gate.clone()));
        }
        gate.wait();
        let opener = gate.clone();
        let last = thread::spawn(move || opener.wait());
        writer.finish(Slow(1000, gate));
        last.join().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1000\n");
    }

    #[test]
    fn a_file_that_can_no_longer_be_written_is_no_error() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let file = SnapshotFile::new(&folder.join("stats.json")).unwrap();
        let mut writer = SnapshotWriter::start(file, Messages::STATS).unwrap();
        fs::remove_dir(&folder).unwrap();
        assert_eq!(writer.state(), WriteState::Written);
        let write = |number| {
            writer.submit(number);
            while writer.state() == WriteState::Busy {
                thread::yield_now();
            }
            writer.state()
        };
        assert_eq!(write(1), WriteState::Failed);
        fs::create_dir(&folder).unwrap();
        assert_eq!(write(2), WriteState::Written);
        fs::remove_dir_all(&folder).unwrap();
        writer.finish(3);
        assert!(!folder.exists());
    }
}
