//! The accuracy of departures: when the datagrams of a spaced sender leave, beside those of a plain
//! loop that sleeps and calls `sendto`.
//!
//! Both send at a fixed spacing over the loopback of a namespace, with one core for the sender alone
//! and another for all else. A packet socket has the kernel's time of each departure, from which
//! follows how much each time from one departure to the next differs from the spacing. Normal and real-time priority; the processor time of the sender's thread.
//!
//! `cargo run --release -p polypath-lab --example departures [SECONDS]`

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as StdDuration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use polypath_core::time::{Duration, Time};
use polypath_lab::namespace::Namespace;
use polypath_lab::node_thread::NodeThread;
use polypath_lab::preflight;
use polypath_live::clock::Clock;
use polypath_live::durations::DurationHistogram;
use polypath_live::node::Options;
use polypath_live::{keys, priority};
use socket2::{Domain, Protocol, Socket, Type};

/// The spacings in microseconds.
const SPACINGS: [u64; 4] = [50, 200, 1000, 5000];
/// The UDP payload of a datagram.
const DATAGRAM: usize = 1200;
/// The cores of the sender and of all else.
const SENDERS_CORE: usize = 1;
const OTHER_CORE: usize = 0;
const REALTIME: u8 = 5;
/// The ports of the nodes' path, of the application, and of the plain loop.
const NODE_PORT: u16 = 7001;
const PEER_PORT: u16 = 7002;
const APPLICATION: &str = "127.0.0.1:5000";
const PLAIN_PORT: u16 = 7003;
/// `ETH_P_ALL` in network byte order, and the type of a packet that leaves.
const ALL_PROTOCOLS: i32 = 0x0003_u16.to_be() as i32;
const OUTGOING: u8 = 4;

/// The departures in nanoseconds, and the processor time of the sender.
struct Measured {
    departures: Vec<u64>,
    processor: Duration,
    elapsed: Duration,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    preflight()?;
    if std::thread::available_parallelism()?.get() < 2 {
        return Err("two cores are needed: one is the sender's alone".into());
    }
    let span = StdDuration::from_secs(seconds);
    use_core(OTHER_CORE)?;
    println!(
        "{:<24} {:>9} {:>9} {:>11} {:>9} {:>9} {:>9} {:>10}",
        "sender", "priority", "spacing", "departures", "p50", "p99", "p99.9", "processor"
    );
    for spacing in SPACINGS {
        for realtime in [None, Some(REALTIME)] {
            let spacing = Duration::from_micros(spacing);
            let node = measure_node(spacing, realtime, span)?;
            print("polypath send", spacing, realtime, &node);
            let plain = measure_plain(spacing, realtime, span)?;
            print("sleep and sendto", spacing, realtime, &plain);
        }
    }
    Ok(())
}

/// Runs this thread, and those that it starts, on one core.
fn use_core(core: usize) -> io::Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &cores)?)
}

/// Runs `work` on a thread that has the sender's core.
fn on_senders_core<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let thread = || {
        use_core(SENDERS_CORE)?;
        work()
    };
    std::thread::scope(|scope| {
        scope
            .spawn(thread)
            .join()
            .expect("the thread does not panic")
    })
}

/// A node that spaces the datagrams of a source that is always ahead.
fn measure_node(
    spacing: Duration,
    realtime: Option<u8>,
    span: StdDuration,
) -> io::Result<Measured> {
    let namespace = Namespace::new()?;
    namespace.ip(&["link", "set", "lo", "up"])?;
    let folder = tempfile::tempdir()?;
    let files = node_files(folder.path(), spacing)?;
    let sink = namespace.run(|| UdpSocket::bind("127.0.0.1:6000"))?;
    let receiver = NodeThread::start(&namespace, &files[1], &Options::default())?;
    let sender = on_senders_core(|| match realtime {
        None => NodeThread::start(&namespace, &files[0], &Options::default()),
        Some(priority) => {
            NodeThread::start_realtime(&namespace, &files[0], &Options::default(), priority)
        }
    })?;
    let is_over = Arc::new(AtomicBool::new(false));
    let source = {
        let socket = namespace.run(|| UdpSocket::bind("127.0.0.1:0"))?;
        let is_over = is_over.clone();
        std::thread::spawn(move || {
            // Or the receiver, on the same core, keeps it from being ahead.
            drop(priority::realtime(REALTIME));
            feed(&socket, spacing, &is_over)
        })
    };
    let measured = (|| {
        sink.set_read_timeout(Some(StdDuration::from_secs(20)))?;
        sink.recv(&mut [0; DATAGRAM])?;
        let capture = namespace.run(capture)?;
        let before = sender.processor_time()?;
        let (departures, elapsed) = departures(&capture, NODE_PORT, span)?;
        Ok(Measured {
            departures,
            processor: sender.processor_time()? - before,
            elapsed,
        })
    })();
    is_over.store(true, Ordering::Relaxed);
    source.join().expect("the source does not panic")?;
    sender.finish()?;
    receiver.finish()?;
    measured
}

/// Sends datagrams a fifth faster than the spacing permits, some at once.
fn feed(socket: &UdpSocket, spacing: Duration, is_over: &AtomicBool) -> io::Result<()> {
    let batch = (Duration::from_millis(2).as_nanos() / spacing.as_nanos()).max(10);
    let clock = Clock::starting_now();
    let mut due = Time::ZERO;
    while !is_over.load(Ordering::Relaxed) {
        for _ in 0..batch {
            socket.send_to(&[7; DATAGRAM], APPLICATION)?;
        }
        due += Duration(spacing.as_nanos() * batch * 5 / 6);
        let wait = due.since(clock.now());
        std::thread::sleep(StdDuration::from_nanos(wait.as_nanos()));
    }
    Ok(())
}

/// The files of the sender and the receiver.
fn node_files(folder: &std::path::Path, spacing: Duration) -> io::Result<[std::path::PathBuf; 2]> {
    let names = ["send", "recv"];
    let mut public = Vec::new();
    for name in names {
        let key = keys::generate(&folder.join(format!("{name}.key"))).map_err(io::Error::other)?;
        public.push(key);
    }
    let ports = [NODE_PORT, PEER_PORT];
    let tables = [
        format!(
            "[[node.udp]]\nport = 5000\nlisten = \"{APPLICATION}\"\n\
             [spacing]\ncontrol = {{ kind = \"fixed\", spacing = \"{spacing}\" }}\n"
        ),
        "[[node.udp]]\nport = 5000\nto = \"127.0.0.1:6000\"\n".to_owned(),
    ];
    let mut files = Vec::new();
    for own in [0, 1] {
        let peer = 1 - own;
        let file = folder.join(format!("{}.toml", names[own]));
        let text = format!(
            "control = \"off\"\n[node]\nkey_file = \"{}.key\"\n{}[peer]\npublic_key = \"{}\"\n\
             [policy]\nkind = \"single-path\"\n[[path]]\nname = \"one\"\nlocal = \"127.0.0.1:{}\"\n\
             remote = \"127.0.0.1:{}\"\n",
            names[own], tables[own], public[peer], ports[own], ports[peer]
        );
        fs::write(&file, text)?;
        files.push(file);
    }
    files
        .try_into()
        .map_err(|_| io::ErrorKind::InvalidData.into())
}

/// A loop that sleeps until the next departure and calls `sendto`.
fn measure_plain(
    spacing: Duration,
    realtime: Option<u8>,
    span: StdDuration,
) -> io::Result<Measured> {
    let namespace = Namespace::new()?;
    namespace.ip(&["link", "set", "lo", "up"])?;
    let _sink = namespace.run(|| UdpSocket::bind("127.0.0.1:6000"))?;
    let socket = namespace.run(|| UdpSocket::bind(("127.0.0.1", PLAIN_PORT)))?;
    let capture = namespace.run(capture)?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            on_senders_core(|| {
                if let Some(priority) = realtime {
                    drop(priority::realtime(priority));
                }
                send_plainly(&socket, spacing, &is_over)
            })
        });
        let departures = departures(&capture, PLAIN_PORT, span);
        is_over.store(true, Ordering::Relaxed);
        let processor = sending.join().expect("the sender does not panic")?;
        let (departures, elapsed) = departures?;
        Ok(Measured {
            departures,
            processor,
            elapsed,
        })
    })
}

/// Returns the processor time of the thread.
fn send_plainly(
    socket: &UdpSocket,
    spacing: Duration,
    is_over: &AtomicBool,
) -> io::Result<Duration> {
    let clock = Clock::starting_now();
    let mut due = Time::ZERO;
    while !is_over.load(Ordering::Relaxed) {
        let wait = due.since(clock.now());
        std::thread::sleep(StdDuration::from_nanos(wait.as_nanos()));
        socket.send_to(&[7; DATAGRAM], "127.0.0.1:6000")?;
        due += spacing;
    }
    let used = StdDuration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?);
    Ok(Duration(u64::try_from(used.as_nanos()).unwrap_or(u64::MAX)))
}

/// A socket that sees all packets, with the kernel's times.
fn capture() -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::PACKET,
        Type::DGRAM,
        Some(Protocol::from(ALL_PROTOCOLS)),
    )?;
    socket.set_read_timeout(Some(StdDuration::from_millis(500)))?;
    setsockopt(&socket, sockopt::RcvBufForce, &(64 << 20))?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    Ok(socket)
}

/// The times of the datagrams that leave `port` during `span`, in nanoseconds, and the true duration.
/// Probes of the path's MTU and feedback have other lengths than most, and do not count.
fn departures(capture: &Socket, port: u16, span: StdDuration) -> io::Result<(Vec<u64>, Duration)> {
    let clock = Clock::starting_now();
    let end = Time::ZERO + Duration(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
    let mut seen: Vec<(usize, u64)> = Vec::new();
    let mut buffer = [0; 64];
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    while clock.now() < end {
        let mut parts = [IoSliceMut::new(&mut buffer)];
        let flags = MsgFlags::MSG_TRUNC;
        let message = match recvmsg::<SockaddrStorage>(
            capture.as_raw_fd(),
            &mut parts,
            Some(&mut control),
            flags,
        ) {
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => continue,
            result => result?,
        };
        let leaves = message
            .address
            .as_ref()
            .and_then(|address| address.as_link_addr())
            .is_some_and(|link| link.pkttype() == OUTGOING);
        let stamp = message.cmsgs()?.find_map(|c| match c {
            ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
            _ => None,
        });
        let length = message.bytes;
        let is_ours = buffer[20..22] == port.to_be_bytes();
        if let Some(stamp) = stamp.filter(|_| leaves && is_ours) {
            let ns = stamp.tv_sec() * 1_000_000_000 + stamp.tv_nsec();
            seen.push((length, u64::try_from(ns).unwrap_or(0)));
        }
    }
    let usual = most_common(seen.iter().map(|(length, _)| *length));
    seen.retain(|(length, _)| Some(*length) == usual);
    let times = seen.into_iter().map(|(_, at)| at).collect();
    Ok((times, clock.now().since(Time::ZERO)))
}

fn most_common(lengths: impl Iterator<Item = usize>) -> Option<usize> {
    let mut counts = BTreeMap::new();
    for length in lengths {
        *counts.entry(length).or_insert(0) += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(length, _)| length)
}

/// The difference of each time from one departure to the next from the spacing: a late departure has two, of
/// itself and of the next, and a stall one that is long.
fn errors(departures: &[u64], spacing: Duration) -> DurationHistogram {
    let mut errors = DurationHistogram::default();
    for pair in departures.windows(2) {
        let gap = pair[1].saturating_sub(pair[0]);
        errors.record(Duration(gap.abs_diff(spacing.as_nanos())));
    }
    errors
}

fn print(sender: &str, spacing: Duration, realtime: Option<u8>, measured: &Measured) {
    let errors = errors(&measured.departures, spacing);
    let us = |quantile: f64| format!("{:.1} us", errors.quantile(quantile).as_secs_f64() * 1e6);
    let priority = if realtime.is_some() {
        "real-time"
    } else {
        "normal"
    };
    let share = 100.0 * measured.processor.as_secs_f64() / measured.elapsed.as_secs_f64();
    println!(
        "{sender:<24} {priority:>9} {:>9} {:>11} {:>9} {:>9} {:>9} {share:>8.1} %",
        spacing.to_string(),
        measured.departures.len(),
        us(0.5),
        us(0.99),
        us(0.999),
    );
}
