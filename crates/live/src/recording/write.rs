//! Writes recordings on a thread of its own: a busy disk must not delay the machine.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use polypath_session::record::Recorder;
use serde::Serialize;

use super::{End, Line, RecordingHeader};
use crate::clock::Clock;
use crate::output_file::{self, Kind, Readers, kind_of, refusal};
use crate::writer_thread::{PATIENCE, WriterThread};

/// The length of the queue in entries: more than a second of a busy node, and a third of one of a stream
/// of 2 Gbit/s.
const QUEUE: usize = 1 << 16;
/// The interval at which buffered lines are written to the file.
const FLUSH: Duration = Duration::from_secs(1);
/// A recording has the times and lengths of all packets.
const READERS: Readers = Readers::Owner;

/// A recorder to the file `path`, which is replaced; fails if it cannot be written.
///
/// A later error, or a file that is too slow, is logged once and ends the recording, since one with
/// a gap is useless; the program continues. Dropping the recorder waits until all entries are written,
/// at most 5 s.
///
/// # Errors
/// The file cannot be written, or is a FIFO.
pub fn start<E: Serialize + Send + 'static>(
    path: &Path,
    header: &RecordingHeader,
) -> io::Result<Recorder<E>> {
    let mut file = BufWriter::new(open(path)?);
    line(&mut file, header)?;
    file.flush()?;
    let mut recording = Recording::start(file)?;
    Ok(Box::new(move |entry| recording.take(entry)))
}

fn open(path: &Path) -> io::Result<File> {
    match kind_of(path)? {
        Kind::File => output_file::create(path, READERS),
        Kind::Device => OpenOptions::new().write(true).open(path),
        Kind::Fifo => Err(refusal(
            "this is a FIFO, whose reader could delay the recorded program",
        )),
    }
}

fn line(file: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *file, value)?;
    file.write_all(b"\n")
}

/// The queue of entries to the writer.
pub(super) struct Recording<E> {
    entries: Option<SyncSender<E>>,
    /// Whether an entry was dropped, so that the file gets no end.
    cut: Arc<AtomicBool>,
    thread: WriterThread,
}

impl<E: Serialize + Send + 'static> Recording<E> {
    /// Starts a thread that writes to `file`.
    pub(super) fn start(file: impl Write + Send + 'static) -> io::Result<Self> {
        let (entries, waiting) = sync_channel(QUEUE);
        let cut = Arc::<AtomicBool>::default();
        let is_cut = cut.clone();
        let work = move || {
            if let Err(error) = write(file, &waiting, &is_cut) {
                tracing::warn!(
                    "--record: {error}; the recording ends here, and the program continues"
                );
            }
        };
        Ok(Self {
            entries: Some(entries),
            cut,
            thread: WriterThread::start("recording", work)?,
        })
    }

    /// Queues an entry without blocking.
    pub(super) fn take(&mut self, entry: E) {
        let Some(entries) = &self.entries else { return };
        match entries.try_send(entry) {
            Ok(()) => return,
            Err(std::sync::mpsc::TrySendError::Full(_)) => {
                self.cut.store(true, Ordering::Release);
                tracing::warn!(
                    "--record: the file is too slow; the recording ends here, and the program continues"
                );
            }
            // The writer has logged its error.
            Err(std::sync::mpsc::TrySendError::Disconnected(_)) => {}
        }
        self.entries = None;
    }
}

impl<E> Drop for Recording<E> {
    fn drop(&mut self) {
        self.entries = None;
        if !self.thread.await_end() {
            let seconds = PATIENCE.as_secs();
            tracing::warn!(
                "--record: the last entries are not written after {seconds} s; the recording has no end"
            );
        }
    }
}

/// Writes the entries of the queue until it is closed; returns the first error of the file.
fn write<E: Serialize>(
    file: impl Write,
    waiting: &Receiver<E>,
    cut: &AtomicBool,
) -> io::Result<()> {
    let clock = Clock::starting_now();
    let mut file = BufWriter::new(file);
    let mut flushed = clock.now();
    // The header is the first.
    let mut number = 2;
    loop {
        match waiting.recv_timeout(FLUSH) {
            Ok(entry) => {
                line(&mut file, &Line { number, entry })?;
                number += 1;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                if !cut.load(Ordering::Acquire) {
                    line(&mut file, &End { end: number })?;
                }
                return file.flush();
            }
        }
        let now = clock.now();
        if now.since(flushed).as_nanos() >= 1_000_000_000 {
            file.flush()?;
            flushed = now;
        }
    }
}
