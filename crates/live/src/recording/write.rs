//! Writing a recording beside a node that must not wait for it.
//!
//! A thread of its own writes: a disk that others keep busy holds it up for long, and a node would be late by as much.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use polypath_session::record::{Entry, Recorder};

use super::{End, Line, RecordingHeader};
use crate::clock::Clock;
use crate::stats::{Kind, kind_of};
use crate::writer_thread::{PATIENCE, WriterThread};

/// Entries that wait to be written: a second and more of a busy node.
const WAITING: usize = 1 << 16;
/// How often what was written is given to the system.
const FLUSH: Duration = Duration::from_secs(1);
/// Readable for its owner alone: it tells when who sent how much.
const MODE: u32 = 0o600;

/// A recorder into the file `path`, which is replaced; fails where it cannot be written.
///
/// Where it cannot be written later, or not fast enough, that is told once and ends the recording, since one with a gap
/// would be of no use; the node goes on. What was recorded is complete in the file once the recorder is dropped,
/// unless the file takes nothing for long then ([`PATIENCE`]).
pub(crate) fn start(path: &Path, header: &RecordingHeader) -> io::Result<Recorder> {
    let mut file = BufWriter::new(open(path)?);
    line(&mut file, header)?;
    file.flush()?;
    let mut recording = Recording::start(file)?;
    Ok(Box::new(move |entry| recording.take(entry)))
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    match kind_of(path)? {
        Kind::File => {
            let file = options.create(true).mode(MODE).open(path)?;
            // One that was there may have been open to others, and is not any more before anything is in it.
            file.set_permissions(Permissions::from_mode(MODE))?;
            file.set_len(0)?;
            Ok(file)
        }
        Kind::Device => options.open(path),
        Kind::Fifo => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is a FIFO, whose reader could hold the node up",
        )),
    }
}

fn line(file: &mut impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *file, value)?;
    file.write_all(b"\n")
}

/// The end of a recording at which entries come in.
pub(super) struct Recording {
    entries: Option<SyncSender<Entry>>,
    /// Whether an entry is missing, so that what is written has no end.
    cut: Arc<AtomicBool>,
    thread: WriterThread,
}

impl Recording {
    /// Writes to `file` from now on.
    pub(super) fn start(file: impl Write + Send + 'static) -> io::Result<Self> {
        let (entries, waiting) = sync_channel(WAITING);
        let cut = Arc::<AtomicBool>::default();
        let is_cut = cut.clone();
        let work = move || {
            if let Err(error) = write(file, &waiting, &is_cut) {
                tracing::warn!("--record: {error}; the recording ends here, and the node goes on");
            }
        };
        Ok(Self {
            entries: Some(entries),
            cut,
            thread: WriterThread::start("recording", work)?,
        })
    }

    /// Never waits.
    pub(super) fn take(&mut self, entry: Entry) {
        let Some(entries) = &self.entries else { return };
        match entries.try_send(entry) {
            Ok(()) => return,
            Err(std::sync::mpsc::TrySendError::Full(_)) => {
                self.cut.store(true, Ordering::Release);
                tracing::warn!(
                    "--record: the file takes what is recorded too slowly; the recording ends here, and the node \
                     goes on"
                );
            }
            // Whoever wrote has told why it does not any more.
            Err(std::sync::mpsc::TrySendError::Disconnected(_)) => {}
        }
        self.entries = None;
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.entries = None;
        if !self.thread.await_end() {
            let seconds = PATIENCE.as_secs();
            tracing::warn!(
                "--record: what was recorded last is not in the file after {seconds} s; it is given up, and the \
                 recording has no end"
            );
        }
    }
}

/// Writes entries as they come until no more can; fails where the file does.
fn write(file: impl Write, waiting: &Receiver<Entry>, cut: &AtomicBool) -> io::Result<()> {
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
