//! A connection with messages instead of bytes, with or without TLS.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use polypath_core::connections::wire::{
    HEADER_LEN, MAX_PAYLOAD, MessageError, PACKET_OVERHEAD, ReceiverMessage, SenderMessage,
    message_len,
};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_util::codec::{Decoder, FramedRead};

/// The messages that one end reads.
pub(crate) trait Incoming: Sized {
    /// Reads one whole message.
    fn of(bytes: Bytes) -> Result<Self, MessageError>;
}

/// A packet shares the buffer that it was read into.
pub(crate) type FromSender = SenderMessage<Bytes>;

impl Incoming for ReceiverMessage {
    fn of(bytes: Bytes) -> Result<Self, MessageError> {
        Self::decode(&bytes)
    }
}

impl Incoming for FromSender {
    fn of(bytes: Bytes) -> Result<Self, MessageError> {
        Ok(SenderMessage::decode(&bytes)?.map(|payload| bytes.slice_ref(payload)))
    }
}

/// The error of a connection.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The system reports an error, TLS included.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The other end speaks another protocol.
    #[error("the other end is no polypath stream of this version: {0}")]
    Message(#[from] MessageError),
    /// The other end uses TLS.
    #[error("the other end uses encryption: give the keys of both ends")]
    Encrypted,
    /// A message is longer than any that is defined.
    #[error("the other end is no polypath stream: a message would have {0} B")]
    Length(usize),
}

/// Divides bytes into messages.
#[derive(Debug)]
pub(crate) struct Messages<M>(std::marker::PhantomData<M>);

impl<M: Incoming> Decoder for Messages<M> {
    type Item = M;
    type Error = ChannelError;

    fn decode(&mut self, bytes: &mut BytesMut) -> Result<Option<M>, ChannelError> {
        if is_tls(bytes) {
            return Err(ChannelError::Encrypted);
        }
        let Some(len) = message_len(bytes) else {
            return Ok(None);
        };
        if len > PACKET_OVERHEAD + MAX_PAYLOAD {
            return Err(ChannelError::Length(len - HEADER_LEN));
        }
        if bytes.len() < len {
            return Ok(None);
        }
        let message = bytes.split_to(len).freeze();
        Ok(Some(M::of(message)?))
    }
}

/// The first bytes of a record of TLS 1.2 or 1.3 (RFC 8446, 5.1): an alert or a handshake.
fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [0x15 | 0x16, 3, ..])
}

/// A byte stream in both directions.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection before its first message.
pub(crate) struct Transport(Box<dyn Io>);

impl Transport {
    /// The connection without TLS.
    pub(crate) fn insecure(stream: TcpStream) -> Self {
        Self(Box::new(stream))
    }

    /// The receiver's end of a connection, after the handshake.
    pub(crate) async fn connect(
        stream: TcpStream,
        config: Arc<rustls::ClientConfig>,
    ) -> io::Result<Self> {
        // The key alone identifies the server.
        let name = ServerName::from(stream.peer_addr()?.ip());
        let stream = TlsConnector::from(config).connect(name, stream).await?;
        Ok(Self(Box::new(stream)))
    }

    /// The server's end of a connection, after the handshake.
    pub(crate) async fn accept(
        stream: TcpStream,
        config: Arc<rustls::ServerConfig>,
    ) -> io::Result<Self> {
        let stream = TlsAcceptor::from(config).accept(stream).await?;
        Ok(Self(Box::new(stream)))
    }

    /// The messages of the other end, and the writer of those to it.
    pub(crate) fn split<M: Incoming>(self) -> (Reader<M>, Writer) {
        let (read, write) = tokio::io::split(self.0);
        let reader = FramedRead::new(read, Messages(std::marker::PhantomData));
        let writer = Writer {
            write,
            buffer: Vec::new(),
        };
        (reader, writer)
    }
}

/// Reads the messages of the other end.
pub(crate) type Reader<M> = FramedRead<ReadHalf<Box<dyn Io>>, Messages<M>>;

/// Writes messages.
pub(crate) struct Writer {
    write: WriteHalf<Box<dyn Io>>,
    buffer: Vec<u8>,
}

impl Writer {
    /// Writes the messages that `encode` appends, in one record of TLS if they fit.
    pub(crate) async fn write(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.buffer.clear();
        encode(&mut self.buffer);
        self.write.write_all(&self.buffer).await?;
        self.write.flush().await
    }

    /// Ends this direction; the other end reads what was written before.
    pub(crate) async fn shutdown(&mut self) -> io::Result<()> {
        self.write.shutdown().await
    }
}
