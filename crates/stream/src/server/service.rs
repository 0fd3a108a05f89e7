//! A connection to a service: its bytes to the service, beside the stream of those from it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use polypath_core::connections::wire::{ReceiverMessage, Refusal, SenderMessage, StreamId};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;

use super::accepted::refuse;
use super::{HANDSHAKE, Shared};
use crate::channel::{Reader, Writer};
use crate::services::read_packets;
use crate::socket::reset_when_dropped;
use crate::source::{Position, Source};

/// The packets of a service that wait for the stream.
const WAITING: usize = 16;

/// A client that asks for a service.
pub(super) struct Connecting {
    pub(super) shared: Arc<Shared>,
    pub(super) stream: StreamId,
    pub(super) port: u16,
    pub(super) peer: SocketAddr,
    /// The address of this host that it used.
    pub(super) local: IpAddr,
}

impl Connecting {
    /// Connects to the service, and carries the bytes of the client to it.
    pub(super) async fn carry(self, reader: Reader<ReceiverMessage>, mut writer: Writer) {
        let (service, _permit) = match self.connect().await {
            Ok(connected) => connected,
            Err(refusal) => return refuse(&mut writer, refusal).await,
        };
        let (from_service, mut to_service) = service.into_split();
        let (packets, source) = mpsc::channel(WAITING);
        if let Err(refusal) = self.shared.open(self.stream, Position::Service(source)) {
            return refuse(&mut writer, refusal).await;
        }
        // A handle would keep the stream from its end.
        let failing = packets.downgrade();
        let reading = self.shared.spawn(read_packets(from_service, packets));
        let source = self.shared.source.identity();
        let welcome = SenderMessage::<Bytes>::Welcome { source };
        if writer.write(|to| welcome.encode(to)).await.is_err() {
            return;
        }
        // From here on there are no messages; the first bytes may have come with the open.
        let parts = reader.into_parts();
        let mut from_client = parts.io;
        let carried = async {
            to_service.write_all(&parts.read_buf).await?;
            tokio::io::copy(&mut from_client, &mut to_service).await?;
            // The service sees the end of the client's bytes.
            to_service.shutdown().await
        };
        if let Err(error) = carried.await {
            // An end would make what came look like all there is, to the service and to the client.
            reset_when_dropped(to_service.as_ref());
            to_service.forget();
            let failing = failing.upgrade();
            reading.abort();
            if let Some(packets) = failing {
                let _ = packets.send(Err(error)).await;
            }
        }
    }

    /// Connects to the service, with a permit for as long as the connection lasts.
    async fn connect(&self) -> Result<(TcpStream, OwnedSemaphorePermit), Refusal> {
        let permit = Arc::clone(&self.shared.services).try_acquire_owned();
        let permit = permit.map_err(|_| Refusal::Full)?;
        let Source::Services(services) = &self.shared.source else {
            return Err(Refusal::NoService);
        };
        let connected = timeout(HANDSHAKE, services.connect(self.port, self.local)).await;
        let connected = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let service = connected.map_err(|error| {
            tracing::info!(peer = %self.peer, port = self.port, %error, "a client was refused");
            Refusal::NoService
        })?;
        Ok((service, permit))
    }
}
