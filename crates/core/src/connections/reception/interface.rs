//! The inputs and outputs of a reception.

use alloc::vec::Vec;

use crate::connections::receiver::{ReceiverConfig, SizedPacket};
use crate::connections::wire::{Hello, ReceiverMessage, Refusal, SenderMessage, StreamId};
use crate::time::Duration;

/// The time in which a driver gives a connection up whose hello could not be sent.
pub const OPEN_WITHIN: Duration = Duration::from_secs(10);
/// The time that the sender has to end its connections at the end of the stream
/// ([`ReceptionInput::Finish`]).
pub const FINISH_WITHIN: Duration = Duration::from_secs(5);
/// The time that it has if the receiver leaves before ([`ReceptionInput::Leave`]).
pub const LEAVE_WITHIN: Duration = Duration::from_secs(1);

/// The configuration of a reception.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct ReceptionConfig {
    /// The name of the stream.
    pub stream: StreamId,
    /// The receiver of its packets.
    pub receiver: ReceiverConfig,
    /// The time for which no connection may carry the stream, at least 1 s.
    pub patience: Duration,
}

/// The counts of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceptionCounts {
    /// The connections that were opened, or should have been.
    pub opened: u64,
    /// The wanted connections that failed, or could not be opened.
    pub failed: u64,
}

/// A connection to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Opening {
    /// The first message, after the names of the connections that failed.
    pub hello: Hello,
    /// The failed connections of which the sender may not know: they are named before the hello.
    pub failed: Vec<u32>,
    /// The first window of the kernel in packets: larger than that of the credits.
    pub window: u32,
}

/// The end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum ConnectionEnd {
    /// The sender, or a device on the way, ended it in order.
    InOrder,
    /// It failed after its hello was sent, or may have been.
    Failed,
    /// It failed before.
    Unsent,
    /// It failed in a way that another attempt would repeat, if it was not open: another key, or
    /// another protocol.
    Permanent,
}

/// The reason for which a stream cannot be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum ReceptionFailure {
    /// The sender does not carry it.
    Refused(Refusal),
    /// The sender sent a packet beyond what the receiver buffers.
    TooEarly,
    /// A connection ended in a way that another would repeat ([`ConnectionEnd::Permanent`]).
    Permanent,
    /// No connection carried it for the time of the configuration.
    Unreachable,
}

/// An input of a reception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum ReceptionInput<P> {
    /// The reception starts: the first connections are opened.
    Start,
    /// The shortest round-trip time of the connections: that of the first one before its welcome, and
    /// a new one whenever a [sample is due](super::Reception::is_sample_due).
    Rtt(Duration),
    /// A message of the sender on a connection.
    Message {
        /// The connection.
        connection: u32,
        /// The message.
        message: SenderMessage<SizedPacket<P>>,
    },
    /// A connection ended, or could not be opened.
    Ended {
        /// The connection.
        connection: u32,
        /// Its end.
        end: ConnectionEnd,
    },
    /// All packets are safe: the sender learns that it may end the connections.
    Finish,
    /// The receiver wants no more of the stream.
    Leave,
}

/// An output of a reception.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum ReceptionOutput<P> {
    /// Open a connection.
    Open(Opening),
    /// Send a message on a connection; if that is being opened, after its hello.
    Send {
        /// The connection.
        connection: u32,
        /// The message.
        message: ReceiverMessage,
    },
    /// Set the kernel's window of a connection that is open.
    SetWindow {
        /// The connection.
        connection: u32,
        /// Its window in packets.
        packets: u32,
    },
    /// Give up a connection that is being opened, after the message to it if its hello was sent.
    Abandon(u32),
    /// The next packet of the stream.
    Deliver(P),
    /// A wanted connection failed, or could not be opened.
    Lost {
        /// The connection.
        connection: u32,
        /// Whether it was open.
        was_open: bool,
    },
    /// The sender has refused a connection, since it takes no more of this receiver.
    Limited,
    /// The stream cannot be received.
    Failed(ReceptionFailure),
}
