//! A flow of datagrams over the overlay, from the first namespace to the second.

use std::net::UdpSocket;
use std::time::Duration;

use polypath_lab::flow::{self, Arrival};
use polypath_live::clock::Clock;

use crate::testbed::Testbed;

/// The read timeout, longer than a datagram is in flight.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

/// Sends `count` datagrams and returns their arrivals; calls `before` with the number of each
/// before it is sent.
pub(crate) fn run(
    testbed: &Testbed,
    clock: Clock,
    count: u32,
    mut before: impl FnMut(u32),
) -> Vec<Arrival> {
    let bind = |address| move || UdpSocket::bind(address);
    let receiver = testbed.b.run(bind("10.77.0.2:6000")).unwrap();
    receiver.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
    let arrivals =
        std::thread::spawn(move || flow::receive(clock, |buffer| receiver.recv(buffer), || true));
    let sender = testbed.a.run(bind("10.77.0.1:6000")).unwrap();
    let wanted = |number| {
        before(number);
        number < count
    };
    let send = |message: &[u8; flow::LEN]| sender.send_to(message, "10.77.0.2:6000").map(drop);
    flow::send(clock, wanted, send).unwrap();
    arrivals.join().unwrap().unwrap()
}
