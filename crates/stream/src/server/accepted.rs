//! One connection of a server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use polypath_core::connections::ServedInput;
use polypath_core::connections::wire::{
    Hello, MessageError, ReceiverMessage, Refusal, SenderMessage, StreamId,
};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::{HANDSHAKE, ServerSecurity, Shared, StreamHandle, service};
use crate::channel::{ChannelError, FromSender, Reader, Transport, Writer};
use crate::security::OtherKey;
use crate::stream_task::{MESSAGES, MessageQueue, StreamEvent};

/// The time after the end of its stream that a receiver has to end a connection.
const LINGER: Duration = Duration::from_mins(1);

/// Authenticates a connection, which another task then carries: this one may be aborted.
pub(super) async fn open(shared: Arc<Shared>, stream: TcpStream, peer: SocketAddr) {
    let Ok(local) = stream.local_addr().map(|local| local.ip()) else {
        // It has ended.
        return;
    };
    let opened = match timeout(HANDSHAKE, authenticate(&shared, stream)).await {
        Ok(opened) => opened,
        Err(_) => Err(OpenError::Late),
    };
    let (first, reader, writer) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            shared.counters.rejected.fetch_add(1, Ordering::Relaxed);
            let other_key = match &error {
                OpenError::Channel(ChannelError::Io(error)) => OtherKey::of(error),
                _ => None,
            };
            if let Some(key) = other_key {
                tracing::info!(%peer, "a receiver is not admitted: {key}");
            } else {
                tracing::debug!(%peer, "a connection was rejected: {error}");
            }
            return;
        }
    };
    let of_task = Arc::clone(&shared);
    shared.spawn(async move {
        match first {
            First::Hello(hello) => attach(of_task, hello, reader, writer, peer).await,
            First::Open { stream, port } => {
                let connected = service::Connecting {
                    shared: of_task,
                    stream,
                    port,
                    peer,
                    local,
                };
                connected.carry(reader, writer).await;
            }
        }
    });
}

/// The error of a connection without a hello.
#[derive(Debug, thiserror::Error)]
enum OpenError {
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error("it ended, or its first message was another than a hello")]
    NoHello,
    #[error("no hello within {} s", HANDSHAKE.as_secs())]
    Late,
}

impl From<std::io::Error> for OpenError {
    fn from(error: std::io::Error) -> Self {
        Self::Channel(error.into())
    }
}

/// The first message of a connection.
enum First {
    Hello(Hello),
    Open { stream: StreamId, port: u16 },
}

type Opened = (First, Reader<ReceiverMessage>, Writer);

async fn authenticate(shared: &Shared, stream: TcpStream) -> Result<Opened, OpenError> {
    let transport = match &shared.config.security {
        ServerSecurity::Tls(config) => Transport::accept(stream, Arc::clone(config)).await?,
        ServerSecurity::Insecure => Transport::insecure(stream),
    };
    let (mut reader, mut writer) = transport.split::<ReceiverMessage>();
    loop {
        return match reader.next().await {
            Some(Ok(ReceiverMessage::Failed { stream, connection })) => {
                if let Some(known) = shared.known(&stream) {
                    known.fail(connection).await;
                }
                continue;
            }
            Some(Ok(ReceiverMessage::Hello(hello))) => Ok((First::Hello(hello), reader, writer)),
            Some(Ok(ReceiverMessage::Open { stream, port })) => {
                Ok((First::Open { stream, port }, reader, writer))
            }
            Some(Err(error)) => {
                // A receiver with keys sees by this that the server does not encrypt.
                if matches!(
                    error,
                    ChannelError::Message(MessageError::Version(_)) | ChannelError::Encrypted
                ) {
                    refuse(&mut writer, Refusal::Version).await;
                }
                Err(error.into())
            }
            Some(Ok(_)) | None => Err(OpenError::NoHello),
        };
    }
}

pub(super) async fn refuse(writer: &mut Writer, refusal: Refusal) {
    let message = SenderMessage::<Bytes>::Refusal(refusal);
    // The connection ends in any case.
    let _ = writer.write(|to| message.encode(to)).await;
    let _ = writer.shutdown().await;
}

async fn attach(
    shared: Arc<Shared>,
    hello: Hello,
    reader: Reader<ReceiverMessage>,
    mut writer: Writer,
    peer: SocketAddr,
) {
    let stream = match shared.stream(&hello) {
        Ok(stream) => stream,
        Err(refusal) => {
            shared.counters.refused.fetch_add(1, Ordering::Relaxed);
            if refusal == Refusal::Connections {
                // The receiver tries again.
                tracing::debug!(%peer, "a connection was refused: {refusal}");
            } else {
                tracing::info!(%peer, "a connection was refused: {refusal}");
            }
            return refuse(&mut writer, refusal).await;
        }
    };
    tracing::debug!(%peer, connection = hello.connection, "a connection was added");
    let carrying = &shared.counters.connections;
    carrying.fetch_add(1, Ordering::Relaxed);
    let end = carry(&shared, &stream, &hello, reader, writer).await;
    carrying.fetch_sub(1, Ordering::Relaxed);
    // What was named has left already, and its number may be that of another by now.
    if !matches!(end, CarryEnd::Named) {
        stream.remove(hello.connection);
    }
}

/// The reason for which a connection carries a stream no more.
enum CarryEnd {
    /// Either has ended.
    Ended,
    /// The receiver has named the connection as failed.
    Named,
}

/// Carries a stream on a connection until either ends.
async fn carry(
    shared: &Arc<Shared>,
    stream: &StreamHandle,
    hello: &Hello,
    reader: Reader<ReceiverMessage>,
    writer: Writer,
) -> CarryEnd {
    let connection = hello.connection;
    let (messages, queue) = mpsc::channel(MESSAGES);
    let (stop, stopped) = oneshot::channel();
    let attached = StreamEvent::Attached {
        connection,
        received: hello.received,
        queue: MessageQueue::new(messages, stop),
    };
    if stream.events.send(attached).await.is_err() {
        // The stream has just ended; the receiver tries again.
        return CarryEnd::Ended;
    }
    let of_stream = stream.clone();
    let writing = tokio::spawn(write(
        Arc::clone(shared),
        connection,
        queue,
        writer,
        of_stream,
    ));
    // A writer whose peer is gone would wait for the time-out of TCP.
    let _writing = AbortOnDropHandle::new(writing);
    let over = async {
        stream.events.closed().await;
        sleep(LINGER).await;
    };
    let in_order = tokio::select! {
        in_order = read(hello, reader, stream) => in_order,
        () = over => false,
        Ok(()) = stopped => return CarryEnd::Named,
    };
    let ended = ServedInput::Ended {
        connection,
        in_order,
    };
    stream.send(ended).await;
    CarryEnd::Ended
}

/// Passes the messages of the receiver on; returns whether it ended the connection in order.
async fn read(hello: &Hello, mut reader: Reader<ReceiverMessage>, stream: &StreamHandle) -> bool {
    let connection = hello.connection;
    loop {
        let input = match reader.next().await {
            Some(Ok(ReceiverMessage::Progress(progress))) => ServedInput::Progress {
                connection,
                progress,
            },
            Some(Ok(ReceiverMessage::Closing)) => ServedInput::Closing(connection),
            Some(Ok(ReceiverMessage::Leaving)) => ServedInput::Leaving,
            Some(Ok(ReceiverMessage::Failed {
                stream: name,
                connection,
            })) if name == hello.stream => {
                stream.fail(connection).await;
                continue;
            }
            None => return true,
            // Others do not come after a hello.
            Some(_) => return false,
        };
        if !stream.send(input).await {
            return true;
        }
    }
}

/// Writes the messages of a stream until there are no more.
async fn write(
    shared: Arc<Shared>,
    connection: u32,
    mut queue: mpsc::Receiver<FromSender>,
    mut writer: Writer,
    stream: StreamHandle,
) {
    while let Some(message) = queue.recv().await {
        if writer.write(|to| message.encode(to)).await.is_err() {
            // The reader sees the end, too.
            return;
        }
        if let SenderMessage::Packet { payload, .. } = &message {
            let bytes = payload.len() as u64;
            shared.counters.bytes.fetch_add(bytes, Ordering::Relaxed);
            stream.send(ServedInput::Written(connection)).await;
        }
    }
    let _ = writer.shutdown().await;
}
