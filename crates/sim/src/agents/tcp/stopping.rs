//! A test of what a TCP source sends after its stop.

use polypath_core::machine::{Machine, Wake, step};
use polypath_core::time::{Duration, Time};

use crate::tcp::{Receiver, Segment, SegmentKind, TcpConfig, TcpOutput};

/// The routes from the source to the sink and back.
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// Runs a source over a pipe without loss until it has nothing left to do, and counts the segments
/// that it sends for the first time before `stop`, and from then on.
pub(super) fn new_data_after(
    source: &mut impl Machine<Input = Segment, Output = TcpOutput>,
    stop: Time,
) -> (u32, u32) {
    let mut receiver = Receiver::new(&TcpConfig::default());
    let mut acks: Vec<(Time, Segment)> = Vec::new();
    let (mut highest, mut before, mut after) = ((0, 0), 0, 0);
    loop {
        let timer = source.deadline().map(|deadline| deadline.at);
        let (now, wake) = match acks.first() {
            Some((at, _)) if timer.is_none_or(|timer| *at <= timer) => {
                let (at, ack) = acks.remove(0);
                (at, Wake::Input(ack))
            }
            _ => match timer {
                Some(at) => (at, Wake::Timeout),
                None => return (before, after),
            },
        };
        assert!(now < stop + Duration::from_secs(60), "it does not end");
        let mut sent = Vec::new();
        step(source, now, wake, &mut |o| sent.extend(o.segment()));
        for data in sent {
            debug_assert_eq!(data.kind, SegmentKind::Data);
            let place = (data.connection, data.number + 1);
            if place > highest {
                highest = place;
                *(if now < stop { &mut before } else { &mut after }) += 1;
            }
            receiver.handle_input(now, data, &mut |ack| acks.push((now + ROUND_TRIP, ack)));
        }
    }
}
