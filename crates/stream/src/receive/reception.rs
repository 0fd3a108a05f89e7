//! Drives the receiver of a stream.

mod reports;
mod windows;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use polypath_core::connections::wire::{Hello, Progress, ReceiverMessage, Refusal, StreamId};
use polypath_core::connections::{
    Credits, ReceiverConfig, ReceiverInput, ReceiverOutput, SizedPacket, StreamReceiver,
};
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::time::{Duration, Time};
use polypath_core::units;
use polypath_live::clock::Clock;
use tokio::sync::mpsc;

use super::connection::{self, ConnectionEvent, EventKind, Opening};
use super::{ConnectionError, PACKET_ON_WIRE, ReceiveConfig, ReceiveError, ReceptionReport};
use crate::sink::Sink;
use crate::socket::ConnectionSocket;
use windows::window_bytes;

/// The events of connections that may wait; beyond it connections are not read.
const EVENTS: usize = 64;
/// The interval at which the kernel's windows are set again (it grows them by itself).
const RENEW: Duration = Duration::from_millis(50);
/// The interval of reports.
const REPORT: Duration = Duration::from_secs(1);
/// The time that the server has to end its connections at the end of the stream.
const FINISH: Duration = Duration::from_secs(5);
/// The time that it has if the receiver ends the stream before.
const LEAVE: Duration = Duration::from_secs(1);

/// The reception of a stream.
pub(super) struct Reception<F: FnMut(&ReceptionReport)> {
    config: Arc<ReceiveConfig>,
    machine: StreamReceiver<Bytes>,
    credits: Credits,
    stream: StreamId,
    /// The identity of the source; 0 before the first welcome.
    source: u64,
    clock: Clock,
    connections: BTreeMap<u32, Connection>,
    events: (
        mpsc::Sender<ConnectionEvent>,
        mpsc::Receiver<ConnectionEvent>,
    ),
    sink: Sink,
    /// The packets delivered by the machine, and not yet written.
    delivered: Vec<Bytes>,
    observe: F,
    totals: ReceptionReport,
    /// The bytes and the time of the report before.
    last_report: (u64, Time),
    /// The time of the last delivery.
    last_delivery: Time,
    /// The time since which no connection carries the stream.
    unreachable_since: Time,
    /// Whether the failure of an attempt was logged since a connection was open.
    is_warned: bool,
    /// Whether the server takes fewer connections than are wanted, which is logged once.
    is_limited: bool,
    /// The error of the last connection that failed.
    last_error: Option<ConnectionError>,
    /// The number of packets of the stream, once it is known.
    total: Option<u64>,
}

/// A connection of the receiver.
struct Connection {
    messages: mpsc::UnboundedSender<ReceiverMessage>,
    /// The wanted window in packets.
    window: u32,
    /// The credit that was given last.
    credit: u64,
    /// Its socket, once it carries the stream.
    socket: Option<ConnectionSocket>,
    /// Whether the receiver wants no further packets on it.
    is_closing: bool,
}

impl<F: FnMut(&ReceptionReport)> Reception<F> {
    pub(super) fn new(config: ReceiveConfig, stream: StreamId, sink: Sink, observe: F) -> Self {
        let machine = StreamReceiver::new(&ReceiverConfig {
            target: config.target(),
            controller: config.controller,
            buffer: config.buffer(),
            play_out: config.play_out,
            until: Time::MAX,
        });
        Self {
            credits: Credits::new(
                config.target(),
                config.controller.control().guard,
                config.buffer(),
            ),
            config: Arc::new(config),
            machine,
            stream,
            source: 0,
            clock: Clock::starting_now(),
            connections: BTreeMap::new(),
            events: mpsc::channel(EVENTS),
            sink,
            delivered: Vec::new(),
            observe,
            totals: ReceptionReport::default(),
            last_report: (0, Time::ZERO),
            last_delivery: Time::ZERO,
            unreachable_since: Time::ZERO,
            is_warned: false,
            is_limited: false,
            last_error: None,
            total: None,
        }
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
            self.notify(LEAVE, |_| ReceiverMessage::Leaving).await;
            return Err(error);
        }
        // All bytes are here: the server ends the stream at once if it learns that.
        let received = self.machine.received();
        self.notify(FINISH, |connection| connection.progress(received))
            .await;
        Ok(self.final_report())
    }

    async fn receive(&mut self) -> Result<(), ReceiveError> {
        self.wake(Wake::Input(ReceiverInput::Start));
        let mut renewal = tokio::time::interval(std_duration(RENEW));
        let mut report = tokio::time::interval(std_duration(REPORT));
        // At once otherwise.
        report.reset();
        while !self.is_complete() {
            let wait = self.wait();
            tokio::select! {
                event = self.events.1.recv() => {
                    // A sender of events is kept here: there is always one.
                    let handled = event.map_or(Ok(()), |event| self.handle_event(event));
                    let handled = handled.and_then(|()| self.drain());
                    // Also what came before an error.
                    self.write().await?;
                    handled?;
                }
                () = tokio::time::sleep(wait) => self.handle_timeout(),
                _ = renewal.tick() => self.renew_windows(),
                _ = report.tick() => {
                    self.report();
                    self.check_reachable()?;
                }
            }
        }
        let written = self.totals.bytes;
        let closed = self.sink.close().await;
        closed.map_err(|source| ReceiveError::Output { written, source })
    }

    fn is_complete(&self) -> bool {
        self.total == Some(self.machine.received())
    }

    /// The time until the next deadline.
    fn wait(&self) -> std::time::Duration {
        let deadlines = [self.machine.deadline(), self.credits.deadline()];
        let deadline = deadlines.into_iter().flatten().map(|of| of.at).min();
        let now = self.clock.now();
        let wait = deadline.map_or(REPORT, |at| at.max(now).since(now));
        std_duration(wait.min(REPORT))
    }

    /// Handles the events that are waiting, so that their packets are written together.
    fn drain(&mut self) -> Result<(), ReceiveError> {
        while !self.is_complete()
            && self.delivered.len() < EVENTS
            && let Ok(event) = self.events.1.try_recv()
        {
            self.handle_event(event)?;
        }
        Ok(())
    }

    async fn write(&mut self) -> Result<(), ReceiveError> {
        if self.delivered.is_empty() {
            return Ok(());
        }
        let written = self.totals.bytes;
        let packets = std::mem::take(&mut self.delivered);
        let failed = |source| ReceiveError::Output { written, source };
        for packet in &packets {
            self.sink.write(packet).await.map_err(failed)?;
        }
        self.sink.flush().await.map_err(failed)?;
        self.totals.bytes += packets
            .iter()
            .map(|packet| packet.len() as u64)
            .sum::<u64>();
        Ok(())
    }

    fn handle_event(&mut self, event: ConnectionEvent) -> Result<(), ReceiveError> {
        let ConnectionEvent { connection, kind } = event;
        match kind {
            EventKind::Opened { socket, source } => self.on_opened(connection, socket, source),
            EventKind::Packet { sequence, payload } => {
                return self.on_packet(connection, sequence, payload);
            }
            EventKind::End(packets) => self.total = Some(packets),
            EventKind::Refused(refusal) => return self.on_refused(connection, refusal),
            EventKind::Ended(error) => return self.on_ended(connection, error),
        }
        Ok(())
    }

    fn on_opened(&mut self, connection: u32, socket: ConnectionSocket, source: u64) {
        self.source = source;
        let Some(opened) = self.connections.get_mut(&connection) else {
            return;
        };
        let rtt = socket.rtt();
        opened.socket = Some(socket);
        if !opened.is_closing {
            self.credits.set_window(connection, opened.window);
        }
        self.is_warned = false;
        self.wake(Wake::Input(ReceiverInput::Welcome(connection)));
        self.renew_window(connection);
        if let Some(rtt) = rtt.filter(|_| self.totals.rtt.is_none()) {
            self.set_rtt(rtt);
        }
        self.give_credits();
    }

    fn on_packet(
        &mut self,
        connection: u32,
        sequence: u64,
        payload: Bytes,
    ) -> Result<(), ReceiveError> {
        let packet = SizedPacket {
            size: units::Bytes(payload.len() as u64),
            packet: payload,
        };
        self.credits.on_packet(connection);
        let mut is_refused = false;
        let input = ReceiverInput::Packet {
            connection,
            sequence,
            packet,
        };
        self.wake_noting(Wake::Input(input), &mut is_refused);
        if is_refused {
            return Err(self.wrong(ConnectionError::TooEarly));
        }
        self.give_credits();
        Ok(())
    }

    fn on_refused(&mut self, connection: u32, refusal: Refusal) -> Result<(), ReceiveError> {
        let mut others = self
            .connections
            .iter()
            .filter(|(other, _)| **other != connection);
        // Another connection than this one carries the stream, or may.
        if refusal == Refusal::Connections && others.any(|(_, other)| !other.is_closing) {
            if !std::mem::replace(&mut self.is_limited, true) {
                tracing::warn!("{refusal}");
            }
            if let Some(refused) = self.connections.get_mut(&connection) {
                refused.is_closing = true;
            }
            self.wake(Wake::Input(ReceiverInput::Refused(connection)));
            return Ok(());
        }
        let server = self.config.server;
        Err(ReceiveError::Refused { server, refusal })
    }

    fn on_ended(&mut self, connection: u32, error: ConnectionError) -> Result<(), ReceiveError> {
        let ended = self.connections.remove(&connection);
        self.credits.remove(connection);
        // One that never opened does not show that the server is reachable.
        let was_open = ended.as_ref().is_some_and(|ended| ended.socket.is_some());
        if was_open && !self.is_reachable() {
            self.unreachable_since = self.clock.now();
        }
        if self.is_complete() {
            return Ok(());
        }
        let is_wanted = ended.is_some_and(|ended| !ended.is_closing);
        // A server ends a connection in order after it was asked to, or has refused it. Another end
        // is that of a device on the way, of which the server may not know.
        let input = match error {
            ConnectionError::Ended if !is_wanted => ReceiverInput::Ended(connection),
            _ => ReceiverInput::Failed(connection),
        };
        self.wake(Wake::Input(input));
        if !is_wanted {
            return Ok(());
        }
        self.totals.failed += 1;
        // One that was open has the key and speaks the protocol: its bytes were damaged on the way.
        if !was_open && error.is_permanent() {
            return Err(self.wrong(error));
        }
        if was_open {
            tracing::warn!(connection, "a connection ended: {error}");
        } else if !std::mem::replace(&mut self.is_warned, true) {
            // Once, and not for each attempt.
            tracing::warn!("no connection to {}: {error}", self.config.server);
        }
        self.last_error = Some(error);
        Ok(())
    }

    fn name_failed(&self, connection: u32) {
        let stream = self.stream;
        for other in self.connections.values() {
            // If it is not open yet, the server reads this after the hello.
            other.send(ReceiverMessage::Failed { stream, connection });
        }
    }

    fn wrong(&self, source: ConnectionError) -> ReceiveError {
        let server = self.config.server;
        ReceiveError::Wrong { server, source }
    }

    fn handle_timeout(&mut self) {
        let now = self.clock.now();
        if self.machine.is_sample_due(now)
            && let Some(rtt) = self.measured_rtt()
        {
            self.set_rtt(rtt);
        }
        self.wake(Wake::Timeout);
        self.give_credits();
    }

    fn set_rtt(&mut self, rtt: Duration) {
        self.totals.rtt = Some(rtt);
        self.credits.set_rtt(rtt);
        self.wake(Wake::Input(ReceiverInput::Rtt(rtt)));
    }

    fn wake(&mut self, wake: Wake<ReceiverInput<Bytes>>) {
        self.wake_noting(wake, &mut false);
    }

    /// Wakes the machine and performs its outputs; sets `is_refused` if it refused a packet.
    fn wake_noting(&mut self, wake: Wake<ReceiverInput<Bytes>>, is_refused: &mut bool) {
        let now = self.clock.now();
        let mut outputs = Vec::new();
        step(&mut self.machine, now, wake, &mut |output| {
            outputs.push(output);
        });
        for output in outputs {
            match output {
                ReceiverOutput::Open { connection, window } => self.open(connection, window),
                ReceiverOutput::SetWindow { connection, window } => {
                    self.set_window(connection, window);
                }
                ReceiverOutput::Close(connection) => self.close(connection),
                ReceiverOutput::NameFailed(connection) => self.name_failed(connection),
                ReceiverOutput::Deliver(packet) => self.deliver(now, packet),
                ReceiverOutput::Refused { .. } => *is_refused = true,
                ReceiverOutput::Controlled(decision) => {
                    self.totals.window_sum = decision.wanted.sum();
                }
                ReceiverOutput::Player(_) => {}
            }
        }
    }

    fn open(&mut self, connection: u32, window: u32) {
        let (messages, outgoing) = mpsc::unbounded_channel();
        let hello = Hello {
            stream: self.stream,
            connection,
            received: self.machine.received(),
            buffer: self.config.buffer(),
            source: self.source,
        };
        self.totals.opened += 1;
        let (config, events) = (Arc::clone(&self.config), self.events.0.clone());
        let opening = Opening {
            hello,
            failed: self.machine.failed().collect(),
            // Larger than the window of credits, as that of the kernel always is.
            window: window_bytes(window.saturating_mul(2)),
        };
        tokio::spawn(connection::run(config, opening, outgoing, events));
        let opened = Connection {
            messages,
            window,
            credit: 0,
            socket: None,
            is_closing: false,
        };
        self.connections.insert(connection, opened);
    }

    fn close(&mut self, connection: u32) {
        if let Some(known) = self.connections.get_mut(&connection) {
            known.is_closing = true;
            self.credits.remove(connection);
            // If it is not open yet, the server reads this after the hello.
            known.send(ReceiverMessage::Closing);
        }
    }

    fn deliver(&mut self, now: Time, packet: Bytes) {
        let gap = now.since(self.last_delivery);
        if self.totals.packets > 0 {
            self.totals.longest_gap = self.totals.longest_gap.max(gap);
        }
        self.last_delivery = now;
        self.totals.packets += 1;
        self.delivered.push(packet);
    }

    /// The connections that carry the stream.
    fn carrying(&self) -> impl Iterator<Item = &Connection> {
        self.connections.values().filter(|of| of.socket.is_some())
    }

    fn is_reachable(&self) -> bool {
        self.carrying().next().is_some()
    }

    fn check_reachable(&mut self) -> Result<(), ReceiveError> {
        let (now, patience) = (self.clock.now(), self.config.patience);
        if self.is_reachable() || now.since(self.unreachable_since) < patience {
            return Ok(());
        }
        Err(ReceiveError::Unreachable {
            server: self.config.server,
            patience,
            source: self.last_error.take().unwrap_or(ConnectionError::NoAnswer),
        })
    }

    /// Sends the last message on all connections, and waits for the server to end them.
    async fn notify(
        &mut self,
        patience: Duration,
        message: impl Fn(&Connection) -> ReceiverMessage,
    ) {
        self.connections.retain(|_, open| open.socket.is_some());
        for connection in self.connections.values() {
            connection.send(message(connection));
        }
        let finished = async {
            while !self.connections.is_empty()
                && let Some(event) = self.events.1.recv().await
            {
                if let EventKind::Ended(_) = event.kind {
                    self.connections.remove(&event.connection);
                }
            }
        };
        let _ = tokio::time::timeout(std_duration(patience), finished).await;
    }
}

impl Connection {
    /// Reports the credit and the number of packets received.
    fn report(&self, received: u64) {
        self.send(self.progress(received));
    }

    fn send(&self, message: ReceiverMessage) {
        // It fails if the connection has ended, which its task reports.
        let _ = self.messages.send(message);
    }

    fn progress(&self, received: u64) -> ReceiverMessage {
        ReceiverMessage::Progress(Progress {
            credit: self.credit,
            received,
        })
    }
}

/// The same span for the timers of Tokio.
fn std_duration(span: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(span.0)
}
