//! The timing accuracy of an emulated link: 40 ms, 155 Mbit/s, 10 packets, and real datagrams.
//!
//! A sender sends datagrams at random times, at 60 % of the link's rate on average. Each carries
//! the time at which it was handed to the kernel; the kernel timestamps its arrival at the
//! receiver. The same link in virtual time, fed the same sending times, predicts each arrival, or
//! the drop at a full queue. The difference includes delays outside the emulator: the kernel's from
//! the sender to the device and from the device to the receiver.
//!
//! `cargo run --release -p polypath-lab --example link_accuracy [SECONDS]`

use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::Duration as StdDuration;

use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use polypath_core::frame::Payload;
use polypath_core::machine::{Wake, step};
use polypath_core::rng::Seed;
use polypath_core::time::{Duration, Time};
use polypath_core::units::Rate;
use polypath_lab::emulation::{Emulation, EmulationResult};
use polypath_lab::network::Network;
use polypath_lab::{Endpoints, preflight};
use polypath_link::{Link, LinkConfig, Output, QueueLimit};
use polypath_live::clock::Clock;
use polypath_live::durations::DurationHistogram;
use polypath_live::priority;
use polypath_scenario::Scenario;
use polypath_sim::Side;

const RATE: Rate = Rate(155_000_000);
const DELAY: Duration = Duration::from_millis(40);
const PACKETS: u32 = 10;
const LOAD: f64 = 0.6;
/// The UDP payload of an IP packet of 1500 bytes.
const DATAGRAM: usize = 1472;
const HEADERS: usize = 28;

const SCENARIO: &str = r#"
schema = 1
name = "link-accuracy"
schemes = ["tcp"]
transfer = { size = "1 kB", count = 1 }
[[path]]
name = "link"
link = [{ rate = "155 Mbit/s", delay = "40 ms", queue = "10 packets" }]
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args()
        .nth(1)
        .map_or(Ok(10), |text| text.parse())?;
    preflight()?;
    let scenario = Scenario::parse(SCENARIO, "link_accuracy", &[])?;
    let clock = Clock::starting_now();
    let (network, endpoints) = Network::open(&scenario, Seed(1))?;
    let emulation = Emulation::start(vec![network], clock)?;
    let traffic = exchange(&endpoints, clock, Duration::from_secs(seconds))?;
    let result = emulation.finish()?;
    print(&traffic, &result);
    Ok(())
}

/// The sending times, and the arrivals with their numbers.
struct Traffic {
    sent: Vec<Time>,
    arrived: Vec<Arrival>,
}

struct Arrival {
    number: usize,
    at: Time,
}

fn exchange(endpoints: &Endpoints, clock: Clock, span: Duration) -> io::Result<Traffic> {
    let sender = endpoints
        .at(Side::Server)
        .run(|| UdpSocket::bind("10.128.0.1:9"))?;
    let receiver = endpoints
        .at(Side::Client)
        .run(|| UdpSocket::bind("10.128.0.2:9"))?;
    sender.connect("10.128.0.2:9")?;
    setsockopt(&receiver, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(&receiver, sockopt::RcvBuf, &(4 << 20))?;
    receiver.set_read_timeout(Some(StdDuration::from_millis(500)))?;
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&receiver, clock));
        let sending = scope.spawn(|| send(&sender, clock, span));
        let sent = sending.join().expect("the sender does not panic")?;
        let arrived = receiving.join().expect("the receiver does not panic")?;
        Ok(Traffic { sent, arrived })
    })
}

/// Sends datagrams at exponential intervals and returns the sending times.
fn send(socket: &UdpSocket, clock: Clock, span: Duration) -> io::Result<Vec<Time>> {
    // A late sender only changes the pattern of sending times.
    let _ = priority::realtime(5);
    let mut stream = Seed(2).stream("link_accuracy/sender");
    let transmission = RATE.transmission_time(polypath_core::units::Bytes(1500));
    let mean = transmission.as_secs_f64() / LOAD;
    let mut datagram = [0; DATAGRAM];
    let mut sent = Vec::new();
    let start = clock.now();
    let mut due = start;
    while due.since(start) < span {
        let wait = due.since(clock.now());
        std::thread::sleep(StdDuration::from_nanos(wait.as_nanos()));
        datagram[..8].copy_from_slice(&(sent.len() as u64).to_be_bytes());
        sent.push(clock.now());
        socket.send(&datagram)?;
        due += Duration::from_secs_f64(stream.exponential(mean));
    }
    Ok(sent)
}

/// Receives datagrams until none has arrived for half a second.
fn receive(socket: &UdpSocket, clock: Clock) -> io::Result<Vec<Arrival>> {
    let mut arrived = Vec::new();
    let mut buffer = [0; DATAGRAM];
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    loop {
        let mut parts = [IoSliceMut::new(&mut buffer)];
        let flags = MsgFlags::empty();
        let fd = socket.as_raw_fd();
        let message = match recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut control), flags) {
            Err(nix::errno::Errno::EAGAIN) => return Ok(arrived),
            result => result?,
        };
        let stamp = message.cmsgs()?.find_map(|c| match c {
            ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
            _ => None,
        });
        let stamp = stamp.ok_or(io::ErrorKind::InvalidData)?;
        let ns = i128::from(stamp.tv_sec()) * 1_000_000_000 + i128::from(stamp.tv_nsec());
        let at = clock.at_wall(u64::try_from(ns).unwrap_or(0));
        let number: [u8; 8] = buffer[..8].try_into().expect("eight bytes");
        let number = usize::try_from(u64::from_be_bytes(number)).unwrap_or(usize::MAX);
        arrived.push(Arrival { number, at });
    }
}

/// An IP packet of 1500 bytes with its number.
#[derive(Clone)]
struct LinkPacket(usize);

impl Payload for LinkPacket {
    fn len(&self) -> usize {
        DATAGRAM + HEADERS
    }
}

/// The expected arrival of each datagram; `None` if the queue is full.
fn expected_arrivals(sent: &[Time]) -> Vec<Option<Time>> {
    let config = LinkConfig::new(RATE, DELAY, QueueLimit::Packets(PACKETS));
    let mut link = Link::new(&config, Seed(1), "ideal").expect("the link is possible");
    let mut arrivals = vec![None; sent.len()];
    for (number, &at) in sent.iter().enumerate() {
        step(
            &mut link,
            at,
            Wake::Input(LinkPacket(number)),
            &mut |output| {
                if let Output::Deliver { at, packet } = output {
                    arrivals[packet.0] = Some(at);
                }
            },
        );
    }
    arrivals
}

fn print(traffic: &Traffic, emulation: &EmulationResult) {
    let expected = expected_arrivals(&traffic.sent);
    let (mut late, mut early) = (DurationHistogram::default(), 0_u64);
    for &Arrival { number, at } in &traffic.arrived {
        let Some(due) = expected.get(number).copied().flatten() else {
            continue;
        };
        early += u64::from(at < due);
        late.record(Duration(at.0.abs_diff(due.0)));
    }
    let us = |d: Duration| d.as_secs_f64() * 1e6;
    let row = |what: &str, l: &DurationHistogram| {
        let (p50, p99, max) = (us(l.quantile(0.5)), us(l.quantile(0.99)), us(l.max()));
        println!("{what:<28} {p50:>9.1} {p99:>9.1} {max:>9.1}");
    };
    let delivered = expected.iter().flatten().count();
    println!(
        "link: {RATE}, {DELAY}, {PACKETS} packets; real-time priority: {}",
        emulation.realtime
    );
    println!(
        "datagrams: {} sent, {} arrived, {delivered} predicted, {early} early",
        traffic.sent.len(),
        traffic.arrived.len()
    );
    println!(
        "{:<28} {:>9} {:>9} {:>9}",
        "microseconds", "p50", "p99", "max"
    );
    row("delay error, end to end", &late);
    row("lateness of packets", &emulation.lateness.packets);
    row("lateness of wakes", &emulation.lateness.wakes);
}
