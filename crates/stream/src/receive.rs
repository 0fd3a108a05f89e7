//! A receiver of a stream.
//!
//! One task drives the [`Reception`](polypath_core::connections::Reception), and each
//! connection has one that reads and one that writes. While the output is blocked nothing is read,
//! so that the windows of the connections close.

mod connection;
mod reception;
mod recording;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use polypath_core::connections::wire::{PACKET_OVERHEAD, Refusal, StreamId};
use polypath_core::connections::{
    ConnectionEnd, ControllerConfig, OPEN_WITHIN, PlayOutConfig, Target, WindowControl,
};
use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};

use crate::channel::ChannelError;
use crate::security::{OtherKey, is_not_admitted, is_not_tls};
use crate::sink::Sink;
use crate::source::PAYLOAD;
use reception::ReceptionTask;

/// The bytes that TLS adds to a record: its header, the content type and the tag (RFC 8446, 5.2).
const RECORD_OVERHEAD: usize = 5 + 1 + 16;
/// The bytes of a packet in the windows of its connection.
pub(crate) const PACKET_ON_WIRE: usize = PAYLOAD + PACKET_OVERHEAD + RECORD_OVERHEAD;

/// The protection of a receiver's connections.
#[derive(Clone, Debug)]
pub enum ReceiverSecurity {
    /// TLS with the keys of this configuration.
    Tls(Arc<rustls::ClientConfig>),
    /// None; only to loopback addresses.
    Insecure,
}

/// The configuration of a receiver.
#[derive(Clone, Debug)]
pub struct ReceiveConfig {
    /// The address and port of the server.
    pub server: SocketAddr,
    /// The protection of connections.
    pub security: ReceiverSecurity,
    /// The wanted rate of the payload.
    pub rate: Rate,
    /// The controller of connections and windows.
    pub controller: ControllerConfig,
    /// A player to be simulated: it counts its stops.
    pub play_out: Option<PlayOutConfig>,
    /// The time for which the server may be unreachable.
    pub patience: Duration,
    /// The file for a recording of all decisions, if wanted; an existing one is replaced. The end of the
    /// reception waits at most 5 s for lines that are not yet written.
    pub record: Option<PathBuf>,
}

/// The report of a receiver, once a second and at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReceptionReport {
    /// The time since the start.
    pub elapsed: Duration,
    /// The payload bytes delivered in order.
    pub bytes: u64,
    /// The packets delivered in order.
    pub packets: u64,
    /// Packets that arrived twice, since their first connection had failed.
    pub duplicates: u64,
    /// The rate since the report before, or of the whole stream at its end.
    pub rate: Rate,
    /// The connections that carry the stream.
    pub connections: u32,
    /// The sum of the wanted windows in packets.
    pub window_sum: u32,
    /// The smoothed round-trip time; `None` before it is known.
    pub rtt: Option<Duration>,
    /// The mechanism that limits the connections.
    pub control: WindowControl,
    /// The connections that were opened so far.
    pub opened: u64,
    /// The connections that failed, or could not be opened.
    pub failed: u64,
    /// The longest time in which no packet was delivered.
    pub longest_gap: Duration,
    /// The number of times the player stopped; 0 without one.
    pub stops: u32,
}

/// The error of a reception.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// Without TLS, others could read and change the stream.
    #[error(
        "{0} is no loopback address: a stream without encryption is received from 127.0.0.0/8 or ::1 only"
    )]
    Insecure(SocketAddr),
    /// No connection carried the stream for the time that the configuration permits.
    #[error("{server}: no connection for {}: {source}", seconds(*patience))]
    Unreachable {
        /// The server.
        server: SocketAddr,
        /// The time that the configuration permits.
        patience: Duration,
        /// The error of the last connection.
        source: ConnectionError,
    },
    /// The server has another key, or speaks another protocol.
    #[error("{server}: {source}")]
    Wrong {
        /// The server.
        server: SocketAddr,
        /// The error of the connection.
        source: ConnectionError,
    },
    /// The server does not carry the stream.
    #[error("{server}: {refusal}")]
    Refused {
        /// The server.
        server: SocketAddr,
        /// Its reason.
        refusal: Refusal,
    },
    /// The output cannot be written.
    #[error("writing the stream after {written} B: {source}")]
    Output {
        /// The payload bytes written before.
        written: u64,
        /// The error of the system.
        source: io::Error,
    },
    /// The caller ended it.
    #[error("interrupted before the end of the stream")]
    Stopped,
    /// The file of the recording cannot be written.
    #[error("--record {}: {source}", path.display())]
    Recording {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The random source of the system failed.
    #[error("drawing the name of the stream: {0}")]
    Entropy(#[from] getrandom::Error),
}

/// The error of a connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// It cannot be opened, or has failed.
    #[error(transparent)]
    Channel(ChannelError),
    /// The server has another key than the configuration states.
    #[error(transparent)]
    Key(#[from] OtherKey),
    /// The server does not encrypt, or is another program.
    #[error(
        "the other end does not encrypt: is this the port of `polypath stream serve`, and not one with --insecure?"
    )]
    NotEncrypted,
    /// The connection was closed in the middle of a handshake or a stream.
    #[error("the server closed the connection; does it run, and is this its port?")]
    Closed,
    /// It took too long to open.
    #[error("no answer within {} s", OPEN_WITHIN.as_secs_f64())]
    Late,
    /// No attempt has ended yet.
    #[error("no answer so far; is this the port of `polypath stream serve`?")]
    NoAnswer,
    /// The server does not admit the key of this receiver.
    #[error(
        "the server does not admit this receiver's key: `polypath stream key FILE` prints it, for --allow there"
    )]
    NotAdmitted,
    /// The server ended it before the stream was complete.
    #[error("the server ended the connection")]
    Ended,
    /// The server refused it, as it may refuse others.
    #[error(transparent)]
    Refused(Refusal),
    /// The server sent a packet beyond what the receiver buffers.
    #[error("the server sent a packet that it must not send yet")]
    TooEarly,
}

impl From<io::Error> for ConnectionError {
    fn from(error: io::Error) -> Self {
        match OtherKey::of(&error) {
            Some(other) => Self::Key(other),
            None if is_not_admitted(&error) => Self::NotAdmitted,
            None if is_not_tls(&error) => Self::NotEncrypted,
            None if error.kind() == io::ErrorKind::UnexpectedEof => Self::Closed,
            None => Self::Channel(ChannelError::Io(error)),
        }
    }
}

impl From<ChannelError> for ConnectionError {
    fn from(error: ChannelError) -> Self {
        match error {
            ChannelError::Io(error) => error.into(),
            other => Self::Channel(other),
        }
    }
}

impl ConnectionError {
    /// The end of a connection with this error.
    fn end(&self, is_hello_sent: bool) -> ConnectionEnd {
        match self {
            Self::Ended => ConnectionEnd::InOrder,
            error if error.is_permanent() => ConnectionEnd::Permanent,
            _ if is_hello_sent => ConnectionEnd::Failed,
            _ => ConnectionEnd::Unsent,
        }
    }

    /// Whether another attempt would end in the same way, if the connection was never open: a wrong
    /// key, or another protocol.
    fn is_permanent(&self) -> bool {
        match self {
            Self::Channel(ChannelError::Io(error)) => error.kind() == io::ErrorKind::InvalidData,
            Self::Channel(
                ChannelError::Message(_) | ChannelError::Length(_) | ChannelError::Encrypted,
            )
            | Self::Key(_)
            | Self::NotAdmitted
            | Self::NotEncrypted
            | Self::TooEarly => true,
            Self::Late | Self::NoAnswer | Self::Closed | Self::Ended | Self::Refused(_) => false,
        }
    }
}

/// The target of the controller of a stream at `rate`: its packets are the segments.
#[must_use]
pub const fn target(rate: Rate) -> Target {
    Target {
        rate,
        segment: Bytes(PAYLOAD as u64),
    }
}

impl ReceiveConfig {
    pub(crate) fn target(&self) -> Target {
        target(self.rate)
    }

    /// The number of packets that wait for earlier ones: those of two seconds.
    pub(crate) fn buffer(&self) -> u32 {
        let packets = self.rate.0 / 8 * 2 / PAYLOAD as u64;
        u32::try_from(packets)
            .unwrap_or(u32::MAX)
            .clamp(1024, 65_536)
    }
}

/// Receives a stream into `sink` until `stop` ends, and reports to `observe` once a second and at
/// the end.
///
/// Can be cancelled at any time: the connections then end, but the server keeps the stream for a
/// minute, as it does for a receiver that returns. After `stop` it does not.
///
/// # Errors
/// Fails if the server stays unreachable or refuses, if the output cannot be written, and with
/// [`ReceiveError::Stopped`] if `stop` ends first.
pub async fn receive_until(
    config: ReceiveConfig,
    sink: Sink,
    stop: impl Future<Output = ()> + Send,
    observe: impl FnMut(&ReceptionReport) + Send,
) -> Result<ReceptionReport, ReceiveError> {
    let is_loopback = config.server.ip().is_loopback();
    if matches!(config.security, ReceiverSecurity::Insecure) && !is_loopback {
        return Err(ReceiveError::Insecure(config.server));
    }
    let stream = new_stream()?;
    receive_named(config, stream, sink, stop, observe).await
}

/// Receives a whole stream into `sink`, as [`receive_until`] does.
///
/// # Errors
/// As [`receive_until`], but for the stop.
pub async fn receive(
    config: ReceiveConfig,
    sink: Sink,
    observe: impl FnMut(&ReceptionReport) + Send,
) -> Result<ReceptionReport, ReceiveError> {
    receive_until(config, sink, std::future::pending(), observe).await
}

/// Draws the name of a stream.
pub(crate) fn new_stream() -> Result<StreamId, getrandom::Error> {
    let mut stream = [0; 16];
    getrandom::fill(&mut stream)?;
    Ok(stream)
}

/// Receives the stream of this name, from any address.
pub(crate) async fn receive_named(
    config: ReceiveConfig,
    stream: StreamId,
    sink: Sink,
    stop: impl Future<Output = ()> + Send,
    observe: impl FnMut(&ReceptionReport) + Send,
) -> Result<ReceptionReport, ReceiveError> {
    let task = ReceptionTask::new(config, stream, sink, observe)?;
    task.run(stop).await
}

fn seconds(span: Duration) -> String {
    format!("{} s", span.as_secs_f64())
}
