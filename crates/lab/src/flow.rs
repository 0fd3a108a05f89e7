//! A flow of 50 messages per second, and its outages.
//!
//! Each message carries its number and is due at a fixed time, however late the previous one left;
//! its latency therefore includes the time for which the sender was blocked.

use std::io;
use std::thread::sleep;

use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;

/// The interval between two messages.
pub const INTERVAL: Duration = Duration::from_millis(20);
/// The size of a message in bytes.
pub const LEN: usize = 1000;
/// The size of the number at the start of a message, in bytes.
const NUMBER_LEN: usize = 4;

/// The arrival of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The number of the message, from 0.
    pub number: u32,
    /// The time of arrival.
    pub at: Time,
}

impl Arrival {
    /// The time from the message's due time in a flow started at `start` to its arrival.
    #[must_use]
    pub fn latency(&self, start: Time) -> Duration {
        self.at.since(start + INTERVAL * u64::from(self.number))
    }
}

/// Sends messages, the first one now, while `wanted` returns true for the number of the next;
/// returns their number. Fails if `write` does.
pub fn send(
    clock: Clock,
    mut wanted: impl FnMut(u32) -> bool,
    mut write: impl FnMut(&[u8; LEN]) -> io::Result<()>,
) -> io::Result<u32> {
    let start = clock.now();
    let mut number = 0;
    while wanted(number) {
        let mut message = [0; LEN];
        message[..NUMBER_LEN].copy_from_slice(&number.to_be_bytes());
        write(&message)?;
        number += 1;
        pause((start + INTERVAL * u64::from(number)).since(clock.now()));
    }
    Ok(number)
}

/// Receives messages until the end of the stream, or until `read` times out and `over` returns
/// true.
///
/// Fails if `read` fails for another reason than a timeout.
pub fn receive(
    clock: Clock,
    mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    over: impl Fn() -> bool,
) -> io::Result<Vec<Arrival>> {
    let (mut arrivals, mut buffer, mut filled) = (Vec::new(), [0; LEN], 0);
    loop {
        match read(&mut buffer[filled..]) {
            Ok(0) => return Ok(arrivals),
            Ok(len) => filled += len,
            Err(e) if is_timeout(&e) && over() => return Ok(arrivals),
            Err(e) if is_timeout(&e) => {}
            Err(e) => return Err(e),
        }
        if filled == LEN {
            let digits = buffer[..NUMBER_LEN].iter();
            let number = digits.fold(0, |number, byte| number << 8 | u32::from(*byte));
            let at = clock.now();
            arrivals.push(Arrival { number, at });
            filled = 0;
        }
    }
}

/// The longest gap between arrivals that ended after `from` and began before `until`, minus
/// [`INTERVAL`]; `None` if there is no such gap.
#[must_use]
pub fn outage(arrivals: &[Arrival], from: Time, until: Time) -> Option<Duration> {
    let first = arrivals.partition_point(|arrival| arrival.at <= from);
    let pairs = arrivals[first.saturating_sub(1)..].windows(2);
    let gaps = pairs.take_while(|pair| pair[0].at < until);
    let longest = gaps.map(|pair| pair[1].at.since(pair[0].at)).max()?;
    Some(Duration(longest.0.saturating_sub(INTERVAL.0)))
}

/// The timeout of reads, after which a thread checks whether the run is over.
pub(crate) const READ_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(100);

/// Blocks the thread for `span`.
pub fn pause(span: Duration) {
    sleep(span.into());
}

/// Whether nothing arrived or was accepted in time, or a signal interrupted the wait.
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(ms: &[u64]) -> Vec<Arrival> {
        let at = |ms: &u64| Time::ZERO + Duration::from_millis(*ms);
        let numbered = (0..).zip(ms);
        numbered
            .map(|(number, ms)| Arrival { number, at: at(ms) })
            .collect()
    }

    #[test]
    fn an_outage_is_the_longest_gap_minus_the_interval() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let arrivals = arrivals(&[0, 20, 40, 180, 200, 1200, 1220]);
        let found = |from, until| {
            let outage = outage(&arrivals, at(from), at(until))?;
            Some(outage.as_nanos() / 1_000_000)
        };
        assert_eq!(found(50, 100), Some(120));
        assert_eq!(found(40, 150), Some(120));
        assert_eq!(found(190, 201), Some(980));
        assert_eq!(found(190, 200), Some(0));
        assert_eq!(found(1220, 1300), None);
    }

    #[test]
    fn messages_are_reassembled_from_a_stream() {
        let clock = Clock::starting_now();
        let mut stream = Vec::new();
        let sent = send(
            clock,
            |number| number < 3,
            |message| {
                stream.extend_from_slice(message);
                Ok(())
            },
        );
        assert_eq!(sent.unwrap(), 3);
        let (mut consumed, mut calls) = (0, 0);
        let read = |buffer: &mut [u8]| {
            calls += 1;
            if calls % 3 == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let len = (stream.len() - consumed).min(buffer.len()).min(700);
            buffer[..len].copy_from_slice(&stream[consumed..consumed + len]);
            consumed += len;
            Ok(len)
        };
        let arrivals = receive(clock, read, || false).unwrap();
        let numbers: Vec<u32> = arrivals.iter().map(|arrival| arrival.number).collect();
        assert_eq!(numbers, [0, 1, 2]);
        assert!(arrivals[2].latency(Time::ZERO) < Duration::from_secs(10));
    }
}
