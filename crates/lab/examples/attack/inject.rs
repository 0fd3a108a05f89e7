//! Datagrams with any source address, at a steady rate.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use polypath_lab::namespace::Namespace;
use polypath_live::clock::Clock;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// The lengths of an IPv4 header without options and of a UDP header.
const IP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const UDP: u8 = 17;
/// `IPPROTO_RAW`: the sender writes the IP header.
const RAW: i32 = 255;
/// The interval of bursts.
const TICK: Duration = Duration::from_millis(1);
/// Spoofed sources are these hosts of the target's network, which do not exist: few, since all
/// namespaces share the kernel's table of neighbours.
const STRANGERS: std::ops::Range<u8> = 20..40;

/// The first two octets of another network, to which the nodes have a route.
const OUTSIDE: [u8; 2] = [10, 98];

/// [`OUTSIDE`] as an argument of `ip route`.
pub(crate) fn outside() -> String {
    let [a, b] = OUTSIDE;
    format!("{a}.{b}.0.0/16")
}

/// A socket that sends UDP datagrams with any source address.
pub(crate) struct Injector(Socket);

impl Injector {
    /// A socket in `namespace`, whose interfaces the datagrams leave.
    pub(crate) fn new(namespace: &Namespace) -> io::Result<Self> {
        let open = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(RAW)));
        namespace.run(open).map(Self)
    }

    /// Sends `payload`; the kernel fills the lengths and checksum of the IP header.
    pub(crate) fn send(
        &self,
        source: SocketAddrV4,
        to: SocketAddrV4,
        payload: &[u8],
    ) -> io::Result<()> {
        let len = IP_HEADER + UDP_HEADER + payload.len();
        let mut packet = vec![0; IP_HEADER];
        packet[0] = 0x45;
        packet[8] = 64;
        packet[9] = UDP;
        packet[12..16].copy_from_slice(&source.ip().octets());
        packet[16..20].copy_from_slice(&to.ip().octets());
        packet.extend(source.port().to_be_bytes());
        packet.extend(to.port().to_be_bytes());
        let udp_len = u16::try_from(len - IP_HEADER).unwrap_or(u16::MAX);
        packet.extend(udp_len.to_be_bytes());
        // Over IPv4 a checksum of zero means none (RFC 768).
        packet.extend([0, 0]);
        packet.extend(payload);
        self.0.send_to(&packet, &SockAddr::from(to)).map(drop)
    }
}

/// The share of a flood's datagrams that must leave.
const MIN_SENT: f64 = 0.9;

/// The source addresses of a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sources {
    /// Hosts and ports of the target's network that do not exist.
    Strangers,
    /// Hosts and ports of [`OUTSIDE`].
    Outside,
    /// The address and port of the target's peer.
    Peer(SocketAddrV4),
}

impl Sources {
    fn nth(self, n: u64, target: SocketAddrV4) -> SocketAddrV4 {
        match self {
            Self::Peer(address) => address,
            Self::Strangers => {
                let [a, b, c, _] = target.ip().octets();
                let hosts = u64::from(STRANGERS.end - STRANGERS.start);
                let host = STRANGERS.start + (n % hosts).to_le_bytes()[0];
                let port = 1024 + u16::try_from(n / hosts % 60_000).unwrap_or(0);
                SocketAddrV4::new(Ipv4Addr::new(a, b, c, host), port)
            }
            Self::Outside => {
                let [host, network, port, ..] = n.to_le_bytes();
                let address = Ipv4Addr::new(OUTSIDE[0], OUTSIDE[1], network, host);
                SocketAddrV4::new(address, 1024 + u16::from(port))
            }
        }
    }
}

/// A flood of one target.
pub(crate) struct FloodPlan {
    pub(crate) target: SocketAddrV4,
    pub(crate) sources: Sources,
    /// The datagrams, sent in turn.
    pub(crate) datagrams: Vec<Vec<u8>>,
    /// Datagrams per second.
    pub(crate) rate: u32,
}

/// A running flood; it ends on drop.
pub(crate) struct Flood {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<f64>>,
    /// The planned datagrams per second.
    rate: u32,
}

impl FloodPlan {
    /// Starts the flood from the interfaces of `namespace`.
    pub(crate) fn start(self, namespace: &Namespace) -> io::Result<Flood> {
        let injector = Injector::new(namespace)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (flag, rate) = (stop.clone(), self.rate);
        let thread = thread::spawn(move || self.send(&injector, &flag));
        Ok(Flood {
            stop,
            thread: Some(thread),
            rate,
        })
    }

    /// Sends until `stop` is set; returns the datagrams per second that left.
    fn send(&self, injector: &Injector, stop: &AtomicBool) -> f64 {
        let clock = Clock::starting_now();
        let (mut next, mut sent) = (0, 0_u64);
        while !stop.load(Ordering::Relaxed) {
            let micros = clock.now().0 / 1000;
            let due = micros * u64::from(self.rate) / 1_000_000;
            // After a pause of the machine the rate stays the same, rather than the number.
            let most = next + u64::from(self.rate) / 10;
            for n in next..due.min(most) {
                let index = usize::try_from(n).unwrap_or(0) % self.datagrams.len();
                let source = self.sources.nth(n, self.target);
                // A datagram that the kernel refuses is lost like any other.
                let result = injector.send(source, self.target, &self.datagrams[index]);
                sent += u64::from(result.is_ok());
            }
            next = due;
            sleep(TICK);
        }
        sent as f64 / clock.now().as_secs_f64().max(1e-3)
    }
}

impl Flood {
    /// Ends the flood and returns its datagrams per second.
    ///
    /// # Errors
    /// They were less than nine tenths of the plan: the machine is too slow for this attack.
    pub(crate) fn stop(mut self) -> io::Result<f64> {
        let (sent, planned) = (self.join(), f64::from(self.rate));
        if sent < planned * MIN_SENT {
            let message = format!("a flood had {sent:.0} of {planned} initiations/s");
            return Err(io::Error::other(message));
        }
        Ok(sent)
    }

    fn join(&mut self) -> f64 {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        thread.map_or(0.0, |thread| thread.join().unwrap_or(0.0))
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.join();
    }
}
