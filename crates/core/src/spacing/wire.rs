//! The wire format of the messages.
//!
//! | bytes | packet | feedback | ping, pong, round-trip time |
//! | --- | --- | --- | --- |
//! | 1 | kind: 0 | 1 | 2, 3, 4 |
//! | 8 | sequence | number | time |
//! | 8 | send time | end | |
//! | 8 | round-trip time | received | |
//! | 8 | | end of the losses | |
//! | 8 | | distinct arrivals | |
//! | 8 | | late ones | |
//! | 8 | | duplicates | |
//! | 8 | | echoed send time | |
//! | 8 | | hold | |
//! | rest | payload | | |
//!
//! Numbers are big-endian, and times are in nanoseconds. A message of any other form is rejected.

use alloc::vec::Vec;

use super::message::{Arrivals, Feedback, Message, SpacedHeader};
use crate::time::{Duration, Time};
use crate::wire::WireError;

/// The length of a packet's header in bytes.
pub const HEADER_LEN: usize = 1 + 3 * 8;
/// The length of a feedback in bytes.
pub const FEEDBACK_LEN: usize = 1 + 9 * 8;
/// The length of a ping, of a pong and of a round-trip time in bytes.
pub(super) const TIME_LEN: usize = 1 + 8;

/// Appends the message to `to`; the caller appends the payload of a packet.
pub fn encode(message: &Message, to: &mut Vec<u8>) {
    let mut write = |kind: u8, numbers: &[u64]| {
        to.push(kind);
        to.extend(numbers.iter().flat_map(|n| n.to_be_bytes()));
    };
    match message {
        Message::Packet(h) => write(0, &[h.sequence, h.sent.0, h.rtt.0]),
        Message::Feedback(f) => {
            let Arrivals {
                distinct,
                late,
                duplicates,
            } = f.arrivals;
            let counts = [
                f.number, f.end, f.received, f.lost_end, distinct, late, duplicates,
            ];
            write(1, &counts);
            to.extend([f.echo.0, f.hold.0].iter().flat_map(|n| n.to_be_bytes()));
        }
        Message::Ping(sent) => write(2, &[sent.0]),
        Message::Pong(sent) => write(3, &[sent.0]),
        Message::RoundTrip(rtt) => write(4, &[rtt.0]),
    }
}

/// Decodes a message and returns it with the rest: the payload of a packet.
///
/// # Errors
/// The message has an unknown kind or the wrong length.
pub fn decode(bytes: &[u8]) -> Result<(Message, &[u8]), WireError> {
    let (&kind, rest) = bytes.split_first().ok_or(WireError::Short(0))?;
    let short = WireError::Short(bytes.len());
    let (message, rest) = match kind {
        0 => {
            let ([sequence, sent, rtt], payload) = numbers(rest).ok_or(short)?;
            let (sent, rtt) = (Time(sent), Duration(rtt));
            return Ok((
                Message::Packet(SpacedHeader {
                    sequence,
                    sent,
                    rtt,
                }),
                payload,
            ));
        }
        1 => numbers(rest).map(|(fields, rest)| (Message::Feedback(feedback(fields)), rest)),
        2 => numbers(rest).map(|([sent], rest)| (Message::Ping(Time(sent)), rest)),
        3 => numbers(rest).map(|([sent], rest)| (Message::Pong(Time(sent)), rest)),
        4 => numbers(rest).map(|([rtt], rest)| (Message::RoundTrip(Duration(rtt)), rest)),
        _ => return Err(WireError::Kind(kind)),
    }
    .ok_or(short)?;
    match rest {
        [] => Ok((message, rest)),
        _ => Err(WireError::Long(bytes.len())),
    }
}

fn feedback(fields: [u64; 9]) -> Feedback {
    let [
        number,
        end,
        received,
        lost_end,
        distinct,
        late,
        duplicates,
        echo,
        hold,
    ] = fields;
    Feedback {
        number,
        end,
        received,
        lost_end,
        arrivals: Arrivals {
            distinct,
            late,
            duplicates,
        },
        echo: Time(echo),
        hold: Duration(hold),
    }
}

fn numbers<const N: usize>(mut bytes: &[u8]) -> Option<([u64; N], &[u8])> {
    let mut read = [0; N];
    for number in &mut read {
        let (first, rest) = bytes.split_first_chunk()?;
        *number = u64::from_be_bytes(*first);
        bytes = rest;
    }
    Some((read, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn messages() -> impl Strategy<Value = Message> {
        let header = any::<(u64, u64, u64)>().prop_map(|(sequence, sent, rtt)| SpacedHeader {
            sequence,
            sent: Time(sent),
            rtt: Duration(rtt),
        });
        prop_oneof![
            header.prop_map(Message::Packet),
            any::<[u64; 9]>().prop_map(|fields| Message::Feedback(feedback(fields))),
            any::<u64>().prop_map(|sent| Message::Ping(Time(sent))),
            any::<u64>().prop_map(|sent| Message::Pong(Time(sent))),
            any::<u64>().prop_map(|rtt| Message::RoundTrip(Duration(rtt))),
        ]
    }

    proptest! {
        #[test]
        fn an_encoded_message_decodes_to_itself(message in messages(), payload in any::<[u8; 3]>()) {
            let mut bytes = Vec::new();
            encode(&message, &mut bytes);
            prop_assert_eq!(bytes.len(), message.len());
            prop_assert_eq!(decode(&bytes), Ok((message, &[][..])));
            for keep in 0..bytes.len() {
                prop_assert_eq!(decode(&bytes[..keep]), Err(WireError::Short(keep)));
            }
            bytes.extend(payload);
            let expected = match message {
                Message::Packet(_) => Ok((message, &payload[..])),
                _ => Err(WireError::Long(bytes.len())),
            };
            prop_assert_eq!(decode(&bytes), expected);
        }

        #[test]
        fn decoding_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Ok((message, payload)) = decode(&bytes) {
                let mut again = Vec::new();
                encode(&message, &mut again);
                again.extend_from_slice(payload);
                prop_assert_eq!(again, bytes);
            }
        }
    }

    #[test]
    fn the_lengths_match_the_table() {
        let mut bytes = Vec::new();
        encode(&Message::Feedback(Feedback::default()), &mut bytes);
        assert_eq!(bytes.len(), FEEDBACK_LEN);
        assert_eq!(
            decode(&[0; HEADER_LEN - 1]),
            Err(WireError::Short(HEADER_LEN - 1))
        );
        assert_eq!(decode(&[5]), Err(WireError::Kind(5)));
    }
}
