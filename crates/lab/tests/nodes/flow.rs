//! A flow of 50 datagrams a second over the overlay, from the first namespace to the second.

use std::net::UdpSocket;
use std::thread::sleep;

use polypath_core::time::{Duration, Time};
use polypath_live::clock::Clock;

use crate::overlay::Site;

/// Between two datagrams.
pub(crate) const INTERVAL: Duration = Duration::from_millis(20);
/// Bytes of a datagram's payload.
pub(crate) const LEN: usize = 1000;
/// How long the last datagrams are waited for.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

/// When which datagram arrived.
pub(crate) type Arrivals = Vec<(u32, Time)>;

/// Sends `count` datagrams, and says when which arrived by `clock`; `before` is told the number of each before it
/// leaves.
pub(crate) fn run(site: &Site, clock: Clock, count: u32, mut before: impl FnMut(u32)) -> Arrivals {
    let bind = |address| move || UdpSocket::bind(address);
    let receiver = site.b.run(bind("10.77.0.2:6000")).unwrap();
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    let arrivals = std::thread::spawn(move || {
        let (mut arrivals, mut buffer) = (Vec::new(), [0; LEN]);
        while let Ok(len) = receiver.recv(&mut buffer) {
            assert_eq!(len, LEN);
            let number = u32::from_be_bytes(*buffer.first_chunk().unwrap());
            arrivals.push((number, clock.now()));
        }
        arrivals
    });
    let sender = site.a.run(bind("10.77.0.1:6000")).unwrap();
    let start = clock.now();
    for number in 0..count {
        before(number);
        let mut datagram = [0; LEN];
        *datagram.first_chunk_mut().unwrap() = number.to_be_bytes();
        sender.send_to(&datagram, "10.77.0.2:6000").unwrap();
        pause((start + INTERVAL * u64::from(number + 1)).since(clock.now()));
    }
    arrivals.join().unwrap()
}

/// Does nothing for so long.
pub(crate) fn pause(span: Duration) {
    sleep(std::time::Duration::from_nanos(span.as_nanos()));
}

/// The longest time without an arrival that ended after `from` and began before `until`.
pub(crate) fn outage(arrivals: &Arrivals, from: Time, until: Time) -> Duration {
    let met = |pair: &&[(u32, Time)]| pair[1].1 > from && pair[0].1 < until;
    let gaps = arrivals.windows(2).filter(met);
    gaps.map(|pair| pair[1].1.since(pair[0].1)).max().unwrap()
}
