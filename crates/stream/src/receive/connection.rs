//! One connection of a receiver.

use std::sync::Arc;

use futures_util::StreamExt;
use polypath_core::connections::OPEN_WITHIN;
use polypath_core::connections::wire::{Hello, ReceiverMessage, SenderMessage};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{ConnectionError, ReceiveConfig, ReceiverSecurity};
use crate::channel::{FromSender, Reader, Transport, Writer};
use crate::socket::{ConnectionSocket, connect};

/// An event of a connection.
#[derive(Debug)]
pub(super) struct ConnectionEvent {
    pub(super) connection: u32,
    pub(super) kind: EventKind,
}

#[derive(Debug)]
pub(super) enum EventKind {
    /// The server carries the stream on it: a welcome follows.
    Opened(ConnectionSocket),
    /// The server sent a message.
    Message(FromSender),
    /// It ended; in order if the receiver had closed it, or the stream was complete.
    Ended {
        error: ConnectionError,
        /// Whether the server may have the hello.
        is_hello_sent: bool,
    },
}

/// The first messages of a connection.
pub(super) struct FirstMessages {
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
    first: FirstMessages,
    messages: mpsc::UnboundedReceiver<ReceiverMessage>,
    events: mpsc::Sender<ConnectionEvent>,
) {
    let connection = first.hello.connection;
    let mut carried = CarriedConnection {
        config,
        first,
        events: events.clone(),
        is_hello_sent: false,
    };
    let error = match carried.carry(messages).await {
        Ok(()) => ConnectionError::Ended,
        Err(error) => error,
    };
    let is_hello_sent = carried.is_hello_sent;
    let kind = EventKind::Ended {
        error,
        is_hello_sent,
    };
    let _ = events.send(ConnectionEvent { connection, kind }).await;
}

struct CarriedConnection {
    config: Arc<ReceiveConfig>,
    first: FirstMessages,
    events: mpsc::Sender<ConnectionEvent>,
    is_hello_sent: bool,
}

type Opened = (ConnectionSocket, Reader<FromSender>, Writer);

impl CarriedConnection {
    async fn carry(
        &mut self,
        mut messages: mpsc::UnboundedReceiver<ReceiverMessage>,
    ) -> Result<(), ConnectionError> {
        let opened = timeout(OPEN_WITHIN.into(), self.open()).await;
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
            let message = message?;
            if matches!(message, SenderMessage::Welcome { .. })
                && let Some(socket) = socket.take()
            {
                self.pass_on(EventKind::Opened(socket)).await;
            }
            if !self.pass_on(EventKind::Message(message)).await {
                return Ok(());
            }
        }
    }

    /// Passes an event on; returns false if the reception has ended.
    async fn pass_on(&self, kind: EventKind) -> bool {
        let connection = self.first.hello.connection;
        let event = ConnectionEvent { connection, kind };
        self.events.send(event).await.is_ok()
    }

    /// Connects, and sends the hello after the names of the connections that failed.
    async fn open(&mut self) -> Result<Opened, ConnectionError> {
        let tcp = connect(self.config.server).await?;
        let socket = ConnectionSocket::of(&tcp)?;
        socket.set_window(self.first.window)?;
        let transport = match &self.config.security {
            ReceiverSecurity::Tls(tls) => Transport::connect(tcp, Arc::clone(tls)).await?,
            ReceiverSecurity::Insecure => Transport::insecure(tcp),
        };
        let (reader, mut writer) = transport.split();
        self.is_hello_sent = true;
        writer.write(|to| self.first.encode(to)).await?;
        Ok((socket, reader, writer))
    }
}

impl FirstMessages {
    fn encode(&self, to: &mut Vec<u8>) {
        let stream = self.hello.stream;
        for &connection in &self.failed {
            ReceiverMessage::Failed { stream, connection }.encode(to);
        }
        ReceiverMessage::Hello(self.hello).encode(to);
    }
}
