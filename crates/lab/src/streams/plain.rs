//! A stream over one connection of the kernel's TCP.

use std::future::Future;
use std::io::{
    self,
    ErrorKind::{BrokenPipe, ConnectionReset},
};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::live::Recording;
use crate::tcp;

/// The pause after a connection was refused, and the number of attempts: the sender listens soon.
const RETRY: Duration = Duration::from_millis(20);
const ATTEMPTS: u32 = 100;

/// Sends what `output` becomes to the first who connects to the port of `address`.
pub(super) async fn send<R: AsyncRead + Unpin>(
    address: SocketAddr,
    congestion_control: &str,
    output: impl Future<Output = io::Result<R>>,
) -> io::Result<()> {
    let socket = tcp::socket(congestion_control)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port())).into())?;
    socket.listen(1)?;
    socket.set_nonblocking(true)?;
    let listener = TcpListener::from_std(socket.into())?;
    let (mut connection, _) = listener.accept().await?;
    let mut output = output.await?;
    match tokio::io::copy(&mut output, &mut connection).await {
        // The receiver has ended: more is left than fits into the run.
        Err(error) if matches!(error.kind(), ConnectionReset | BrokenPipe) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => connection.shutdown().await,
    }
}

/// Receives to the end from the sender at `address`.
pub(super) async fn receive(address: SocketAddr, mut recording: Recording) -> io::Result<()> {
    let mut connection = connect(address).await?;
    tokio::io::copy(&mut connection, &mut recording).await?;
    Ok(())
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let mut attempts = 1;
    loop {
        match TcpStream::connect(address).await {
            Err(error)
                if error.kind() == io::ErrorKind::ConnectionRefused && attempts < ATTEMPTS =>
            {
                attempts += 1;
                tokio::time::sleep(RETRY).await;
            }
            result => return result,
        }
    }
}
