//! One connection of a receiver.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use polypath_core::connections::wire::{Hello, ReceiverMessage, Refusal, SenderMessage};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{ConnectionError, ReceiveConfig, ReceiverSecurity};
use crate::channel::{FromSender, Reader, Transport, Writer};
use crate::socket::{ConnectionSocket, connect};

/// The time in which a connection has to open.
pub(super) const OPEN_WITHIN: Duration = Duration::from_secs(10);

/// An event of a connection.
#[derive(Debug)]
pub(super) struct ConnectionEvent {
    pub(super) connection: u32,
    pub(super) kind: EventKind,
}

#[derive(Debug)]
pub(super) enum EventKind {
    /// The server carries the stream on it.
    Opened {
        socket: ConnectionSocket,
        /// The identity of the source.
        source: u64,
    },
    Packet {
        sequence: u64,
        payload: Bytes,
    },
    /// The stream has this number of packets.
    End(u64),
    Refused(Refusal),
    /// It ended; in order if the receiver had closed it, or the stream was complete.
    Ended(ConnectionError),
}

/// Opens a connection with this first window in bytes, and passes its events on until it ends; it
/// ends in order once `messages` does.
pub(super) async fn run(
    config: Arc<ReceiveConfig>,
    hello: Hello,
    window: u32,
    messages: mpsc::UnboundedReceiver<ReceiverMessage>,
    events: mpsc::Sender<ConnectionEvent>,
) {
    let connection = hello.connection;
    let error = match carry(&config, hello, window, messages, &events).await {
        Ok(()) => ConnectionError::Ended,
        Err(error) => error,
    };
    let kind = EventKind::Ended(error);
    let _ = events.send(ConnectionEvent { connection, kind }).await;
}

async fn carry(
    config: &ReceiveConfig,
    hello: Hello,
    window: u32,
    mut messages: mpsc::UnboundedReceiver<ReceiverMessage>,
    events: &mpsc::Sender<ConnectionEvent>,
) -> Result<(), ConnectionError> {
    let opened = timeout(OPEN_WITHIN, open(config, hello, window)).await;
    let (socket, mut reader, mut writer) = opened.map_err(|_| ConnectionError::Late)??;
    let mut socket = Some(socket);
    loop {
        let message = tokio::select! {
            message = reader.next() => message,
            message = messages.recv() => match message {
                // The server reads at any time, so that this does not wait for what it sends.
                Some(message) => {
                    writer.write(|to| message.encode(to)).await?;
                    continue;
                }
                None => None,
            },
        };
        let Some(message) = message else {
            // The server takes the end for the receipt of all that it sent.
            writer.shutdown().await?;
            return Ok(());
        };
        if let Some(kind) = kind_of(message?, &mut socket) {
            let connection = hello.connection;
            if events
                .send(ConnectionEvent { connection, kind })
                .await
                .is_err()
            {
                return Ok(());
            }
        }
    }
}

/// The event of a message; `socket` is taken by the first welcome.
fn kind_of(message: FromSender, socket: &mut Option<ConnectionSocket>) -> Option<EventKind> {
    Some(match message {
        SenderMessage::Welcome { source } => {
            let socket = socket.take()?;
            EventKind::Opened { socket, source }
        }
        SenderMessage::Packet { sequence, payload } => EventKind::Packet { sequence, payload },
        SenderMessage::End { packets } => EventKind::End(packets),
        SenderMessage::Refusal(refusal) => EventKind::Refused(refusal),
    })
}

type Opened = (ConnectionSocket, Reader<FromSender>, Writer);

/// Connects with a window of `window` bytes, and sends the hello.
async fn open(
    config: &ReceiveConfig,
    hello: Hello,
    window: u32,
) -> Result<Opened, ConnectionError> {
    let stream = connect(config.server).await?;
    let socket = ConnectionSocket::of(&stream)?;
    socket.set_window(window)?;
    let transport = match &config.security {
        ReceiverSecurity::Tls(tls) => Transport::connect(stream, Arc::clone(tls)).await?,
        ReceiverSecurity::Insecure => Transport::insecure(stream),
    };
    let (reader, mut writer) = transport.split();
    writer
        .write(|to| ReceiverMessage::Hello(hello).encode(to))
        .await?;
    Ok((socket, reader, writer))
}
