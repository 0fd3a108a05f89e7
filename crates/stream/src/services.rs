//! Services on this host, whose bytes receivers get over several connections.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
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
        let address = reached(service, local).ok_or(io::ErrorKind::PermissionDenied)?;
        let connected = TcpStream::connect(address).await;
        let is_refused = connected
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        // A socket of IPv6 may not accept IPv4.
        if is_refused && address.is_ipv4() == service.ip().to_canonical().is_ipv4() {
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

/// The address of a service for a client that used the address `local`: the same. At loopback the
/// service would take the client for a program of this host, which it may trust. `None` if the client
/// could not reach the service there by itself.
fn reached(service: SocketAddr, local: IpAddr) -> Option<SocketAddr> {
    let (listens_at, local) = (service.ip().to_canonical(), local.to_canonical());
    let is_reachable = match listens_at {
        IpAddr::V4(any) if any.is_unspecified() => local.is_ipv4(),
        // Sockets of IPv6 accept IPv4 as well, unless the program has changed that.
        IpAddr::V6(any) if any.is_unspecified() => true,
        one => one == local,
    };
    is_reachable.then(|| SocketAddr::new(local, service.port()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_reached_where_the_client_reaches_it() {
        let reached = |service: &str, local: &str| {
            let reached = reached(service.parse().unwrap(), local.parse().unwrap());
            reached.map(|address| address.to_string())
        };
        let at = |address: &str| Some(address.to_owned());
        assert_eq!(reached("0.0.0.0:80", "192.0.2.1"), at("192.0.2.1:80"));
        assert_eq!(reached("[::]:80", "2001:db8::1"), at("[2001:db8::1]:80"));
        assert_eq!(reached("[::]:80", "::ffff:192.0.2.1"), at("192.0.2.1:80"));
        assert_eq!(
            reached("192.0.2.1:80", "::ffff:192.0.2.1"),
            at("192.0.2.1:80")
        );
        assert_eq!(reached("0.0.0.0:80", "2001:db8::1"), None);
        assert_eq!(reached("127.0.0.1:80", "192.0.2.1"), None);
        assert_eq!(reached("192.0.2.2:80", "192.0.2.1"), None);
    }
}
