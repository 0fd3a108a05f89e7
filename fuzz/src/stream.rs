//! The messages of a stream over several connections, its sender under any receiver, and its receiver
//! under any sender.

use polypath_core::connections::wire::{HEADER_LEN, ReceiverMessage, SenderMessage, message_len};
use polypath_core::connections::{
    ConnectionEnd, ControllerConfig, ReceiverConfig, Reception, ReceptionConfig, ReceptionInput,
    ReceptionOutput, SenderInput, SizedPacket, StreamSender, Target,
};
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};

/// The packets that the sender keeps.
const CAPACITY: u64 = 16;

/// A decoded message is encoded to the same bytes. A sender whose connections receive the messages
/// sends no packet twice on a connection that did not fail, and none further ahead of what the
/// receiver reported than it keeps. A receiver whose connections receive them delivers each packet
/// once and in order.
pub fn check(bytes: &[u8]) {
    if let Ok(message) = ReceiverMessage::decode(bytes) {
        let mut written = Vec::new();
        message.encode(&mut written);
        assert_eq!(written, bytes);
    }
    if let Ok(message) = SenderMessage::decode(bytes) {
        let mut written = Vec::new();
        message.encode(&mut written);
        assert_eq!(written, bytes);
    }
    check_sender(bytes);
    check_receiver(bytes);
}

/// Connection and message in turn: one byte for the number, of which 16 to 255 reset it.
fn check_sender(mut bytes: &[u8]) {
    let mut sender = StreamSender::<u64>::new(16, 0);
    let mut next = 1;
    while let Some((&first, rest)) = bytes.split_first() {
        let connection = u32::from(first % 16);
        let Some(len) = message_len(rest).filter(|len| *len <= rest.len()) else {
            return;
        };
        let (message, after) = rest.split_at(len.max(HEADER_LEN));
        bytes = after;
        let inputs = if first >= 16 {
            vec![SenderInput::Failed(connection)]
        } else {
            inputs_of(connection, message)
        };
        for input in inputs {
            wake(&mut sender, input);
        }
        while sender.wants_packet() {
            wake(&mut sender, SenderInput::Packet(next));
            next += 1;
        }
    }
}

fn inputs_of(connection: u32, message: &[u8]) -> Vec<SenderInput<u64>> {
    match ReceiverMessage::decode(message) {
        Ok(ReceiverMessage::Hello(hello)) => vec![
            SenderInput::Credit {
                connection,
                packets: 0,
            },
            SenderInput::Writable {
                connection,
                room: hello.buffer,
            },
        ],
        Ok(ReceiverMessage::Progress(progress)) => vec![
            SenderInput::Credit {
                connection,
                packets: progress.credit,
            },
            SenderInput::Received {
                packets: progress.received,
            },
        ],
        Ok(ReceiverMessage::Failed { connection, .. }) => vec![SenderInput::Failed(connection)],
        Ok(ReceiverMessage::Closing) => vec![SenderInput::Closing(connection)],
        Ok(ReceiverMessage::Open { .. } | ReceiverMessage::Leaving) | Err(_) => {
            vec![SenderInput::Finished(connection)]
        }
    }
}

fn wake(sender: &mut StreamSender<u64>, input: SenderInput<u64>) {
    let mut sent = Vec::new();
    step(sender, Time::ZERO, Wake::Input(input), &mut |output| {
        sent.push((output.sequence, output.packet));
    });
    for (sequence, packet) in sent {
        assert_eq!(sequence, packet, "packets have the numbers of their order");
        assert!(sequence > sender.received() && sequence <= sender.received() + CAPACITY);
    }
    assert!(sender.deadline().is_none());
}

/// The receiver of a stream, and the number of packets that it has delivered.
struct Receiver {
    reception: Reception<u64>,
    delivered: u64,
    now: Time,
}

/// Connection and message in turn: one byte for the number and the time, of which 192 to 255 end it.
fn check_receiver(mut bytes: &[u8]) {
    let target = Target {
        rate: Rate(1_000_000),
        segment: Bytes(1000),
    };
    let mut receiver = Receiver {
        reception: Reception::new(&ReceptionConfig {
            stream: [0; 16],
            receiver: ReceiverConfig {
                target,
                controller: ControllerConfig::auto(target, 8),
                buffer: 16,
                play_out: None,
                until: Time::MAX,
            },
            patience: Duration::from_secs(30),
        }),
        delivered: 0,
        now: Time::ZERO,
    };
    receiver.wake(Wake::Input(ReceptionInput::Start));
    while let Some((&first, rest)) = bytes.split_first() {
        let connection = u32::from(first % 16);
        receiver.wait(Duration::from_millis(u64::from(first)));
        let Some(len) = message_len(rest).filter(|len| *len <= rest.len()) else {
            return;
        };
        let (message, after) = rest.split_at(len.max(HEADER_LEN));
        bytes = after;
        let end = match first {
            0..192 => None,
            192..208 => Some(ConnectionEnd::InOrder),
            208..224 => Some(ConnectionEnd::Failed),
            224..240 => Some(ConnectionEnd::Unsent),
            240..=255 => Some(ConnectionEnd::Permanent),
        };
        if let Some(end) = end {
            receiver.wake(Wake::Input(ReceptionInput::Ended { connection, end }));
        } else if let Ok(message) = SenderMessage::decode(message) {
            receiver.receive(connection, message);
        }
    }
}

impl Receiver {
    /// The packets are the numbers of their order, as those of a sender are.
    fn receive(&mut self, connection: u32, message: SenderMessage<&[u8]>) {
        let number = match &message {
            SenderMessage::Packet { sequence, .. } => *sequence,
            _ => 0,
        };
        let message = message.map(|payload| SizedPacket {
            packet: number,
            size: Bytes(payload.len() as u64),
        });
        self.wake(Wake::Input(ReceptionInput::Message {
            connection,
            message,
        }));
    }

    fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(due) = self.reception.deadline().filter(|due| due.at <= until) {
            self.now = self.now.max(due.at);
            self.wake(Wake::Timeout);
            let next = self.reception.deadline();
            assert!(next.is_none_or(|next| next.at > self.now), "{}", due.why);
        }
        self.now = until;
    }

    fn wake(&mut self, wake: Wake<ReceptionInput<u64>>) {
        let delivered = &mut self.delivered;
        step(&mut self.reception, self.now, wake, &mut |output| {
            if let ReceptionOutput::Deliver(packet) = output {
                *delivered += 1;
                assert_eq!(packet, *delivered, "packets are delivered in order");
            }
        });
    }
}
