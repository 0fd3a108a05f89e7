//! The client's side of a service that is reached over several connections.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt;
use polypath_core::connections::wire::{ReceiverMessage, Refusal, SenderMessage, StreamId};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::time::timeout;

use crate::channel::{FromSender, Reader, Transport, Writer};
use crate::receive::{ReceiveConfig, ReceiveError, new_stream, receive_named};
use crate::sink::Sink;

/// The time in which the other end has to answer; then it is taken for one that knows nothing of
/// this.
const ANSWER: Duration = Duration::from_secs(1);
/// The bytes of a client that are passed on at once.
const CHUNK: usize = 1 << 14;

/// A connection to a service that the other end has accepted.
pub struct WrappedConnection {
    config: ReceiveConfig,
    stream: StreamId,
    reader: Reader<FromSender>,
    writer: Writer,
}

impl WrappedConnection {
    /// Asks the program at `config.server` for the service at `port` on its host; `None` if it does
    /// not answer, or has no such service.
    ///
    /// # Errors
    /// If the random source of the system fails.
    pub async fn open(config: ReceiveConfig, port: u16) -> Result<Option<Self>, getrandom::Error> {
        let stream = new_stream()?;
        let opened = timeout(ANSWER, ask(config.server, stream, port)).await;
        Ok(match opened {
            Ok(Ok(Some((reader, writer)))) => Some(Self {
                config,
                stream,
                reader,
                writer,
            }),
            Ok(Ok(None) | Err(_)) | Err(_) => None,
        })
    }

    /// Carries the bytes between `program` and the service until both directions have ended.
    ///
    /// # Errors
    /// If the stream from the service fails.
    pub async fn carry(self, program: TcpStream) -> Result<(), ReceiveError> {
        let Self {
            config,
            stream,
            reader,
            writer,
        } = self;
        let (from_program, to_program) = program.into_split();
        let upload = tokio::spawn(upload(from_program, writer));
        // Its end is the end of the program's input.
        let received = receive_named(config, stream, Sink::bytes(to_program), |_| {}).await;
        if received.is_err() {
            upload.abort();
        } else {
            // The program may still send.
            let _ = upload.await;
        }
        drop(reader);
        received.map(|_| ())
    }
}

type Opened = (Reader<FromSender>, Writer);

async fn ask(server: SocketAddr, stream: StreamId, port: u16) -> io::Result<Option<Opened>> {
    let connection = TcpStream::connect(server).await?;
    connection.set_nodelay(true)?;
    let (mut reader, mut writer) = Transport::insecure(connection).split::<FromSender>();
    let open = ReceiverMessage::Open { stream, port };
    writer.write(|to| open.encode(to)).await?;
    Ok(match reader.next().await {
        Some(Ok(SenderMessage::Welcome { .. })) => Some((reader, writer)),
        Some(Ok(SenderMessage::Refusal(refusal))) => {
            report(server, port, refusal);
            None
        }
        _ => None,
    })
}

fn report(server: SocketAddr, port: u16, refusal: Refusal) {
    tracing::info!(%server, port, "one connection is used: {refusal}");
}

/// Passes the bytes of the program on, and their end.
async fn upload(mut program: OwnedReadHalf, mut writer: Writer) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let len = program.read(&mut chunk).await?;
        if len == 0 {
            return writer.shutdown().await;
        }
        writer
            .write(|to| to.extend_from_slice(&chunk[..len]))
            .await?;
    }
}
