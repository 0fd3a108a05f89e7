//! Services on this host, whose bytes receivers get over several connections.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::source::PAYLOAD;

/// The services that receivers may connect to, by port.
#[derive(Clone, Debug, Default)]
pub struct Services(Arc<Mutex<BTreeMap<u16, SocketAddr>>>);

impl Services {
    /// Adds a service that listens at this address.
    pub fn add(&self, address: SocketAddr) {
        self.lock().insert(address.port(), address);
    }

    /// Connects to the service at `port` for a client that connected to `local`.
    ///
    /// Fails if there is none, or if it listens on another address than the one that the client
    /// used.
    pub(crate) async fn connect(&self, port: u16, local: IpAddr) -> io::Result<TcpStream> {
        let known = self.lock().get(&port).copied();
        let service = known.ok_or(io::ErrorKind::NotFound)?;
        let address = service.ip().to_canonical();
        if !address.is_unspecified() && address != local.to_canonical() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let connected = TcpStream::connect(reachable(service)).await;
        if connected
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        {
            // It listens no more.
            self.lock().remove(&port);
        }
        let stream = connected?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u16, SocketAddr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address at which a service that listens on any address is reached from this host.
fn reachable(service: SocketAddr) -> SocketAddr {
    let address = match service.ip() {
        IpAddr::V4(v4) if v4.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(v6) if v6.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        other => other,
    };
    SocketAddr::new(address, service.port())
}

/// Reads the bytes of a service to their end, in packets of what is there; an error is passed on.
pub(crate) async fn read_packets(
    mut service: impl AsyncRead + Unpin,
    packets: mpsc::Sender<io::Result<Bytes>>,
) {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(PAYLOAD);
        // Not more than a packet, so that the first bytes do not wait for others.
        let read = (&mut service)
            .take(PAYLOAD as u64)
            .read_buf(&mut buffer)
            .await;
        let packet = match read {
            Ok(0) => return,
            Ok(_) => Ok(buffer.split().freeze()),
            Err(error) => Err(error),
        };
        let has_failed = packet.is_err();
        if packets.send(packet).await.is_err() || has_failed {
            return;
        }
    }
}
