//! Writing statistics beside a thread that must not wait for a disk.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use serde::Serialize;

use super::StatsFile;
use crate::writer_thread::{PATIENCE, WriterThread};

/// The end at which counters come in of a thread that writes them to a file.
#[derive(Debug)]
pub(crate) struct StatsWriter<S> {
    counted: Option<Sender<Counted<S>>>,
    /// Whether the thread has counters that it has not yet written.
    busy: Arc<AtomicBool>,
    thread: WriterThread,
    name: String,
}

#[derive(Debug)]
struct Counted<S> {
    stats: S,
    is_last: bool,
}

impl<S: Serialize + Send + 'static> StatsWriter<S> {
    /// Writes to `file` from now on; `whose` they are is told where that fails.
    pub(crate) fn start(file: StatsFile, whose: &'static str) -> io::Result<Self> {
        let (counted, waiting) = mpsc::channel();
        let busy = Arc::new(AtomicBool::new(false));
        let name = file.path().display().to_string();
        let is_busy = busy.clone();
        let work = move || write(&file, whose, &waiting, &is_busy);
        Ok(Self {
            counted: Some(counted),
            busy,
            thread: WriterThread::start("statistics", work)?,
            name,
        })
    }

    /// Writes what was counted, unless what came before is not yet written; never waits.
    pub(crate) fn take(&self, stats: S) {
        if !self.busy.swap(true, Ordering::AcqRel) {
            self.send(stats, false);
        }
    }

    /// Writes what was counted last, and waits until that is done, or was in vain.
    pub(crate) fn finish(&mut self, stats: S) {
        self.send(stats, true);
        self.counted = None;
        if !self.thread.await_end() {
            let seconds = PATIENCE.as_secs();
            tracing::warn!(
                "--stats {}: the last statistics are not there after {seconds} s; they are given up",
                self.name
            );
        }
    }

    fn send(&self, stats: S, is_last: bool) {
        if let Some(counted) = &self.counted {
            // What the thread panicked of is on standard error.
            let _ = counted.send(Counted { stats, is_last });
        }
    }
}

/// Writes what comes until nothing more can; a failure is told once, until it was overcome, and at the end.
fn write<S: Serialize>(
    file: &StatsFile,
    whose: &str,
    waiting: &Receiver<Counted<S>>,
    busy: &AtomicBool,
) {
    let mut told = false;
    while let Ok(Counted { stats, is_last }) = waiting.recv() {
        let written = file.write(&stats);
        busy.store(false, Ordering::Release);
        let path = file.path().display();
        match written {
            Ok(()) => told = false,
            Err(error) if is_last => {
                tracing::warn!("--stats {path}: {error}; the last statistics are not written");
            }
            Err(error) if !told => {
                tracing::warn!(
                    "--stats {path}: {error}; {whose} goes on, and tries again each second"
                );
                told = true;
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

    /// Counters that are written when somebody else comes to the barrier.
    struct Slow(u32, Arc<Barrier>);

    impl Serialize for Slow {
        fn serialize<T: serde::Serializer>(&self, to: T) -> Result<T::Ok, T::Error> {
            self.1.wait();
            self.0.serialize(to)
        }
    }

    #[test]
    fn the_last_is_written_and_nobody_waits_for_those_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stats.json");
        let file = StatsFile::new(&path).unwrap();
        let mut writer = StatsWriter::start(file, "the test").unwrap();
        let gate = Arc::new(Barrier::new(2));
        // The first is held up, and those after it are passed over.
        for number in 0..100 {
            writer.take(Slow(number, gate.clone()));
        }
        gate.wait();
        let opener = gate.clone();
        let last = thread::spawn(move || opener.wait());
        writer.finish(Slow(1000, gate));
        last.join().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1000\n");
    }

    #[test]
    fn a_file_that_cannot_be_written_any_more_ends_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let file = StatsFile::new(&folder.join("stats.json")).unwrap();
        let mut writer = StatsWriter::start(file, "the test").unwrap();
        fs::remove_dir(&folder).unwrap();
        writer.take(1);
        writer.finish(2);
        assert!(!folder.exists());
    }
}
