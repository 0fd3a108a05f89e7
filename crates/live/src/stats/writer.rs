//! A thread that writes statistics for a thread that must not block on a disk.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use serde::Serialize;

use super::StatsFile;
use crate::writer_thread::{PATIENCE, WriterThread};

/// The handle of a thread that writes statistics to a file.
#[derive(Debug)]
pub(crate) struct StatsWriter<S> {
    sender: Option<Sender<Submission<S>>>,
    /// Whether the thread has not yet written the last submission.
    busy: Arc<AtomicBool>,
    thread: WriterThread,
    name: String,
}

#[derive(Debug)]
struct Submission<S> {
    stats: S,
    is_last: bool,
}

impl<S: Serialize + Send + 'static> StatsWriter<S> {
    /// Starts the thread for `file`; warnings name the `owner` of the statistics.
    pub(crate) fn start(file: StatsFile, owner: &'static str) -> io::Result<Self> {
        let (sender, submissions) = mpsc::channel();
        let busy = Arc::new(AtomicBool::new(false));
        let name = file.path().display().to_string();
        let is_busy = busy.clone();
        let work = move || write(&file, owner, &submissions, &is_busy);
        Ok(Self {
            sender: Some(sender),
            busy,
            thread: WriterThread::start("statistics", work)?,
            name,
        })
    }

    /// Submits statistics, or drops them if the last ones are not written yet; never blocks.
    pub(crate) fn submit(&self, stats: S) {
        if !self.busy.swap(true, Ordering::AcqRel) {
            self.send(stats, false);
        }
    }

    /// Submits the last statistics and waits until they are written or given up.
    pub(crate) fn finish(&mut self, stats: S) {
        self.send(stats, true);
        self.sender = None;
        if !self.thread.await_end() {
            let seconds = PATIENCE.as_secs();
            tracing::warn!(
                "--stats {}: the last statistics are not written within {seconds} s; giving up",
                self.name
            );
        }
    }

    fn send(&self, stats: S, is_last: bool) {
        if let Some(sender) = &self.sender {
            // A panic message of the thread is already on standard error.
            let _ = sender.send(Submission { stats, is_last });
        }
    }
}

/// Writes submissions until the channel closes; a failure is logged once until the next success,
/// and at the end.
fn write<S: Serialize>(
    file: &StatsFile,
    owner: &str,
    submissions: &Receiver<Submission<S>>,
    busy: &AtomicBool,
) {
    let mut logged = false;
    while let Ok(Submission { stats, is_last }) = submissions.recv() {
        let written = file.write(&stats);
        busy.store(false, Ordering::Release);
        let path = file.path().display();
        match written {
            Ok(()) => logged = false,
            Err(error) if is_last => {
                tracing::warn!("--stats {path}: {error}; the last statistics are not written");
            }
            Err(error) if !logged => {
                tracing::warn!(
                    "--stats {path}: {error}; {owner} continues and retries each second"
                );
                logged = true;
            }
            Err(_) => {}
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
        let file = StatsFile::new(&path).unwrap();
        let mut writer = StatsWriter::start(file, "the test").unwrap();
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
        let file = StatsFile::new(&folder.join("stats.json")).unwrap();
        let mut writer = StatsWriter::start(file, "the test").unwrap();
        fs::remove_dir(&folder).unwrap();
        writer.submit(1);
        writer.finish(2);
        assert!(!folder.exists());
    }
}
