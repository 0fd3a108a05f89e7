//! The messages of a stream on each of its connections.
//!
//! | bytes | field |
//! | --- | --- |
//! | 1 | kind |
//! | 2 | length of the rest |
//! | rest | fields, below |
//!
//! | kind | message | from | fields |
//! | --- | --- | --- | --- |
//! | 1 | hello | receiver | version (1), stream (16), connection (4), packets received (8), buffer in packets (4), identity of the source (8, 0 if unknown) |
//! | 2 | progress | receiver | credit of the connection (8), packets received (8) |
//! | 3 | closing | receiver | none |
//! | 4 | open | receiver | version (1), stream (16), port of a service (2) |
//! | 5 | leaving | receiver | none |
//! | 6 | failed | receiver | stream (16), connection (4) |
//! | 16 | welcome | sender | identity of the source (8) |
//! | 17 | refusal | sender | reason (1) |
//! | 18 | packet | sender | sequence (8), payload |
//! | 19 | end | sender | packets of the stream (8) |
//! | 20 | packet, application-limited | sender | as 18 |
//! | 21 | idle | sender | packets sent (8) |
//!
//! Numbers are big-endian. A receiver begins each connection with a hello, before which only failed
//! messages may come, and the sender answers the hello by a welcome or a refusal. Connections with the
//! same 16 bytes carry the same stream.
//!
//! A connection may end for the receiver without a sign to the sender, which would keep its packets
//! from the others until the time-out of TCP. So the receiver names it as failed on all connections
//! that it has, and on each new one before the hello, until one with the name is welcome; but not one
//! whose hello was not sent. A sender of
//! version 1 ends a connection that begins so; one that begins with a hello it refuses.
//!
//! A packet is application-limited if the sender could have sent it earlier, had its source given it:
//! the throughput until then is that of the source, and shows nothing of the network (as in RFC 9002,
//! 7.8). An idle states the same during a longer wait, until a packet beyond those that were sent. A
//! receiver of version 2 does not know these kinds.
//!
//! An open asks for a connection to a service at the sender's host: after the welcome the connection
//! carries the bytes to the service, without messages. Those from the service are the stream of this
//! name, which has connections of its own.

use alloc::vec::Vec;

/// The version of the messages.
pub const VERSION: u8 = 3;
/// The length of the header of a message.
pub const HEADER_LEN: usize = 3;
/// The bytes of a packet message before its payload.
pub const PACKET_OVERHEAD: usize = HEADER_LEN + 8;
/// The maximum payload of a packet in bytes.
pub const MAX_PAYLOAD: usize = 16_000;

/// The random name of a stream, which its receiver draws.
pub type StreamId = [u8; 16];

/// A message of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum ReceiverMessage {
    /// The first message of a connection.
    Hello(Hello),
    /// The credit of the connection, and the packets that arrived.
    Progress(Progress),
    /// The receiver wants no further packets on the connection.
    Closing,
    /// The receiver wants no more of the stream, which ends with all its connections.
    Leaving,
    /// A connection has failed for the receiver, and what it carried may be lost.
    Failed {
        /// The stream.
        stream: StreamId,
        /// The connection, which may be unknown to the sender.
        connection: u32,
    },
    /// The receiver wants a connection to a service, whose bytes are the stream.
    Open {
        /// The stream.
        stream: StreamId,
        /// The TCP port of the service.
        port: u16,
    },
}

/// The first message of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Hello {
    /// The stream.
    pub stream: StreamId,
    /// The number of the connection, used once in a stream.
    pub connection: u32,
    /// The number of packets received in order.
    pub received: u64,
    /// The number of packets that the receiver buffers.
    pub buffer: u32,
    /// The identity of the source, from an earlier welcome; 0 if the receiver knows none.
    pub source: u64,
}

/// The credit of a connection, and the packets that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Progress {
    /// The number of packets that the connection may carry in all.
    pub credit: u64,
    /// The number of packets of the stream received in order, over all connections.
    pub received: u64,
}

/// A message of a sender; the payload of a packet is `P`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum SenderMessage<P> {
    /// The connection carries packets from now on.
    Welcome {
        /// The identity of the source; another one has other bytes.
        source: u64,
    },
    /// The connection carries nothing.
    Refusal(Refusal),
    /// A packet of the stream.
    Packet {
        /// Its number, from 1.
        sequence: u64,
        /// Whether the sender waited for its source before it.
        is_application_limited: bool,
        /// Its bytes.
        payload: P,
    },
    /// The sender waits for its source, and could send more.
    Idle {
        /// The number of packets of the stream sent so far: it holds until a later one arrives.
        packets: u64,
    },
    /// The stream has this number of packets, and no more follow.
    End {
        /// The number of packets.
        packets: u64,
    },
}

/// The reason for which a sender does not carry a stream on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Refusal {
    /// The sender has other messages.
    #[error("the server has another version of the protocol")]
    Version,
    /// The server has as many receivers as it takes.
    #[error("the server has as many receivers as it takes (its --receivers)")]
    Full,
    /// The source has changed, or its packets of before are gone.
    #[error("the server has another source than before, or no longer has its next bytes")]
    Source,
    /// The receiver of a live source is too slow for it.
    #[error(
        "the receiver was slower than the live source for too long: it needs a higher --rate, or the server a \
         larger --backlog"
    )]
    TooSlow,
    /// The source failed.
    #[error("the source of the server failed")]
    Failed,
    /// No service listens at the port.
    #[error("no service listens at this port there")]
    NoService,
    /// The receiver has as many connections as the server takes of one.
    #[error("the server takes no further connection of this receiver (its --connections)")]
    Connections,
    /// The sender of a live source was stopped.
    #[error("the server was stopped")]
    Stopped,
}

/// The error of bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// No message has this kind.
    #[error("no message is of kind {0}")]
    Kind(u8),
    /// The message is shorter or longer than its kind.
    #[error("a message of kind {kind} has {len} B")]
    Length {
        /// The kind.
        kind: u8,
        /// The length without the header.
        len: usize,
    },
    /// The peer has another version.
    #[error("the peer has version {0} of the protocol, and this program {VERSION}")]
    Version(u8),
    /// A field has an undefined value.
    #[error("no refusal has reason {0}")]
    Reason(u8),
}

const HELLO: u8 = 1;
const PROGRESS: u8 = 2;
const CLOSING: u8 = 3;
const OPEN: u8 = 4;
const LEAVING: u8 = 5;
const FAILED: u8 = 6;
const WELCOME: u8 = 16;
const REFUSAL: u8 = 17;
const PACKET: u8 = 18;
const END: u8 = 19;
const LIMITED_PACKET: u8 = 20;
const IDLE: u8 = 21;

/// The reasons by their numbers, from 1.
const REASONS: [Refusal; 8] = [
    Refusal::Version,
    Refusal::Full,
    Refusal::Source,
    Refusal::TooSlow,
    Refusal::Failed,
    Refusal::NoService,
    Refusal::Connections,
    Refusal::Stopped,
];

/// The length of the whole message that begins with `bytes`; `None` if its header is incomplete.
#[must_use]
pub fn message_len(bytes: &[u8]) -> Option<usize> {
    let (header, _) = bytes.split_first_chunk::<HEADER_LEN>()?;
    Some(HEADER_LEN + usize::from(u16::from_be_bytes([header[1], header[2]])))
}

impl ReceiverMessage {
    /// Appends the message to `to`.
    pub fn encode(&self, to: &mut Vec<u8>) {
        match self {
            Self::Hello(hello) => write_message(to, HELLO, |to| {
                to.push(VERSION);
                to.extend(hello.stream);
                to.extend(hello.connection.to_be_bytes());
                to.extend(hello.received.to_be_bytes());
                to.extend(hello.buffer.to_be_bytes());
                to.extend(hello.source.to_be_bytes());
            }),
            Self::Progress(progress) => write_message(to, PROGRESS, |to| {
                to.extend(progress.credit.to_be_bytes());
                to.extend(progress.received.to_be_bytes());
            }),
            Self::Closing => write_message(to, CLOSING, |_| {}),
            Self::Leaving => write_message(to, LEAVING, |_| {}),
            Self::Failed { stream, connection } => write_message(to, FAILED, |to| {
                to.extend(stream);
                to.extend(connection.to_be_bytes());
            }),
            Self::Open { stream, port } => write_message(to, OPEN, |to| {
                to.push(VERSION);
                to.extend(stream);
                to.extend(port.to_be_bytes());
            }),
        }
    }

    /// Reads one whole message, of [`message_len`] bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let (kind, mut fields) = Fields::of(bytes)?;
        let message = match kind {
            HELLO => {
                fields.check_version()?;
                Self::Hello(Hello {
                    stream: fields.take()?,
                    connection: u32::from_be_bytes(fields.take()?),
                    received: u64::from_be_bytes(fields.take()?),
                    buffer: u32::from_be_bytes(fields.take()?),
                    source: u64::from_be_bytes(fields.take()?),
                })
            }
            PROGRESS => Self::Progress(Progress {
                credit: u64::from_be_bytes(fields.take()?),
                received: u64::from_be_bytes(fields.take()?),
            }),
            CLOSING => Self::Closing,
            LEAVING => Self::Leaving,
            FAILED => Self::Failed {
                stream: fields.take()?,
                connection: u32::from_be_bytes(fields.take()?),
            },
            OPEN => {
                fields.check_version()?;
                Self::Open {
                    stream: fields.take()?,
                    port: u16::from_be_bytes(fields.take()?),
                }
            }
            kind => return Err(MessageError::Kind(kind)),
        };
        fields.finish()?;
        Ok(message)
    }
}

impl<P> SenderMessage<P> {
    /// The message with another payload.
    pub fn map<Q>(self, payload_of: impl FnOnce(P) -> Q) -> SenderMessage<Q> {
        match self {
            Self::Packet {
                sequence,
                is_application_limited,
                payload,
            } => SenderMessage::Packet {
                sequence,
                is_application_limited,
                payload: payload_of(payload),
            },
            Self::Welcome { source } => SenderMessage::Welcome { source },
            Self::Refusal(refusal) => SenderMessage::Refusal(refusal),
            Self::Idle { packets } => SenderMessage::Idle { packets },
            Self::End { packets } => SenderMessage::End { packets },
        }
    }
}

impl<P: AsRef<[u8]>> SenderMessage<P> {
    /// Appends the message to `to`; a payload has at most [`MAX_PAYLOAD`] bytes.
    pub fn encode(&self, to: &mut Vec<u8>) {
        match self {
            Self::Welcome { source } => {
                write_message(to, WELCOME, |to| to.extend(source.to_be_bytes()));
            }
            Self::Refusal(refusal) => write_message(to, REFUSAL, |to| {
                let position = REASONS.iter().position(|reason| reason == refusal);
                to.push(
                    position
                        .and_then(|at| u8::try_from(at + 1).ok())
                        .unwrap_or(0),
                );
            }),
            Self::Packet {
                sequence,
                is_application_limited,
                payload,
            } => {
                let kind = if *is_application_limited {
                    LIMITED_PACKET
                } else {
                    PACKET
                };
                write_message(to, kind, |to| {
                    to.extend(sequence.to_be_bytes());
                    to.extend_from_slice(payload.as_ref());
                });
            }
            Self::Idle { packets } => {
                write_message(to, IDLE, |to| to.extend(packets.to_be_bytes()));
            }
            Self::End { packets } => write_message(to, END, |to| to.extend(packets.to_be_bytes())),
        }
    }
}

impl<'a> SenderMessage<&'a [u8]> {
    /// Reads one whole message, of [`message_len`] bytes.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, MessageError> {
        let (kind, mut fields) = Fields::of(bytes)?;
        let message = match kind {
            WELCOME => Self::Welcome {
                source: u64::from_be_bytes(fields.take()?),
            },
            REFUSAL => {
                let [reason] = fields.take()?;
                let known = usize::from(reason).checked_sub(1);
                let refusal = known.and_then(|at| REASONS.get(at));
                Self::Refusal(*refusal.ok_or(MessageError::Reason(reason))?)
            }
            PACKET | LIMITED_PACKET => Self::Packet {
                sequence: u64::from_be_bytes(fields.take()?),
                is_application_limited: kind == LIMITED_PACKET,
                payload: core::mem::take(&mut fields.rest),
            },
            IDLE => Self::Idle {
                packets: u64::from_be_bytes(fields.take()?),
            },
            END => Self::End {
                packets: u64::from_be_bytes(fields.take()?),
            },
            kind => return Err(MessageError::Kind(kind)),
        };
        fields.finish()?;
        Ok(message)
    }
}

/// Appends a message whose fields `write` appends.
fn write_message(to: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let start = to.len();
    to.extend([kind, 0, 0]);
    write(to);
    let len = u16::try_from(to.len() - start - HEADER_LEN);
    debug_assert!(len.is_ok(), "the payload has at most {MAX_PAYLOAD} B");
    to[start + 1..start + HEADER_LEN].copy_from_slice(&len.unwrap_or(u16::MAX).to_be_bytes());
}

/// The fields of a message that are not yet read.
struct Fields<'a> {
    kind: u8,
    len: usize,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The kind of a whole message, and its fields.
    fn of(bytes: &'a [u8]) -> Result<(u8, Self), MessageError> {
        let kind = bytes.first().copied().unwrap_or(0);
        let len = bytes.len().saturating_sub(HEADER_LEN);
        if message_len(bytes) != Some(bytes.len()) {
            return Err(MessageError::Length { kind, len });
        }
        let rest = &bytes[HEADER_LEN..];
        Ok((kind, Self { kind, len, rest }))
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(|| self.wrong())?;
        self.rest = rest;
        Ok(*taken)
    }

    /// Reads the version, which is the first field in any version.
    fn check_version(&mut self) -> Result<(), MessageError> {
        let [version] = self.take()?;
        if version == VERSION {
            return Ok(());
        }
        Err(MessageError::Version(version))
    }

    fn finish(&self) -> Result<(), MessageError> {
        self.rest
            .is_empty()
            .then_some(())
            .ok_or_else(|| self.wrong())
    }

    fn wrong(&self) -> MessageError {
        MessageError::Length {
            kind: self.kind,
            len: self.len,
        }
    }
}

#[cfg(test)]
mod tests;
