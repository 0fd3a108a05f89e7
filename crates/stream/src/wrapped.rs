//! The client's side of a service that is reached over several connections.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use futures_util::StreamExt;
use polypath_core::connections::wire::{ReceiverMessage, Refusal, SenderMessage, StreamId};
use tokio::io::{AsyncReadExt, ReadHalf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::channel::{FromSender, Reader, Transport, Writer};
use crate::receive::{ReceiveConfig, ReceiveError, new_stream, receive_named};
use crate::sink::Sink;
use crate::socket::{connect, reset_when_dropped};

/// The time in which the other end has to answer; then it is taken for one that knows nothing of
/// this.
const ANSWER: Duration = Duration::from_secs(1);
/// The bytes of a client that are passed on at once.
const CHUNK: usize = 1 << 14;

/// The answer of the other end.
pub enum Asked {
    /// It has the service.
    Accepted(Box<WrappedConnection>),
    /// It answers, and has no such service, or no room.
    Refused,
    /// It does not answer, or is another program.
    Silent,
}

/// A connection to a service that the other end has accepted.
pub struct WrappedConnection {
    config: ReceiveConfig,
    stream: StreamId,
    reader: Reader<FromSender>,
    writer: Writer,
}

impl WrappedConnection {
    /// Asks the program at `config.server` for the service at `port` on its host.
    ///
    /// # Errors
    /// If the random source of the system fails.
    pub async fn open(config: ReceiveConfig, port: u16) -> Result<Asked, getrandom::Error> {
        let stream = new_stream()?;
        let answer = timeout(ANSWER, ask(config.server, stream, port)).await;
        Ok(match answer {
            Ok(Ok(Answer::Welcome(reader, writer))) => Asked::Accepted(Box::new(Self {
                config,
                stream,
                reader,
                writer,
            })),
            Ok(Ok(Answer::Refusal(refusal))) => {
                tracing::info!(server = %config.server, port, "one connection is used: {refusal}");
                Asked::Refused
            }
            Ok(Ok(Answer::Other) | Err(_)) | Err(_) => Asked::Silent,
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
        let handle = program.as_fd().try_clone_to_owned();
        let (from_program, to_program) = tokio::io::split(program);
        let mut upload = AbortOnDropHandle::new(tokio::spawn(upload(from_program, writer)));
        let mut is_uploaded = false;
        // The program may have reset the connection: then it reads nothing more.
        let upload_fails = async {
            let uploaded = (&mut upload).await;
            is_uploaded = true;
            if let Ok(Ok(())) = uploaded {
                std::future::pending::<()>().await;
            }
        };
        // Its end is the end of the program's input.
        let sink = Sink::bytes(to_program);
        let received = receive_named(config, stream, sink, upload_fails, |_| {}).await;
        match (&received, &handle) {
            (Ok(_), _) if is_uploaded => {}
            // The program may still send.
            (Ok(_), _) => drop(upload.await),
            // An end would make what came look like all there is.
            (Err(_), Ok(handle)) => reset_when_dropped(handle),
            (Err(_), Err(_)) => {}
        }
        drop(reader);
        received.map(|_| ())
    }
}

/// The first message of the other end.
enum Answer {
    Welcome(Reader<FromSender>, Writer),
    Refusal(Refusal),
    Other,
}

async fn ask(server: SocketAddr, stream: StreamId, port: u16) -> io::Result<Answer> {
    let connection = connect(server).await?;
    let (mut reader, mut writer) = Transport::insecure(connection).split::<FromSender>();
    let open = ReceiverMessage::Open { stream, port };
    writer.write(|to| open.encode(to)).await?;
    Ok(match reader.next().await {
        Some(Ok(SenderMessage::Welcome { .. })) => Answer::Welcome(reader, writer),
        Some(Ok(SenderMessage::Refusal(refusal))) => Answer::Refusal(refusal),
        _ => Answer::Other,
    })
}

/// Passes the bytes of the program on, and their end.
async fn upload(mut program: ReadHalf<TcpStream>, mut writer: Writer) -> io::Result<()> {
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
