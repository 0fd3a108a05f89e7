//! The receiver's end, and its driver.

use polypath_core::connections::wire::{ReceiverMessage, SenderMessage};
use polypath_core::connections::{
    ConnectionEnd, FINISH_WITHIN, LEAVE_WITHIN, ReceiverConfig, Reception, ReceptionConfig,
    ReceptionInput, ReceptionOutput, SizedPacket,
};
use polypath_core::machine::{Deadline, Machine, Wake, step};
use polypath_core::time::{Duration, Time};

use super::run::{Event, Notice, Run};
use super::schedule::StreamSchedule;
use super::{RATE_INTERVAL, SETTLING_TIME, StreamMutant, StreamViolation};

/// The name of the stream.
const STREAM: [u8; 16] = [7; 16];
/// The time for which the server may be unreachable: longer than all faults.
const PATIENCE: Duration = Duration::from_secs(300);
/// The receiver.
pub(super) struct ReceiverSide {
    pub(super) reception: Reception<u64>,
    /// The number of packets delivered.
    pub(super) delivered: u64,
    /// The time of the last delivery, or of the start.
    pub(super) last_delivery: Time,
    /// The start of the interval over which the rate is checked, and the packets delivered until then.
    rate_checked: (Time, u64),
    has_rtt: bool,
    /// Whether the last messages were sent.
    pub(super) is_ending: bool,
    /// The time at which its program ended.
    pub(super) ended: Option<Time>,
}

impl ReceiverSide {
    pub(super) fn new(schedule: &StreamSchedule) -> Self {
        let config = ReceptionConfig {
            stream: STREAM,
            receiver: ReceiverConfig {
                target: schedule.target,
                controller: schedule.controller,
                buffer: schedule.buffer,
                play_out: None,
                until: Time::MAX,
            },
            patience: PATIENCE,
        };
        Self {
            reception: Reception::new(&config),
            delivered: 0,
            last_delivery: Time::ZERO,
            rate_checked: (Time::ZERO, 0),
            has_rtt: false,
            is_ending: false,
            ended: None,
        }
    }
}

impl Run<'_> {
    pub(super) fn start_receiver(&mut self) -> Result<(), StreamViolation> {
        self.receive(Wake::Input(ReceptionInput::Start))
    }

    pub(super) fn wake_receiver(&mut self, due: Deadline) -> Result<(), StreamViolation> {
        if self.receiver.reception.is_sample_due(self.now) {
            let rtt = self.rtt();
            self.receive(Wake::Input(ReceptionInput::Rtt(rtt)))?;
        }
        if self.options.mutant != StreamMutant::IgnoresDeadline {
            self.receive(Wake::Timeout)?;
        }
        let next = self.receiver.reception.deadline();
        match next {
            Some(next) if next.at <= self.now => Err(StreamViolation::StuckDeadline(due.why)),
            _ => Ok(()),
        }
    }

    pub(super) fn leave(&mut self) -> Result<(), StreamViolation> {
        if self.receiver.is_ending {
            return Ok(());
        }
        self.end_reception(ReceptionInput::Leave, LEAVE_WITHIN)
    }

    fn end_reception(
        &mut self,
        last: ReceptionInput<u64>,
        patience: Duration,
    ) -> Result<(), StreamViolation> {
        self.receiver.is_ending = true;
        self.at(self.now + patience, Event::Over);
        self.receive(Wake::Input(last))?;
        if !self.receiver.reception.has_connections() {
            self.over();
        }
        Ok(())
    }

    /// The receiver's program ends, and with it its connections, in order.
    pub(super) fn over(&mut self) {
        if self.receiver.ended.is_some() {
            return;
        }
        self.receiver.ended = Some(self.now);
        let numbers: Vec<u32> = self.connections.keys().copied().collect();
        for connection in numbers {
            self.forget(connection, true);
        }
    }

    /// The receiver forgets a connection, and ends it in order or not.
    fn forget(&mut self, connection: u32, in_order: bool) {
        let Some(known) = self.connections.get_mut(&connection) else {
            return;
        };
        if std::mem::replace(&mut known.at_receiver, false) {
            let arrives = self.arrival_at_server(connection, self.now);
            let end = Notice::Carried(in_order);
            self.at(arrives, Event::EndAtServer(connection, end));
        }
    }

    pub(super) fn on_message_of_server(
        &mut self,
        connection: u32,
        message: SenderMessage<u64>,
    ) -> Result<(), StreamViolation> {
        let Some(known) = self.connections.get(&connection) else {
            return Ok(());
        };
        if !known.at_receiver || known.is_silent_to_receiver {
            return Ok(());
        }
        if matches!(message, SenderMessage::Welcome { .. })
            && !std::mem::replace(&mut self.receiver.has_rtt, true)
        {
            let rtt = self.rtt();
            self.receive(Wake::Input(ReceptionInput::Rtt(rtt)))?;
        }
        let mut message = message.map(|packet| SizedPacket {
            packet,
            size: self.schedule.target.segment,
        });
        match &mut message {
            SenderMessage::Packet { sequence, .. } => {
                let acknowledged = self.arrival_at_server(connection, self.now);
                self.at(acknowledged, Event::Acknowledged(connection));
                match self.options.mutant {
                    StreamMutant::LosesPackets if self.stream.chance(0.01) => return Ok(()),
                    StreamMutant::SkipsNumbers if self.stream.chance(0.001) => *sequence += 10_000,
                    _ => {}
                }
            }
            SenderMessage::Refusal(_) => self.coverage.refused += 1,
            SenderMessage::Welcome { .. }
            | SenderMessage::Idle { .. }
            | SenderMessage::End { .. } => {}
        }
        if self.receiver.is_ending {
            return Ok(());
        }
        self.receive(Wake::Input(ReceptionInput::Message {
            connection,
            message,
        }))?;
        if self.receiver.reception.is_complete() {
            self.coverage.completed += 1;
            self.coverage.duplicates += self.receiver.reception.receiver().packets().duplicates;
            return self.end_reception(ReceptionInput::Finish, FINISH_WITHIN);
        }
        Ok(())
    }

    pub(super) fn end_at_receiver(
        &mut self,
        connection: u32,
        end: ConnectionEnd,
    ) -> Result<(), StreamViolation> {
        let known = self.connections.get(&connection);
        if !known.is_some_and(|known| known.at_receiver) {
            return Ok(());
        }
        self.forget(connection, end == ConnectionEnd::InOrder);
        self.receive(Wake::Input(ReceptionInput::Ended { connection, end }))?;
        if self.receiver.is_ending && !self.receiver.reception.has_connections() {
            self.over();
        }
        Ok(())
    }

    /// Wakes the reception and performs its outputs.
    fn receive(&mut self, wake: Wake<ReceptionInput<u64>>) -> Result<(), StreamViolation> {
        let mut outputs = Vec::new();
        step(
            &mut self.receiver.reception,
            self.now,
            wake,
            &mut |output| {
                outputs.push(output);
            },
        );
        outputs
            .into_iter()
            .try_for_each(|output| self.perform(output))
    }

    fn perform(&mut self, output: ReceptionOutput<u64>) -> Result<(), StreamViolation> {
        match output {
            ReceptionOutput::Open(opening) => {
                self.coverage.opened += 1;
                let mutant = self.options.mutant;
                if mutant != StreamMutant::NeverReplaces || opening.hello.connection <= 8 {
                    self.open(opening.window, opening.failed, opening.hello);
                }
            }
            ReceptionOutput::Send {
                connection,
                message,
            } => self.send_to_server(connection, message),
            ReceptionOutput::SetWindow {
                connection,
                packets,
            } => {
                if let Some(known) = self.connections.get_mut(&connection) {
                    known.window = packets;
                    if self.options.mutant == StreamMutant::NeverGrows && connection > 8 {
                        known.window = 1;
                    }
                    self.pump(connection);
                }
            }
            // After the messages to it: its program ends a moment later.
            ReceptionOutput::Abandon(connection) => self.forget(connection, true),
            ReceptionOutput::Deliver(packet) => return self.deliver(packet),
            ReceptionOutput::Lost { .. } => self.coverage.failed += 1,
            ReceptionOutput::Limited => {}
            ReceptionOutput::Failed(failure) => return Err(StreamViolation::Failed(failure)),
        }
        Ok(())
    }

    fn send_to_server(&mut self, connection: u32, mut message: ReceiverMessage) {
        let Some(known) = self.connections.get_mut(&connection) else {
            return;
        };
        if let ReceiverMessage::Progress(progress) = &mut message {
            known.permitted = known.permitted.max(progress.credit);
            match self.options.mutant {
                StreamMutant::OverstatesCredit => progress.credit += 10,
                StreamMutant::OverstatesProgress => progress.received += 1,
                _ => {}
            }
        }
        let at = self.now.max(known.is_connected_at);
        let arrives = self.arrival_at_server(connection, at);
        self.at(arrives, Event::ToServer(connection, message));
    }

    /// Checks, over intervals after the last fault, that the stream has a share of its rate.
    fn check_rate(&mut self) -> Result<(), StreamViolation> {
        let settled = self.schedule.calm_from() + SETTLING_TIME;
        let (since, delivered) = self.receiver.rate_checked;
        if self.now < settled {
            self.receiver.rate_checked = (settled, self.receiver.delivered);
            return Ok(());
        }
        let in_time = self.now.since(since);
        if in_time < RATE_INTERVAL {
            return Ok(());
        }
        self.receiver.rate_checked = (self.now, self.receiver.delivered);
        let delivered = self.receiver.delivered - delivered;
        let expected = self.schedule.expected_in(in_time);
        if delivered < expected {
            return Err(StreamViolation::Slow {
                delivered,
                expected,
                in_time,
            });
        }
        Ok(())
    }

    fn deliver(&mut self, packet: u64) -> Result<(), StreamViolation> {
        let calm = self.schedule.calm_from();
        if self.receiver.last_delivery < calm && self.now >= calm {
            let recovery = self.now.since(calm);
            self.coverage.slowest_recovery = self.coverage.slowest_recovery.max(recovery);
        }
        self.receiver.last_delivery = self.now;
        self.check_rate()?;
        let copies =
            if self.options.mutant == StreamMutant::DeliversTwice && packet.is_multiple_of(100) {
                2
            } else {
                1
            };
        for _ in 0..copies {
            let expected = self.receiver.delivered + 1;
            if packet != expected {
                let found = packet;
                return Err(StreamViolation::WrongOrder { expected, found });
            }
            self.receiver.delivered += 1;
        }
        Ok(())
    }
}
