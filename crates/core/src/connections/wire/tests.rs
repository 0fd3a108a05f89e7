//! Messages survive encoding, and no bytes panic.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

fn receiver_message() -> impl Strategy<Value = ReceiverMessage> {
    let hello = any::<(StreamId, u32, u64, u32, u64)>().prop_map(
        |(stream, connection, received, buffer, source)| {
            ReceiverMessage::Hello(Hello {
                stream,
                connection,
                received,
                buffer,
                source,
            })
        },
    );
    let progress = any::<(u64, u64)>()
        .prop_map(|(credit, received)| ReceiverMessage::Progress(Progress { credit, received }));
    let open =
        any::<(StreamId, u16)>().prop_map(|(stream, port)| ReceiverMessage::Open { stream, port });
    let failed = any::<(StreamId, u32)>()
        .prop_map(|(stream, connection)| ReceiverMessage::Failed { stream, connection });
    let empty = prop_oneof![
        Just(ReceiverMessage::Closing),
        Just(ReceiverMessage::Leaving)
    ];
    prop_oneof![hello, progress, open, failed, empty]
}

fn sender_message() -> impl Strategy<Value = SenderMessage<Vec<u8>>> {
    let payload = prop::collection::vec(any::<u8>(), 0..MAX_PAYLOAD);
    prop_oneof![
        any::<u64>().prop_map(|source| SenderMessage::Welcome { source }),
        prop::sample::select(REASONS.to_vec()).prop_map(SenderMessage::Refusal),
        (any::<(u64, bool)>(), payload).prop_map(
            |((sequence, is_application_limited), payload)| {
                SenderMessage::Packet {
                    sequence,
                    is_application_limited,
                    payload,
                }
            }
        ),
        any::<u64>().prop_map(|packets| SenderMessage::Idle { packets }),
        any::<u64>().prop_map(|packets| SenderMessage::End { packets }),
    ]
}

proptest! {
    #[test]
    fn messages_of_receivers_are_read_as_they_were_written(message in receiver_message()) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        prop_assert_eq!(message_len(&bytes), Some(bytes.len()));
        prop_assert_eq!(ReceiverMessage::decode(&bytes), Ok(message));
        bytes.pop();
        prop_assert!(ReceiverMessage::decode(&bytes).is_err());
    }

    #[test]
    fn messages_of_senders_are_read_as_they_were_written(message in sender_message()) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        prop_assert_eq!(message_len(&bytes), Some(bytes.len()));
        let read = SenderMessage::decode(&bytes).unwrap();
        prop_assert_eq!(read.map(<[u8]>::to_vec), message);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = (message_len(&bytes), ReceiverMessage::decode(&bytes), SenderMessage::decode(&bytes));
    }
}

#[test]
fn other_versions_kinds_lengths_and_reasons_are_errors() {
    let mut hello = vec![1, 0, 1, 9];
    assert_eq!(
        ReceiverMessage::decode(&hello),
        Err(MessageError::Version(9))
    );
    hello[3] = VERSION;
    let short = MessageError::Length { kind: 1, len: 1 };
    assert_eq!(ReceiverMessage::decode(&hello), Err(short));
    let long = MessageError::Length { kind: 3, len: 1 };
    assert_eq!(ReceiverMessage::decode(&[3, 0, 1, 0]), Err(long));
    assert_eq!(
        ReceiverMessage::decode(b"GET"),
        Err(MessageError::Length { kind: b'G', len: 0 })
    );
    assert_eq!(
        SenderMessage::decode(&[2, 0, 0]),
        Err(MessageError::Kind(2))
    );
    assert_eq!(
        SenderMessage::decode(&[17, 0, 1, 9]),
        Err(MessageError::Reason(9))
    );
}
