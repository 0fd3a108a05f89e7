//! The programs of a carrier: ffmpeg, both ends of the tunnel, and what receives.

use std::fs;
use std::io;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use polypath_lab::Endpoints;
use polypath_lab::process::Process;
use polypath_live::keys;
use polypath_sim::Side;

use crate::ffmpeg::{TestClip, ffmpeg};

/// The address of the receiver's end of the path.
const RECEIVER: &str = "10.128.0.2";
/// The addresses of the receiving program: over the path, and behind `polypath recv`.
const DIRECT: &str = "10.128.0.2:6000";
const BEHIND: &str = "127.0.0.1:6000";
/// The address at which `polypath send` receives.
const LISTEN: &str = "127.0.0.1:5000";
/// The first byte of each 188 of MPEG-TS, and a datagram that is none.
const SYNC: u8 = 0x47;
const PROBE: &[u8] = b"probe";
/// The attempts to reach the receiver, 50 ms apart.
const ATTEMPTS: u32 = 200;

/// A way of the clip to the receiver.
#[derive(Debug)]
pub(crate) struct Carrier {
    /// The name, which is that of the options of `polypath send`.
    pub(crate) name: &'static str,
    /// Whether `polypath send` and `recv` carry it, or ffmpeg sends it to the receiver.
    is_sent: bool,
}

/// Plain UDP.
pub(crate) const PLAIN: Carrier = Carrier {
    name: "UDP of ffmpeg",
    is_sent: false,
};
/// A spacing of 6.6 Mbit/s that drops no packet before its burst is over.
pub(crate) const FIXED: Carrier = sent("--spacing 1.6ms --max-wait 500ms");
/// The controller that shares a path.
pub(crate) const CUBIC: Carrier = sent("--spacing cubic");
pub(crate) const CARRIERS: [Carrier; 8] = [
    PLAIN,
    sent("--spacing off"),
    sent("--spacing 1.6ms"),
    FIXED,
    sent("--spacing ad-hoc"),
    sent("--spacing damped"),
    CUBIC,
    sent("--spacing cubic --max-wait 500ms"),
];

const fn sent(name: &'static str) -> Carrier {
    Carrier {
        name,
        is_sent: true,
    }
}

/// The outcome of a run of a carrier.
pub(crate) struct CarrierEnd {
    /// The bytes that arrived, in the order of their arrival.
    pub(crate) received: Vec<u8>,
    /// The packets that the sender dropped since they had waited for too long.
    pub(crate) dropped: u64,
}

/// The running programs of a carrier, killed on drop.
pub(crate) struct RunningCarrier<'a> {
    endpoints: &'a Endpoints,
    /// `recv`, then `send`.
    nodes: Vec<Process>,
    source: Option<Process>,
    receiver: Receiver,
    destination: &'static str,
    stats: PathBuf,
}

impl<'a> RunningCarrier<'a> {
    /// Starts all but ffmpeg, and waits until datagrams arrive. The programs die with this thread.
    pub(crate) fn start(
        carrier: &Carrier,
        endpoints: &'a Endpoints,
        program: &Path,
        folder: &Path,
    ) -> io::Result<Self> {
        fs::create_dir(folder)?;
        let (to, destination) = if carrier.is_sent {
            (BEHIND, LISTEN)
        } else {
            (DIRECT, DIRECT)
        };
        let socket = endpoints.at(Side::Client).run(|| UdpSocket::bind(to))?;
        let receiver = Receiver::start(socket)?;
        let mut running = Self {
            endpoints,
            nodes: Vec::new(),
            source: None,
            receiver,
            destination,
            stats: folder.join("send.json"),
        };
        if carrier.is_sent {
            running.start_nodes(program, folder, carrier.name)?;
        }
        running.probe()?;
        Ok(running)
    }

    fn start_nodes(&mut self, program: &Path, folder: &Path, options: &str) -> io::Result<()> {
        let key = |name: &str| {
            let file = folder.join(name);
            let public = keys::generate(&file).map_err(io::Error::other)?;
            Ok::<_, io::Error>((file, public.to_string()))
        };
        let ((send_key, send_public), (recv_key, recv_public)) =
            (key("send.key")?, key("recv.key")?);
        let mut recv = Command::new(program);
        recv.args([
            "recv",
            "--control",
            "off",
            "--to",
            BEHIND,
            "--path",
            "0.0.0.0:7001",
        ]);
        recv.arg("--key")
            .arg(recv_key)
            .args(["--peer", &send_public]);
        let mut send = Command::new(program);
        let path = format!("{RECEIVER}:7001");
        send.args([
            "send",
            "--control",
            "off",
            "--listen",
            LISTEN,
            "--path",
            &path,
        ]);
        send.args(options.split(' '));
        send.args(["--peer", &recv_public]);
        send.arg("--key")
            .arg(send_key)
            .arg("--stats")
            .arg(&self.stats);
        let ends = [(Side::Client, "recv", recv), (Side::Server, "send", send)];
        for (side, name, mut command) in ends {
            let log = folder.join(name).with_extension("log");
            let process = Process::start(self.endpoints.at(side), name, &mut command, log)?;
            self.nodes.push(process);
        }
        Ok(())
    }

    /// Sends datagrams until one has arrived.
    fn probe(&mut self) -> io::Result<()> {
        let server = self.endpoints.at(Side::Server);
        let socket = server.run(|| UdpSocket::bind("0.0.0.0:0"))?;
        for _ in 0..ATTEMPTS {
            for node in &mut self.nodes {
                node.check()?;
            }
            socket.send_to(PROBE, self.destination)?;
            sleep(Duration::from_millis(50));
            if self.receiver.was_probed.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        Err(io::Error::other("no datagram arrives"))
    }

    /// Starts ffmpeg, which sends the clip in real time.
    pub(crate) fn send(&mut self, clip: &Path, test: TestClip) -> io::Result<()> {
        let mut command = ffmpeg();
        command.arg("-re").arg("-i").arg(clip).args(test.sending());
        command.arg(format!("udp://{}?pkt_size=1316", self.destination));
        let log = self.stats.with_file_name("ffmpeg.log");
        let server = self.endpoints.at(Side::Server);
        self.source = Some(Process::start(server, "ffmpeg", &mut command, log)?);
        Ok(())
    }

    /// Waits for the end of ffmpeg; fails if it does, or if it takes longer than `most`.
    pub(crate) fn wait_for_source(&mut self, most: Duration) -> io::Result<()> {
        let Some(source) = &mut self.source else {
            return Ok(());
        };
        source.wait(most)
    }

    /// Ends the programs.
    pub(crate) fn finish(mut self) -> io::Result<CarrierEnd> {
        // The sender first: its last statistics count all that it dropped.
        for mut node in self.nodes.drain(..).rev() {
            node.terminate()?;
            node.finish()?;
        }
        let received = self.receiver.finish()?;
        let dropped = match fs::read(&self.stats) {
            Ok(bytes) => dropped(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(CarrierEnd { received, dropped })
    }
}

/// The packets that waited for too long, from the statistics of `polypath send`.
fn dropped(statistics: &[u8]) -> io::Result<u64> {
    let statistics: serde_json::Value = serde_json::from_slice(statistics)?;
    Ok(statistics["dropped"]["waited-too-long"]
        .as_u64()
        .unwrap_or(0))
}

/// A thread that receives datagrams.
struct Receiver {
    is_over: Arc<AtomicBool>,
    was_probed: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

impl Receiver {
    fn start(socket: UdpSocket) -> io::Result<Self> {
        socket.set_read_timeout(Some(Duration::from_millis(100)))?;
        setsockopt(&socket, sockopt::RcvBuf, &(4 << 20))?;
        let (is_over, was_probed) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let thread = {
            let (is_over, was_probed) = (is_over.clone(), was_probed.clone());
            std::thread::spawn(move || receive(&socket, &is_over, &was_probed))
        };
        Ok(Self {
            is_over,
            was_probed,
            thread: Some(thread),
        })
    }

    fn finish(&mut self) -> io::Result<Vec<u8>> {
        self.is_over.store(true, Ordering::Relaxed);
        let thread = self.thread.take().ok_or(io::ErrorKind::BrokenPipe)?;
        thread.join().expect("the receiver does not panic")
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // The thread sees it within its timeout.
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Receives until `is_over`; returns what is MPEG-TS, and notes what is not.
fn receive(
    socket: &UdpSocket,
    is_over: &AtomicBool,
    was_probed: &AtomicBool,
) -> io::Result<Vec<u8>> {
    let mut received = Vec::new();
    let mut buffer = [0; 2048];
    while !is_over.load(Ordering::Relaxed) {
        match socket.recv(&mut buffer) {
            Ok(length) if buffer[0] == SYNC => received.extend_from_slice(&buffer[..length]),
            Ok(_) => was_probed.store(true, Ordering::Relaxed),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(received)
}
