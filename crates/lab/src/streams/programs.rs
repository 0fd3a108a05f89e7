//! The server and the receiver of a stream, each on a thread in its namespace.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use polypath_core::frame::PathId;
use polypath_core::units::Rate;
use polypath_live::keys::SystemEntropy;
use polypath_report::streams::{StreamCarrier, StreamsRun};
use polypath_session::key::PrivateKey;
use polypath_sim::Side;
use polypath_stream::{
    Admission, FileSource, ReceiveConfig, ReceiverSecurity, ReceptionReport, Server, ServerConfig,
    ServerSecurity, Sink, Source, StreamIdentity, receive,
};
use tempfile::NamedTempFile;
use tokio::runtime::Builder;
use tokio::sync::watch;

use crate::addressing::{STREAM_PORT, path_address};

/// The port of the server, beside that of the transfers.
const SERVER_PORT: u16 = STREAM_PORT + 1;

/// The server and the receiver of a stream.
pub(super) struct Programs {
    source: NamedTempFile,
    server: ServerConfig,
    receiver: ReceiveConfig,
}

/// The reports of a receiver at whole seconds, and its last one.
pub(super) type Reports = Vec<ReceptionReport>;

impl Programs {
    /// Keys, a source that is longer than the run, and configurations.
    pub(super) fn prepare(run: &StreamsRun, stream: &StreamCarrier) -> io::Result<Self> {
        let identity = || {
            let key = PrivateKey::generate(&mut SystemEntropy).map_err(io::Error::other)?;
            StreamIdentity::of(&key).map_err(io::Error::other)
        };
        let (server_key, receiver_key) = (identity()?, identity()?);
        let admission = Admission::Keys(vec![receiver_key.public()]);
        let tls = server_key.server_config(&admission);
        let server = ServerConfig {
            listen: (Ipv4Addr::UNSPECIFIED, SERVER_PORT).into(),
            security: ServerSecurity::Tls(tls.map_err(io::Error::other)?),
            receivers: 1,
            connections: 64,
            connection_limit: run.connection_limit,
        };
        let tls = receiver_key.client_config(server_key.public());
        let address = path_address(PathId(0), Side::Server).addr();
        let receiver = ReceiveConfig {
            server: SocketAddr::new(address, SERVER_PORT),
            security: ReceiverSecurity::Tls(tls.map_err(io::Error::other)?),
            rate: run.rate,
            controller: stream.controller,
            play_out: run.play_out,
            patience: polypath_core::time::Duration::from_secs(60),
        };
        Ok(Self {
            source: endless(run.rate, run.duration)?,
            server,
            receiver,
        })
    }

    /// Runs the server until `is_over`; call it in the namespace of the server.
    pub(super) fn serve(&self, mut is_over: watch::Receiver<bool>) -> io::Result<()> {
        let source = Source::File(FileSource::open(self.source.path())?);
        run(async {
            let server = Server::bind(self.server.clone(), source).map_err(io::Error::other)?;
            tokio::select! {
                () = server.serve() => {}
                _ = is_over.wait_for(|is_over| *is_over) => {}
            }
            Ok(())
        })
    }

    /// Receives for `span`, or until `is_over`, and returns a report for each second; call it in the
    /// namespace of the receiver.
    pub(super) fn receive(
        &self,
        span: Duration,
        mut is_over: watch::Receiver<bool>,
    ) -> io::Result<Reports> {
        let mut reports = Reports::new();
        let receiver = self.receiver.clone();
        let observe = |report: &ReceptionReport| reports.push(report.clone());
        run(async {
            let receiving = receive(receiver, Sink::bytes(tokio::io::sink()), observe);
            tokio::select! {
                result = receiving => result.map(|_| ()).map_err(io::Error::other),
                () = tokio::time::sleep(span) => Ok(()),
                _ = is_over.wait_for(|is_over| *is_over) => Ok(()),
            }
        })?;
        Ok(reports)
    }
}

/// A file of zeros that takes no space, of ten times what the stream wants.
fn endless(rate: Rate, span: polypath_core::time::Duration) -> io::Result<NamedTempFile> {
    let file = NamedTempFile::new()?;
    let bytes = rate.0 / 8 * span.0.div_ceil(1_000_000_000) * 10;
    file.as_file().set_len(bytes)?;
    Ok(file)
}

/// Runs on this thread, whose namespace its sockets have.
fn run<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(work)
}
