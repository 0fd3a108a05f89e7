//! Single packets over the overlay.

use std::io::Read;
use std::net::SocketAddrV4;
use std::process::Command;
use std::time::Duration;

use polypath_lab::{Endpoints, Lab};
use polypath_scenario::Scheme;
use polypath_sim::Side;
use socket2::{Domain, Protocol, Socket, Type};

use super::scenarios::{CALM, scenario, set_up, timely};

const SERVER: [u8; 4] = [10, 77, 0, 1];
const CLIENT: [u8; 4] = [10, 77, 0, 2];
/// A port without a listener, which identifies the packets of the test.
const PORT: u16 = 40_404;

/// A pure ACK from client to server with constant content.
fn duplicate_ack() -> [u8; 40] {
    let mut packet = [0; 40];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&40_u16.to_be_bytes());
    packet[4..6].copy_from_slice(&0x4242_u16.to_be_bytes());
    packet[8] = 64;
    packet[9] = 6;
    packet[12..16].copy_from_slice(&CLIENT);
    packet[16..20].copy_from_slice(&SERVER);
    packet[20..22].copy_from_slice(&PORT.to_be_bytes());
    packet[22..24].copy_from_slice(&PORT.to_be_bytes());
    packet[32] = 5 << 4;
    packet[33] = 0x10;
    packet
}

/// A raw socket that receives every TCP packet of one side, with a timeout of half a second.
fn open_raw(endpoints: &Endpoints, side: Side) -> Socket {
    let open = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::TCP));
    let socket = endpoints.at(side).run(open).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    socket
}

fn count_duplicate_acks(mut socket: Socket) -> usize {
    let mut packet = [0; 2048];
    let mut count = 0;
    while let Ok(len) = socket.read(&mut packet) {
        // The kernel delivers the IP header too, in which the TTL has changed.
        count += usize::from(packet[20..len] == duplicate_ack()[20..]);
    }
    count
}

#[test]
fn three_duplicate_acks_arrive_as_three() {
    let scenario = scenario(CALM, &[]);
    let Some(lab) = set_up(&scenario) else { return };
    for scheme in Scheme::ALL {
        let endpoints = lab.endpoints(scheme).unwrap();
        let receiver = open_raw(endpoints, Side::Server);
        let raw = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255)));
        let sender = endpoints.at(Side::Client).run(raw).unwrap();
        let to = SocketAddrV4::new(SERVER.into(), 0).into();
        for _ in 0..3 {
            sender.send_to(&duplicate_ack(), &to).unwrap();
        }
        assert_eq!(count_duplicate_acks(receiver), 3, "{scheme}");
    }
}

/// The minimum round-trip time of a few pings from client to server in milliseconds, which excludes
/// delays of a busy machine.
fn ping(endpoints: &Endpoints, address: &str) -> f64 {
    let mut command = Command::new("ping");
    command.args(["-n", "-c", "9", "-i", "0.05", "-W", "2", address]);
    let output = endpoints.at(Side::Client).output(&mut command).unwrap();
    let time = |line: &str| line.split("time=").nth(1)?.split(' ').next()?.parse().ok();
    let times: Vec<f64> = output.lines().filter_map(time).collect();
    assert_eq!(times.len(), 9, "{output}");
    times.into_iter().fold(f64::INFINITY, f64::min)
}

#[test]
fn a_delay_in_the_scenario_is_the_delay_that_ping_measures() {
    let one = ["schemes=[\"tcp\"]", "transfer.count=1"];
    let pings = |lab: &Lab| {
        let endpoints = lab.endpoints(Scheme::Tcp).unwrap();
        ["10.77.0.1", "fd77::1"].map(|address| ping(endpoints, address))
    };
    let Some((_, [short, short_v6])) = timely(&scenario(CALM, &one), pings) else {
        return;
    };
    // 10 ms more on each of two links: 20 ms more in each direction, 40 ms per round trip.
    let settings = [&one[..], &["path.0.link.0.delay=15 ms"]].concat();
    let Some((_, [long, _])) = timely(&scenario(CALM, &settings), pings) else {
        return;
    };
    let added = long - short;
    assert!(
        (20.0..30.0).contains(&short),
        "a round-trip time of {short} ms"
    );
    assert!((short_v6 - short).abs() < 3.0, "{short_v6} ms over IPv6");
    assert!((added - 40.0).abs() < 4.0, "{added} ms added");
}
