//! The programs of SRT and RIST: the sender takes a stream from a UDP port of the server's side, and
//! the receiver hands it to a UDP port of the client's.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

use polypath_core::frame::PathId;
use polypath_core::time::Duration;
use polypath_live::priority;
use polypath_sim::Side;
use tempfile::TempDir;

use super::PRIORITY;
use super::ends::{Entrance, Exit};
use crate::addressing::{STREAM_PORT, path_address};
use crate::endpoints::Endpoints;
use crate::flow::{READ_TIMEOUT, pause};
use crate::process::Process;
use crate::program::{RIST_RECEIVER, RIST_SENDER, SRT};
use crate::udp;

/// The ports at which the sender takes the stream, and the receiver hands it over; the two meet at
/// [`STREAM_PORT`].
const IN_PORT: u16 = 5000;
const OUT_PORT: u16 = 5001;
/// The time after which the receiver listens.
const RECEIVER_START: Duration = Duration::from_millis(500);

/// The commands of a transport's programs.
#[derive(Debug)]
pub(super) struct Commands {
    pub(super) sender: Command,
    pub(super) receiver: Command,
    priority: Priority,
}

/// The priority of the programs of a transport.
#[derive(Clone, Copy, Debug)]
enum Priority {
    /// That of nodes and streams.
    Realtime,
    /// Before all without real-time priority. SRT's sender does not sleep while its buffer is full.
    /// With a real-time priority, two of them kept all else from both processors for .2 to .4 s.
    Favoured,
}

/// Running programs, killed on drop.
#[derive(Debug)]
pub(super) struct Programs {
    // Drop order: the programs before their logs.
    processes: [Process; 2],
    _logs: TempDir,
}

impl Programs {
    /// Starts the programs, and returns the ends of the stream.
    pub(super) fn start(
        endpoints: &Endpoints,
        mut commands: Commands,
    ) -> io::Result<(Self, Entrance, Exit)> {
        let logs = tempfile::tempdir()?;
        let log = |name: &str| logs.path().join(format!("{name}.log"));
        let (server, client) = (endpoints.at(Side::Server), endpoints.at(Side::Client));
        for command in [&mut commands.sender, &mut commands.receiver] {
            match commands.priority {
                Priority::Realtime => priority::realtime_program(command, PRIORITY),
                Priority::Favoured => priority::favoured_program(command),
            }
        }
        let exit = udp::open(client, loopback(OUT_PORT), None)?;
        exit.set_read_timeout(Some(READ_TIMEOUT))?;
        let command = &mut commands.receiver;
        let receiver = Process::start(client, "the receiver", command, log("receiver"))?;
        // A sender that finds no receiver gives up.
        pause(RECEIVER_START);
        let command = &mut commands.sender;
        let sender = Process::start(server, "the sender", command, log("sender"))?;
        let entrance = udp::open(server, loopback(0), Some(loopback(IN_PORT)))?;
        let programs = Self {
            processes: [sender, receiver],
            _logs: logs,
        };
        Ok((
            programs,
            Entrance::Datagrams(entrance),
            Exit::Datagrams(exit),
        ))
    }

    /// Fails with the end of its log if a program has exited.
    pub(super) fn check(&mut self) -> io::Result<()> {
        self.processes.iter_mut().try_for_each(Process::check)
    }

    /// The processor time of both programs since their start; fails if one has exited.
    pub(super) fn processor_time(&self) -> io::Result<Duration> {
        self.processes.iter().map(Process::processor_time).sum()
    }

    /// Kills the sender, for tests of its failure.
    #[cfg(test)]
    pub(super) fn kill_sender(&mut self) {
        self.processes[0].kill();
    }

    /// The error that no packet arrived, with the end of the sender's log.
    pub(super) fn useless(&self) -> io::Error {
        self.processes[0].failed("no packet arrived")
    }
}

impl Commands {
    /// SRT on one path, with a latency in milliseconds.
    pub(super) fn srt_single(latency: u32) -> Self {
        let mut sender = Command::new(SRT.path());
        sender.arg(source()).arg(format!("srt://{}", first_path()));
        Self {
            sender,
            receiver: srt_receiver(latency, ""),
            priority: Priority::Favoured,
        }
    }

    /// SRT with a bond of this type over all paths (SRT's documentation of socket groups), the first
    /// path preferred.
    pub(super) fn srt_bond(kind: &str, latency: u32, paths: u8) -> Self {
        let mut sender = Command::new(SRT.path());
        let group = format!("srt://*?type={kind}");
        sender.arg(source()).arg("-g").arg(group);
        for path in 0..paths {
            let (address, weight) = (remote(PathId(path)), paths - path);
            sender.arg(format!("{address}?weight={weight}"));
        }
        Self {
            sender,
            receiver: srt_receiver(latency, "&groupconnect=1"),
            priority: Priority::Favoured,
        }
    }

    /// RIST on all paths, with a buffer in milliseconds and the weight of each path: with 0 every
    /// packet is sent on all.
    pub(super) fn rist(weight: u8, buffer: u32, paths: u8) -> Self {
        let output = |path: u8| {
            let address = remote(PathId(path));
            format!("rist://{address}?buffer={buffer}&weight={weight}&cname=media")
        };
        let outputs: Vec<String> = (0..paths).map(output).collect();
        let mut sender = Command::new(RIST_SENDER.path());
        sender.args(["-p", "1", "-i", &format!("udp://@127.0.0.1:{IN_PORT}")]);
        sender.arg("-o").arg(outputs.join(","));
        let mut receiver = Command::new(RIST_RECEIVER.path());
        let input = format!("rist://@0.0.0.0:{STREAM_PORT}?buffer={buffer}");
        receiver.args(["-p", "1", "-i", &input, "-o", &sink()]);
        Self {
            sender,
            receiver,
            priority: Priority::Realtime,
        }
    }
}

fn srt_receiver(latency: u32, options: &str) -> Command {
    let mut receiver = Command::new(SRT.path());
    let listen = format!("srt://:{STREAM_PORT}?latency={latency}{options}");
    receiver.arg(listen).arg(sink());
    receiver
}

fn source() -> String {
    format!("udp://:{IN_PORT}")
}

fn sink() -> String {
    format!("udp://127.0.0.1:{OUT_PORT}")
}

fn first_path() -> SocketAddr {
    remote(PathId(0))
}

/// The receiver's address on a path.
fn remote(path: PathId) -> SocketAddr {
    SocketAddr::new(path_address(path, Side::Client).addr(), STREAM_PORT)
}

fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
