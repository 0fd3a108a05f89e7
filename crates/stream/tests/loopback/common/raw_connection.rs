//! One connection of a receiver, message by message.

use std::net::SocketAddr;

use polypath_core::connections::wire::{
    HEADER_LEN, Hello, Progress, ReceiverMessage, SenderMessage, StreamId, message_len,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const STREAM: StreamId = [7; 16];

pub(crate) struct RawConnection(TcpStream);

impl RawConnection {
    /// Opens connection `number` of the stream; `failed` are named before its hello.
    pub(crate) async fn open(server: SocketAddr, failed: &[u32], number: u32) -> Self {
        let mut opened = Self(TcpStream::connect(server).await.unwrap());
        let mut bytes = Vec::new();
        for &connection in failed {
            Self::failed(connection).encode(&mut bytes);
        }
        let hello = Hello {
            stream: STREAM,
            connection: number,
            received: 0,
            buffer: 64,
            source: 0,
        };
        ReceiverMessage::Hello(hello).encode(&mut bytes);
        opened.0.write_all(&bytes).await.unwrap();
        opened
    }

    const fn failed(connection: u32) -> ReceiverMessage {
        ReceiverMessage::Failed {
            stream: STREAM,
            connection,
        }
    }

    async fn send(&mut self, message: ReceiverMessage) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.0.write_all(&bytes).await.unwrap();
    }

    pub(crate) async fn name_failed(&mut self, connection: u32) {
        self.send(Self::failed(connection)).await;
    }

    pub(crate) async fn report(&mut self, credit: u64, received: u64) {
        let progress = Progress { credit, received };
        self.send(ReceiverMessage::Progress(progress)).await;
    }

    /// The next message; `None` if the connection has ended.
    pub(crate) async fn next(&mut self) -> Option<SenderMessage<Vec<u8>>> {
        let mut bytes = vec![0; HEADER_LEN];
        self.0.read_exact(&mut bytes).await.ok()?;
        bytes.resize(message_len(&bytes).unwrap(), 0);
        self.0.read_exact(&mut bytes[HEADER_LEN..]).await.ok()?;
        Some(SenderMessage::decode(&bytes).unwrap().map(<[u8]>::to_vec))
    }

    pub(crate) async fn is_welcome(&mut self) -> bool {
        matches!(self.next().await, Some(SenderMessage::Welcome { .. }))
    }

    /// The bytes of the first `count` packets, once all of them have come on this connection.
    pub(crate) async fn packets(&mut self, count: u64) -> Vec<u8> {
        let mut packets = std::collections::BTreeMap::new();
        while packets.len() as u64 != count {
            match self.next().await {
                Some(SenderMessage::Packet {
                    sequence, payload, ..
                }) => {
                    let again = packets.insert(sequence, payload);
                    assert!(again.is_none(), "packet {sequence} came twice");
                    assert!(sequence <= count, "packet {sequence}");
                }
                Some(SenderMessage::End { .. }) => {}
                other => panic!("{other:?} after {} packets", packets.len()),
            }
        }
        packets.into_values().flatten().collect()
    }
}
