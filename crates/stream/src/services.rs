//! Services on this host, whose bytes receivers get over several connections.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

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
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(address.port(), address);
    }

    /// Connects to the service at `port` for a client at `peer`.
    ///
    /// Fails if there is none, or if it listens on loopback only and the client is elsewhere.
    pub(crate) async fn connect(&self, port: u16, peer: SocketAddr) -> io::Result<TcpStream> {
        let known = {
            let services = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            services.get(&port).copied()
        };
        let service = known.ok_or(io::ErrorKind::NotFound)?;
        if service.ip().to_canonical().is_loopback() && !peer.ip().to_canonical().is_loopback() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let stream = TcpStream::connect(reachable(service)).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
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

/// Reads the bytes of a service to their end, in packets of what is there.
pub(crate) async fn read_packets(
    mut service: impl AsyncRead + Unpin,
    packets: mpsc::Sender<Bytes>,
) {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(PAYLOAD);
        // Not more than a packet, so that the first bytes do not wait for others.
        let read = (&mut service)
            .take(PAYLOAD as u64)
            .read_buf(&mut buffer)
            .await;
        let has_more = matches!(read, Ok(len) if len > 0);
        if !has_more || packets.send(buffer.split().freeze()).await.is_err() {
            return;
        }
    }
}
