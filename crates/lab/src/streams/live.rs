//! Live media from ffmpeg, and what a receiver got of it.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use polypath_core::connections::{PlayOut, PlayOutConfig, PlayOutInput};
use polypath_core::machine::Machine;
use polypath_core::time::Time;
use polypath_core::units::{Bytes, Rate};
use polypath_live::clock::Clock;
use tokio::io::AsyncWrite;
use tokio::net::unix::pipe;

/// The time from the start of a stream until its media begins: receivers of live media get what comes
/// after they have connected.
const LEAD: Duration = Duration::from_secs(2);

/// A clip that ffmpeg sends as MPEG-TS in real time.
#[derive(Clone, Debug)]
pub(super) struct LiveClip {
    path: PathBuf,
    pub(super) rate: Rate,
}

/// A process that ends with this value.
pub(super) struct Ffmpeg(Child);

impl Ffmpeg {
    /// Waits for its end after that of its output; fails if it did.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let status = self.0.wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("ffmpeg: {status}")))
        }
    }
}

impl Drop for Ffmpeg {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl LiveClip {
    /// `rate` is that of the multiplex.
    pub(super) fn new(path: &Path, rate: Rate) -> Self {
        Self {
            path: path.to_owned(),
            rate,
        }
    }

    /// Starts ffmpeg after [`LEAD`], and returns its output.
    pub(super) async fn start(&self) -> io::Result<(Ffmpeg, pipe::Receiver)> {
        tokio::time::sleep(LEAD).await;
        let mut input = vec![OsString::from("-re"), "-i".into()];
        input.push(self.path.clone().into());
        let rate = self.rate.0.to_string();
        let output = ["-c", "copy", "-f", "mpegts", "-muxrate", &rate, "pipe:1"];
        let mut ffmpeg = Command::new("ffmpeg")
            .args(["-nostdin", "-loglevel", "error"])
            .args(input)
            .args(output)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map(Ffmpeg)
            .map_err(|error| io::Error::other(format!("starting ffmpeg: {error}")))?;
        let output = ffmpeg.0.stdout.take();
        let output = output.ok_or_else(|| io::Error::other("ffmpeg has no output"))?;
        Ok((
            ffmpeg,
            pipe::Receiver::from_owned_fd(OwnedFd::from(output))?,
        ))
    }
}

/// The bytes of a stream, and when they came.
#[derive(Clone, Debug)]
pub(super) struct Recording(Arc<Mutex<Recorded>>);

#[derive(Debug)]
struct Recorded {
    clock: Clock,
    bytes: Vec<u8>,
    /// The time of each piece, and its length.
    pieces: Vec<(Time, usize)>,
}

impl Default for Recording {
    /// Starts now.
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Recorded {
            clock: Clock::starting_now(),
            bytes: Vec::new(),
            pieces: Vec::new(),
        })))
    }
}

impl Recording {
    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        std::mem::take(&mut self.lock().bytes)
    }

    /// The rate of each whole second of `span`, in bits per second.
    pub(super) fn throughput(&self, span: Duration) -> Vec<f64> {
        let mut seconds = vec![0.0; usize::try_from(span.as_secs()).unwrap_or(usize::MAX)];
        for (at, length) in &self.lock().pieces {
            let second = usize::try_from(at.0 / 1_000_000_000).unwrap_or(usize::MAX);
            if let Some(rate) = seconds.get_mut(second) {
                *rate += *length as f64 * 8.0;
            }
        }
        seconds
    }

    /// The stops of a player of media of this rate that gets these bytes.
    pub(super) fn stops(&self, rate: Rate, play_out: PlayOutConfig) -> u32 {
        let mut player = PlayOut::new(play_out, rate);
        for (at, length) in &self.lock().pieces {
            let arrived = PlayOutInput::Arrived(Bytes(*length as u64));
            player.handle_input(*at, arrived, &mut |_| {});
        }
        player.stops()
    }
}

impl AsyncWrite for Recording {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut recorded = self.lock();
        let at = recorded.clock.now();
        recorded.bytes.extend_from_slice(bytes);
        recorded.pieces.push((at, bytes.len()));
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
