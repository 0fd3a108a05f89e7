//! A flow of 50 messages a second, and how long it stood still.
//!
//! A message says its number and is due at its own time, however late the one before it left; so its latency counts
//! the time for which a sender was held up, too.

use std::io;
use std::thread::sleep;

use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;

/// Between two messages.
pub const INTERVAL: Duration = Duration::from_millis(20);
/// Bytes of a message.
pub const LEN: usize = 1000;
/// Bytes of its number, with which it begins.
const NUMBER: usize = 4;

/// A message that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number; the first is 0.
    pub number: u32,
    /// When.
    pub at: Time,
}

impl Arrival {
    /// How long after it was due in a flow that began at `start`.
    #[must_use]
    pub fn latency(&self, start: Time) -> Duration {
        self.at.since(start + INTERVAL * u64::from(self.number))
    }
}

/// Sends messages, the first now, for as long as `wanted` says of the number of the next; says how many. Fails where
/// `write` does.
pub fn send(
    clock: Clock,
    mut wanted: impl FnMut(u32) -> bool,
    mut write: impl FnMut(&[u8; LEN]) -> io::Result<()>,
) -> io::Result<u32> {
    let start = clock.now();
    let mut number = 0;
    while wanted(number) {
        let mut message = [0; LEN];
        message[..NUMBER].copy_from_slice(&number.to_be_bytes());
        write(&message)?;
        number += 1;
        pause((start + INTERVAL * u64::from(number)).since(clock.now()));
    }
    Ok(number)
}

/// Takes messages until the sender's end of the connection, or until none comes in time and `over`; fails where `read`
/// does otherwise.
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
            Err(e) if is_timeout(&e) || e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        if filled == LEN {
            let digits = buffer[..NUMBER].iter();
            let number = digits.fold(0, |number, byte| number << 8 | u32::from(*byte));
            let at = clock.now();
            arrivals.push(Arrival { number, at });
            filled = 0;
        }
    }
}

/// By how much longer than [`INTERVAL`] nothing arrived, at the longest of all times that ended after `from` and began
/// before `until`; nothing where no two messages arrived around then.
#[must_use]
pub fn outage(arrivals: &[Arrival], from: Time, until: Time) -> Option<Duration> {
    let first = arrivals.partition_point(|arrival| arrival.at <= from);
    let pairs = arrivals[first.saturating_sub(1)..].windows(2);
    let met = pairs.take_while(|pair| pair[0].at < until);
    let longest = met.map(|pair| pair[1].at.since(pair[0].at)).max()?;
    Some(Duration(longest.0.saturating_sub(INTERVAL.0)))
}

/// Does nothing for so long.
pub fn pause(span: Duration) {
    sleep(std::time::Duration::from_nanos(span.as_nanos()));
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
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
    fn an_outage_is_what_the_longest_gap_has_beyond_the_interval() {
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
    fn messages_are_put_together_from_what_comes_of_a_stream() {
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
        let (mut taken, mut turn) = (0, 0);
        let read = |buffer: &mut [u8]| {
            turn += 1;
            if turn % 3 == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let len = (stream.len() - taken).min(buffer.len()).min(700);
            buffer[..len].copy_from_slice(&stream[taken..taken + len]);
            taken += len;
            Ok(len)
        };
        let arrivals = receive(clock, read, || false).unwrap();
        let numbers: Vec<u32> = arrivals.iter().map(|arrival| arrival.number).collect();
        assert_eq!(numbers, [0, 1, 2]);
        assert!(arrivals[2].latency(Time::ZERO) < Duration::from_secs(10));
    }
}
