//! The sender and the receiver of a stream, each on a thread in its namespace.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use polypath_core::connections::{ControllerConfig, PlayOutConfig};
use polypath_core::frame::PathId;
use polypath_core::units::Rate;
use polypath_live::keys::SystemEntropy;
use polypath_report::streams::{
    StreamCarrier, StreamMedia, StreamOutcome, StreamTransport, StreamsRun,
};
use polypath_session::key::PrivateKey;
use polypath_sim::Side;
use polypath_stream::{
    Admission, FileSource, LiveSource, ReceiveConfig, ReceiverSecurity, ReceptionReport, Server,
    ServerConfig, ServerSecurity, Sink, Source, StreamIdentity, receive,
};
use tempfile::NamedTempFile;
use tokio::runtime::Builder;
use tokio::sync::watch;

use super::live::{Ffmpeg, LiveClip, Recording};
use super::plain;
use crate::addressing::{STREAM_PORT, path_address};

/// The port of the server, beside that of the transfers.
const SERVER_PORT: u16 = STREAM_PORT + 1;
/// The live media that a server keeps, in bytes.
const BACKLOG: usize = 32_000_000;

/// The sender and the receiver of a stream.
pub(super) struct Programs {
    media: Media,
    transport: Transport,
    play_out: Option<PlayOutConfig>,
}

enum Media {
    Endless(NamedTempFile),
    Live(LiveClip),
}

#[expect(clippy::large_enum_variant, reason = "there are few, and none moves")]
enum Transport {
    Connections {
        server: ServerConfig,
        receiver: ReceiveConfig,
    },
    Tcp {
        from: SocketAddr,
        congestion_control: String,
    },
}

impl Programs {
    /// Keys, a source that is longer than the run, and configurations.
    pub(super) fn prepare(run: &StreamsRun, stream: &StreamCarrier) -> io::Result<Self> {
        let media = match &run.media {
            StreamMedia::Endless => Media::Endless(endless(run.rate, run.duration)?),
            StreamMedia::Live { clip, rate } => Media::Live(LiveClip::new(clip, *rate)),
        };
        let address = path_address(PathId(0), Side::Server).addr();
        let from = SocketAddr::new(address, SERVER_PORT);
        let transport = match stream.transport {
            StreamTransport::Connections(controller) => connections(run, controller, from)?,
            StreamTransport::Tcp => Transport::Tcp {
                from,
                congestion_control: run.congestion_control.clone(),
            },
        };
        Ok(Self {
            media,
            transport,
            play_out: run.play_out,
        })
    }

    /// Sends until `is_over`; call it in the namespace of the server.
    pub(super) fn serve(&self, mut is_over: watch::Receiver<bool>) -> io::Result<()> {
        run(async {
            tokio::select! {
                result = self.send() => result?,
                _ = is_over.wait_for(|is_over| *is_over) => return Ok(()),
            }
            // The receiver may need what the kernel still has.
            let _ = is_over.wait_for(|is_over| *is_over).await;
            Ok(())
        })
    }

    async fn send(&self) -> io::Result<()> {
        match (&self.transport, &self.media) {
            (Transport::Connections { server, .. }, Media::Endless(file)) => {
                let source = Source::File(FileSource::open(file.path())?);
                bind(server, source)?.serve().await;
                Ok(())
            }
            (Transport::Connections { server, .. }, Media::Live(clip)) => {
                let source = LiveSource::new(BACKLOG).map_err(io::Error::other)?;
                let server = bind(server, Source::Live(source.clone()))?;
                let feed = async {
                    let (ffmpeg, output) = clip.start().await?;
                    source.read_from(output).await?;
                    ffmpeg.finish()?;
                    // Its receivers still need the rest.
                    std::future::pending::<io::Result<()>>().await
                };
                tokio::select! {
                    () = server.serve() => Ok(()),
                    result = feed => result,
                }
            }
            (
                Transport::Tcp {
                    from,
                    congestion_control,
                },
                Media::Endless(file),
            ) => {
                let output = tokio::fs::File::open(file.path()).await?;
                plain::send(*from, congestion_control, async { Ok(output) }).await
            }
            (
                Transport::Tcp {
                    from,
                    congestion_control,
                },
                Media::Live(clip),
            ) => {
                let mut ffmpeg = None;
                let output = async {
                    let (process, output) = clip.start().await?;
                    ffmpeg = Some(process);
                    Ok(output)
                };
                plain::send(*from, congestion_control, output).await?;
                ffmpeg.map_or(Ok(()), Ffmpeg::finish)
            }
        }
    }

    /// Receives for `span`, or until `is_over`; call it in the namespace of the receiver. The
    /// outcome has no transfers.
    pub(super) fn receive(
        &self,
        span: Duration,
        mut is_over: watch::Receiver<bool>,
    ) -> io::Result<StreamOutcome> {
        let recording = Recording::default();
        let mut outcome = StreamOutcome::default();
        run(async {
            let receiving = self.receive_all(&recording, &mut outcome);
            tokio::select! {
                result = receiving => result,
                () = tokio::time::sleep(span) => Ok(()),
                _ = is_over.wait_for(|is_over| *is_over) => Ok(()),
            }
        })?;
        if let Transport::Tcp { .. } = self.transport {
            outcome.throughput = recording.throughput(span);
            outcome.connections = vec![1.0; outcome.throughput.len()];
        }
        if let Media::Live(clip) = &self.media {
            // The rate that a receiver asks for is not that at which the media plays.
            let stops = |play_out| recording.stops(clip.rate, play_out);
            outcome.stops = self.play_out.map_or(0, stops);
            outcome.received = recording.into_bytes();
        }
        Ok(outcome)
    }

    async fn receive_all(
        &self,
        recording: &Recording,
        outcome: &mut StreamOutcome,
    ) -> io::Result<()> {
        match &self.transport {
            Transport::Connections { receiver, .. } => {
                let sink = match self.media {
                    Media::Endless(_) => Sink::bytes(tokio::io::sink()),
                    Media::Live(_) => Sink::bytes(recording.clone()),
                };
                let observe = |report: &ReceptionReport| add(outcome, report);
                let received = receive(receiver.clone(), sink, observe).await;
                received.map_err(io::Error::other)?;
                // The report at the end is of the whole stream.
                for values in [
                    &mut outcome.throughput,
                    &mut outcome.windows,
                    &mut outcome.connections,
                ] {
                    values.pop();
                }
                Ok(())
            }
            Transport::Tcp { from, .. } => plain::receive(*from, recording.clone()).await,
        }
    }
}

/// Adds the report of a second.
fn add(outcome: &mut StreamOutcome, report: &ReceptionReport) {
    outcome.throughput.push(report.rate.as_f64());
    outcome.windows.push(f64::from(report.window_sum));
    outcome.connections.push(f64::from(report.connections));
    outcome.stops = report.stops;
    outcome.window_control = Some(report.control);
}

fn connections(
    run: &StreamsRun,
    controller: ControllerConfig,
    from: SocketAddr,
) -> io::Result<Transport> {
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
        congestion_control: Some(run.congestion_control.clone()),
    };
    let tls = receiver_key.client_config(server_key.public());
    let receiver = ReceiveConfig {
        server: from,
        security: ReceiverSecurity::Tls(tls.map_err(io::Error::other)?),
        rate: run.rate,
        controller,
        play_out: run.play_out,
        patience: polypath_core::time::Duration::from_secs(60),
        record: None,
    };
    Ok(Transport::Connections { server, receiver })
}

fn bind(config: &ServerConfig, source: Source) -> io::Result<Server> {
    Server::bind(config.clone(), source).map_err(io::Error::other)
}

/// A file of zeros that takes no space, of ten times what the stream wants.
fn endless(rate: Rate, span: polypath_core::time::Duration) -> io::Result<NamedTempFile> {
    let file = NamedTempFile::new()?;
    let bytes = rate.0 / 8 * span.0.div_ceil(1_000_000_000) * 10;
    file.as_file().set_len(bytes)?;
    Ok(file)
}

/// Runs on this thread, whose namespace its sockets have.
pub(super) fn run<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(work)
}
