//! Drives the receiver of a stream.

mod reports;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use polypath_core::connections::wire::{ReceiverMessage, Refusal, StreamId};
use polypath_core::connections::{
    FINISH_WITHIN, LEAVE_WITHIN, Opening, ReceiverConfig, ReceptionConfig, ReceptionFailure,
    ReceptionInput, ReceptionOutput, SizedPacket,
};
use polypath_core::machine::{Machine, Wake};
use polypath_core::time::{Duration, Time};
use polypath_core::units;
use polypath_live::clock::Clock;
use tokio::sync::mpsc;

use super::connection::{self, ConnectionEvent, EventKind, FirstMessages};
use super::recording::RecordedReception;
use super::{ConnectionError, PACKET_ON_WIRE, ReceiveConfig, ReceiveError, ReceptionReport};
use crate::sink::Sink;
use crate::socket::ConnectionSocket;
use reports::Reports;

/// The events of connections that may wait; beyond it connections are not read.
const EVENTS: usize = 64;
/// The interval at which the kernel's windows are set again (it grows them by itself).
const RENEW: Duration = Duration::from_millis(50);
/// The interval of reports.
const REPORT: Duration = Duration::from_secs(1);
/// The task of a reception.
pub(super) struct ReceptionTask<F: FnMut(&ReceptionReport)> {
    config: Arc<ReceiveConfig>,
    reception: RecordedReception,
    clock: Clock,
    connections: Connections,
    sink: Sink,
    /// The packets delivered by the machine, and not yet written.
    delivered: Vec<Bytes>,
    reports: Reports<F>,
    errors: Errors,
}

/// The tasks of the connections.
struct Connections {
    known: BTreeMap<u32, Connection>,
    events: (
        mpsc::Sender<ConnectionEvent>,
        mpsc::Receiver<ConnectionEvent>,
    ),
}

/// A connection of the receiver.
struct Connection {
    messages: mpsc::UnboundedSender<ReceiverMessage>,
    /// Its socket, once it carries the stream.
    socket: Option<ConnectionSocket>,
}

/// The errors of connections.
#[derive(Debug, Default)]
struct Errors {
    /// That of the connection whose end is being handled.
    present: Option<ConnectionError>,
    /// That of the last connection that failed.
    last: Option<ConnectionError>,
    /// Whether the failure of an attempt was logged since a connection was open.
    is_warned: bool,
    /// Whether it was logged that the server takes fewer connections than are wanted.
    is_limited: bool,
    /// The reason for which the stream cannot be received.
    failure: Option<ReceptionFailure>,
}

impl<F: FnMut(&ReceptionReport)> ReceptionTask<F> {
    /// A reception that has not started; fails if its recording cannot be written.
    pub(super) fn new(
        config: ReceiveConfig,
        stream: StreamId,
        sink: Sink,
        observe: F,
    ) -> Result<Self, ReceiveError> {
        let reception_config = ReceptionConfig {
            stream,
            receiver: ReceiverConfig {
                target: config.target(),
                controller: config.controller,
                buffer: config.buffer(),
                play_out: config.play_out,
                until: Time::MAX,
            },
            patience: config.patience,
        };
        let path = config.record.as_deref();
        let reception = RecordedReception::new(&reception_config, path).map_err(|source| {
            ReceiveError::Recording {
                path: path.unwrap_or(Path::new("")).to_owned(),
                source,
            }
        })?;
        Ok(Self {
            config: Arc::new(config),
            reception,
            clock: Clock::starting_now(),
            connections: Connections {
                known: BTreeMap::new(),
                events: mpsc::channel(EVENTS),
            },
            sink,
            delivered: Vec::new(),
            reports: Reports::new(observe),
            errors: Errors::default(),
        })
    }

    /// Receives the whole stream, or until `stop` ends.
    pub(super) async fn run(
        mut self,
        stop: impl Future<Output = ()>,
    ) -> Result<ReceptionReport, ReceiveError> {
        let received = tokio::select! {
            received = self.receive() => received,
            () = stop => Err(ReceiveError::Stopped),
        };
        if let Err(error) = received {
            self.end(ReceptionInput::Leave, LEAVE_WITHIN).await;
            return Err(error);
        }
        // All bytes are here: the server ends the stream at once if it learns that.
        self.end(ReceptionInput::Finish, FINISH_WITHIN).await;
        Ok(self.final_report())
    }

    async fn receive(&mut self) -> Result<(), ReceiveError> {
        self.wake(Wake::Input(ReceptionInput::Start));
        let mut renewal = tokio::time::interval(RENEW.into());
        let mut report = tokio::time::interval(REPORT.into());
        // At once otherwise.
        report.reset();
        while !self.reception.is_complete() {
            let wait = self.wait();
            tokio::select! {
                event = self.connections.events.1.recv() => {
                    // A sender of events is kept here: there is always one.
                    if let Some(event) = event {
                        self.handle_event(event);
                    }
                    self.drain();
                    // Also what came before an error.
                    self.write().await?;
                }
                () = tokio::time::sleep(wait) => self.handle_timeout(),
                _ = renewal.tick() => self.renew_windows(),
                _ = report.tick() => self.report(),
            }
            self.check()?;
        }
        let written = self.reports.totals.bytes;
        let closed = self.sink.close().await;
        closed.map_err(|source| ReceiveError::Output { written, source })
    }

    /// The time until the next deadline.
    fn wait(&self) -> std::time::Duration {
        let now = self.clock.now();
        let deadline = self.reception.deadline();
        let wait = deadline.map_or(REPORT, |due| due.at.max(now).since(now));
        wait.min(REPORT).into()
    }

    /// Handles the events that are waiting, so that their packets are written together.
    fn drain(&mut self) {
        while !self.reception.is_complete()
            && self.errors.failure.is_none()
            && self.delivered.len() < EVENTS
            && let Ok(event) = self.connections.events.1.try_recv()
        {
            self.handle_event(event);
        }
    }

    async fn write(&mut self) -> Result<(), ReceiveError> {
        if self.delivered.is_empty() {
            return Ok(());
        }
        let written = self.reports.totals.bytes;
        let packets = std::mem::take(&mut self.delivered);
        let failed = |source| ReceiveError::Output { written, source };
        for packet in &packets {
            self.sink.write(packet).await.map_err(failed)?;
        }
        self.sink.flush().await.map_err(failed)?;
        self.reports.totals.bytes += packets
            .iter()
            .map(|packet| packet.len() as u64)
            .sum::<u64>();
        Ok(())
    }

    fn handle_event(&mut self, event: ConnectionEvent) {
        let ConnectionEvent { connection, kind } = event;
        match kind {
            EventKind::Opened(socket) => self.on_opened(connection, socket),
            EventKind::Message(message) => {
                let message = message.map(|packet| SizedPacket {
                    size: units::Bytes(packet.len() as u64),
                    packet,
                });
                self.wake(Wake::Input(ReceptionInput::Message {
                    connection,
                    message,
                }));
            }
            EventKind::Ended {
                error,
                is_hello_sent,
            } => {
                self.connections.known.remove(&connection);
                let end = error.end(is_hello_sent);
                self.errors.present = Some(error);
                self.wake(Wake::Input(ReceptionInput::Ended { connection, end }));
            }
        }
    }

    fn on_opened(&mut self, connection: u32, socket: ConnectionSocket) {
        let rtt = socket.rtt();
        if let Some(opened) = self.connections.known.get_mut(&connection) {
            opened.socket = Some(socket);
        }
        self.errors.is_warned = false;
        if let Some(rtt) = rtt.filter(|_| self.reports.totals.rtt.is_none()) {
            self.set_rtt(rtt);
        }
    }

    fn handle_timeout(&mut self) {
        let now = self.clock.now();
        if self.reception.is_sample_due(now)
            && let Some(rtt) = self.connections.rtt()
        {
            self.set_rtt(rtt);
        }
        self.wake(Wake::Timeout);
    }

    fn set_rtt(&mut self, rtt: Duration) {
        self.reports.totals.rtt = Some(rtt);
        self.wake(Wake::Input(ReceptionInput::Rtt(rtt)));
    }

    fn renew_windows(&self) {
        for connection in self.reception.open_connections() {
            if let Some(packets) = self.reception.kernel_window(connection) {
                self.connections.set_window(connection, packets);
            }
        }
    }

    /// Wakes the machine and performs its outputs.
    fn wake(&mut self, wake: Wake<ReceptionInput<Bytes>>) {
        let now = self.clock.now();
        let Self {
            config,
            connections,
            delivered,
            reports,
            errors,
            ..
        } = self;
        self.reception.wake(now, wake, &mut |output| match output {
            ReceptionOutput::Open(opening) => connections.open(config, opening),
            ReceptionOutput::Send {
                connection,
                message,
            } => connections.send(connection, message),
            ReceptionOutput::SetWindow {
                connection,
                packets,
            } => connections.set_window(connection, packets),
            ReceptionOutput::Abandon(connection) => {
                connections.known.remove(&connection);
            }
            ReceptionOutput::Deliver(packet) => {
                reports.on_delivery(now);
                delivered.push(packet);
            }
            ReceptionOutput::Lost {
                connection,
                was_open,
            } => errors.on_lost(config, connection, was_open),
            ReceptionOutput::Limited => errors.on_limited(),
            ReceptionOutput::Failed(failure) => {
                errors.failure.get_or_insert(failure);
            }
        });
    }

    /// The error of a stream that cannot be received.
    fn check(&mut self) -> Result<(), ReceiveError> {
        let Some(failure) = self.errors.failure else {
            return Ok(());
        };
        let server = self.config.server;
        let errors = &mut self.errors;
        // That of a connection which another would repeat was not reported.
        let source = match failure {
            ReceptionFailure::Permanent => errors.present.take(),
            _ => errors.last.take(),
        };
        let source = source.unwrap_or(ConnectionError::NoAnswer);
        Err(match failure {
            ReceptionFailure::Refused(refusal) => ReceiveError::Refused { server, refusal },
            ReceptionFailure::TooEarly => ReceiveError::Wrong {
                server,
                source: ConnectionError::TooEarly,
            },
            ReceptionFailure::Permanent => ReceiveError::Wrong { server, source },
            ReceptionFailure::Unreachable => ReceiveError::Unreachable {
                server,
                patience: self.config.patience,
                source,
            },
        })
    }

    /// Sends the last message on all connections, and waits for the server to end them.
    async fn end(&mut self, last: ReceptionInput<Bytes>, patience: Duration) {
        self.wake(Wake::Input(last));
        let ended = async {
            while self.reception.has_connections()
                && let Some(event) = self.connections.events.1.recv().await
            {
                if matches!(event.kind, EventKind::Ended { .. }) {
                    self.handle_event(event);
                }
            }
        };
        let _ = tokio::time::timeout(patience.into(), ended).await;
    }
}

impl Connections {
    fn open(&mut self, config: &Arc<ReceiveConfig>, opening: Opening) {
        let (messages, outgoing) = mpsc::unbounded_channel();
        let opened = Connection {
            messages,
            socket: None,
        };
        self.known.insert(opening.hello.connection, opened);
        let first = FirstMessages {
            hello: opening.hello,
            failed: opening.failed,
            window: window_bytes(opening.window),
        };
        let events = self.events.0.clone();
        tokio::spawn(connection::run(Arc::clone(config), first, outgoing, events));
    }

    fn send(&self, connection: u32, message: ReceiverMessage) {
        if let Some(known) = self.known.get(&connection) {
            // It fails if the connection has ended, which its task reports.
            let _ = known.messages.send(message);
        }
    }

    /// Sets the kernel's window of a connection.
    fn set_window(&self, connection: u32, packets: u32) {
        let known = self.known.get(&connection);
        if let Some(socket) = known.and_then(|known| known.socket.as_ref())
            && let Err(error) = socket.set_window(window_bytes(packets))
        {
            // The connection has ended; its task reports that.
            tracing::debug!(connection, %error, "the window was not set");
        }
    }

    /// The shortest round-trip time.
    fn rtt(&self) -> Option<Duration> {
        let sockets = self.known.values().filter_map(|of| of.socket.as_ref());
        sockets.filter_map(ConnectionSocket::rtt).min()
    }
}

impl Errors {
    fn on_limited(&mut self) {
        let refusal = Refusal::Connections;
        if !std::mem::replace(&mut self.is_limited, true) {
            tracing::warn!("{refusal}");
        }
        self.last = Some(ConnectionError::Refused(refusal));
    }

    fn on_lost(&mut self, config: &ReceiveConfig, connection: u32, was_open: bool) {
        let Some(error) = self.present.take() else {
            return;
        };
        if was_open {
            tracing::warn!(connection, "a connection ended: {error}");
        } else if !std::mem::replace(&mut self.is_warned, true) {
            // Once, and not for each attempt.
            tracing::warn!("no connection to {}: {error}", config.server);
        }
        self.last = Some(error);
    }
}

/// The window of the kernel for this number of packets.
fn window_bytes(packets: u32) -> u32 {
    let size = u32::try_from(PACKET_ON_WIRE).unwrap_or(u32::MAX);
    size.saturating_mul(packets)
}
