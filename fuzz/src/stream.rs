//! The messages of a stream over several connections, and its sender under any receiver.

use polypath_core::connections::wire::{HEADER_LEN, ReceiverMessage, SenderMessage, message_len};
use polypath_core::connections::{SenderInput, StreamSender};
use polypath_core::machine::{Machine, Wake, step};
use polypath_core::time::Time;

/// The packets that the sender keeps.
const CAPACITY: u64 = 16;

/// A decoded message is encoded to the same bytes. A sender whose connections receive the messages
/// sends no packet twice on a connection that did not fail, and none further ahead of what the
/// receiver reported than it keeps.
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
