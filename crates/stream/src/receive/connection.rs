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

/// A connection to be opened.
pub(super) struct Opening {
    pub(super) hello: Hello,
    /// The connections that failed, and of which the server may not know.
    pub(super) failed: Vec<u32>,
    /// The first window in bytes.
    pub(super) window: u32,
}

/// Opens a connection, and passes its events on until it ends; it ends in order once `messages`
/// does.
pub(super) async fn run(
    config: Arc<ReceiveConfig>,
    opening: Opening,
    messages: mpsc::UnboundedReceiver<ReceiverMessage>,
    events: mpsc::Sender<ConnectionEvent>,
) {
    let connection = opening.hello.connection;
    let error = match carry(&config, &opening, messages, &events).await {
        Ok(()) => ConnectionError::Ended,
        Err(error) => error,
    };
    let kind = EventKind::Ended(error);
    let _ = events.send(ConnectionEvent { connection, kind }).await;
}

async fn carry(
    config: &ReceiveConfig,
    opening: &Opening,
    mut messages: mpsc::UnboundedReceiver<ReceiverMessage>,
    events: &mpsc::Sender<ConnectionEvent>,
) -> Result<(), ConnectionError> {
    let opened = timeout(OPEN_WITHIN, open(config, opening)).await;
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
            let connection = opening.hello.connection;
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

/// Connects, and sends the hello after the names of the connections that failed.
async fn open(config: &ReceiveConfig, opening: &Opening) -> Result<Opened, ConnectionError> {
    let hello = opening.hello;
    let stream = connect(config.server).await?;
    let socket = ConnectionSocket::of(&stream)?;
    socket.set_window(opening.window)?;
    let transport = match &config.security {
        ReceiverSecurity::Tls(tls) => Transport::connect(stream, Arc::clone(tls)).await?,
        ReceiverSecurity::Insecure => Transport::insecure(stream),
    };
    let (reader, mut writer) = transport.split();
    let stream = hello.stream;
    let first = |to: &mut Vec<u8>| {
        for &connection in &opening.failed {
            ReceiverMessage::Failed { stream, connection }.encode(to);
        }
        ReceiverMessage::Hello(hello).encode(to);
    };
    writer.write(first).await?;
    Ok((socket, reader, writer))
}
