//! The output of a receiver.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use nix::unistd::AccessFlags;
use tokio::fs::File;
use tokio::io::{AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::net::UdpSocket;

use crate::source::PAYLOAD;

/// The bytes that are written to a file or a pipe at once.
const CHUNK: usize = 16 * PAYLOAD;

/// The output of a receiver.
pub struct Sink(Kind);

enum Kind {
    /// A file that is created with the first packet.
    NewFile(PathBuf),
    Bytes(BufWriter<Box<dyn AsyncWrite + Send + Unpin>>),
    Datagrams(UdpSocket),
}

impl Sink {
    /// Writes to standard output.
    #[must_use]
    pub fn stdout() -> Self {
        Self::bytes(tokio::io::stdout())
    }

    /// Writes to a new file, which is created with the first packet; or to a device.
    ///
    /// # Errors
    /// Fails if there is such a file, or no such folder, or one that cannot be written, or if the
    /// device cannot be opened.
    pub async fn create(path: &Path) -> io::Result<Self> {
        match tokio::fs::metadata(path).await {
            Ok(known) if known.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(known) if known.is_file() => Err(io::ErrorKind::AlreadyExists.into()),
            Ok(_) => {
                let device = File::options().write(true).open(path).await;
                device.map(Self::bytes)
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Err(_) if path.file_name().is_none() => Err(io::ErrorKind::InvalidInput.into()),
            Err(_) => {
                let folder = path
                    .parent()
                    .filter(|folder| !folder.as_os_str().is_empty());
                let folder = folder.unwrap_or(Path::new("."));
                if !tokio::fs::metadata(folder).await?.is_dir() {
                    return Err(io::ErrorKind::NotADirectory.into());
                }
                nix::unistd::access(folder, AccessFlags::W_OK | AccessFlags::X_OK)?;
                Ok(Self(Kind::NewFile(path.to_owned())))
            }
        }
    }

    /// Writes to anything.
    pub fn bytes(output: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self(Kind::Bytes(BufWriter::with_capacity(
            CHUNK,
            Box::new(output),
        )))
    }

    /// Sends each packet as a datagram to this address.
    ///
    /// # Errors
    /// Fails if there is no route to it.
    pub async fn datagrams(to: SocketAddr) -> io::Result<Self> {
        let any: SocketAddr = match to {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(any).await?;
        socket.connect(to).await?;
        Ok(Self(Kind::Datagrams(socket)))
    }

    async fn create_file(&mut self) -> io::Result<()> {
        if let Kind::NewFile(path) = &self.0 {
            *self = Self::bytes(File::create_new(path).await?);
        }
        Ok(())
    }

    /// Writes a packet; waits while the output accepts no more.
    pub(crate) async fn write(&mut self, packet: &Bytes) -> io::Result<()> {
        self.create_file().await?;
        match &mut self.0 {
            Kind::NewFile(_) => Ok(()),
            Kind::Bytes(output) => output.write_all(packet).await,
            Kind::Datagrams(socket) => match socket.send(packet).await {
                // No player listens yet, or no more.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
                result => result.map(|_| ()),
            },
        }
    }

    /// Writes what is buffered, and ends the output.
    pub(crate) async fn close(&mut self) -> io::Result<()> {
        // An empty stream is an empty file.
        self.create_file().await?;
        match &mut self.0 {
            Kind::Bytes(output) => output.shutdown().await,
            Kind::NewFile(_) | Kind::Datagrams(_) => Ok(()),
        }
    }

    /// Writes what is buffered: after each group of packets, since a player waits for them.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Bytes(output) => output.flush().await,
            Kind::NewFile(_) | Kind::Datagrams(_) => Ok(()),
        }
    }
}
