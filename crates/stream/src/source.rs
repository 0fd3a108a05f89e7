//! The source of a server: a file, or live bytes that all receivers get as they come.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use ring::digest::{SHA256, digest};
use tokio::sync::mpsc;

use crate::live_source::{LivePosition, LiveSource};
use crate::services::Services;

/// The bytes of a packet: seven packets of MPEG-TS, as players expect in a datagram.
pub const PAYLOAD: usize = 7 * 188;

/// The source of a server.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file, of which each receiver gets all.
    File(FileSource),
    /// Live bytes, of which each receiver gets what comes after its start.
    Live(LiveSource),
    /// Services on this host, to which receivers connect.
    Services(Services),
}

/// A file that does not change while it is served.
#[derive(Clone, Debug)]
pub struct FileSource {
    file: Arc<File>,
    len: u64,
    identity: u64,
}

/// A position in a source, from which a receiver gets its packets.
#[derive(Debug)]
pub(crate) enum Position {
    File {
        source: FileSource,
        next: u64,
    },
    Live(LivePosition),
    /// The bytes of one connection to a service.
    Service(mpsc::Receiver<io::Result<Bytes>>),
}

/// The error of a source that has no next packet.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    /// The file cannot be read.
    #[error("reading the source: {0}")]
    Io(#[from] io::Error),
    /// The file is shorter than at the start.
    #[error("the source was truncated while it was served")]
    Truncated,
    /// The receiver was too slow: its next packet is gone.
    #[error("the receiver is behind the live source by more than is kept")]
    TooSlow,
    /// The live source failed.
    #[error("the live source failed")]
    Failed,
    /// The server was stopped.
    #[error("the server was stopped")]
    Stopped,
    /// The server was stopped, and waits no longer for this receiver.
    #[error("the server was stopped before the receiver had the rest")]
    Cut,
}

impl Source {
    /// A number that another source has not: a receiver that continues must find the same bytes.
    pub(crate) fn identity(&self) -> u64 {
        match self {
            Self::File(file) => file.identity,
            Self::Live(live) => live.identity(),
            // A receiver that returns names its stream.
            Self::Services(_) => 1,
        }
    }

    /// The position after the first `received` packets; `None` if the source does not have them.
    pub(crate) fn position(&self, received: u64) -> Option<Position> {
        match self {
            Self::File(source) => (received <= source.packets()).then(|| Position::File {
                source: source.clone(),
                next: received,
            }),
            // What a receiver of an earlier server received has no position here.
            Self::Live(source) => (received == 0).then(|| Position::Live(source.subscribe())),
            // Its streams begin with the connection to a service.
            Self::Services(_) => None,
        }
    }
}

impl FileSource {
    /// Opens a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, and for anything but a regular file.
    pub fn open(path: &Path) -> io::Result<Self> {
        // To open a named pipe would wait for its writer.
        if !path.metadata()?.is_file() {
            return Err(io::Error::other("is no regular file"));
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let version = [
            metadata.len(),
            metadata.ino(),
            metadata.mtime().cast_unsigned(),
            metadata.mtime_nsec().cast_unsigned(),
        ];
        let bytes: Vec<u8> = version.into_iter().flat_map(u64::to_be_bytes).collect();
        let hash = digest(&SHA256, &bytes);
        let first = hash.as_ref().first_chunk().copied().unwrap_or_default();
        Ok(Self {
            file: Arc::new(file),
            len: metadata.len(),
            // 0 stands for an unknown source.
            identity: u64::from_be_bytes(first).max(1),
        })
    }

    /// The number of packets.
    fn packets(&self) -> u64 {
        self.len.div_ceil(PAYLOAD as u64)
    }

    /// Reads packet `index`, from 0. Reads block for as long as the disk takes.
    fn read(&self, index: u64) -> Result<Bytes, SourceError> {
        let start = index * PAYLOAD as u64;
        let len = usize::try_from(self.len - start).unwrap_or(usize::MAX);
        let mut bytes = BytesMut::zeroed(len.min(PAYLOAD));
        match self.file.read_exact_at(&mut bytes, start) {
            Ok(()) => Ok(bytes.freeze()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(SourceError::Truncated)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Position {
    /// The next packet, once there is one; `None` at the end of the source.
    ///
    /// Can be cancelled: no packet is lost.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        match self {
            Self::File { source, next } if *next < source.packets() => {
                let packet = source.read(*next)?;
                *next += 1;
                Ok(Some(packet))
            }
            Self::File { .. } => Ok(None),
            Self::Live(position) => position.next().await,
            Self::Service(packets) => Ok(packets.recv().await.transpose()?),
        }
    }

    /// The error once the next packet is gone, since live media went on without this receiver.
    pub(crate) async fn behind(&mut self) -> SourceError {
        match self {
            Self::Live(position) => position.behind().await,
            Self::File { .. } | Self::Service(_) => std::future::pending().await,
        }
    }
}
