//! What a node counted, for its statistics file.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use polypath_core::event::DropReason;
use polypath_core::time::Time;
use polypath_session::event::{Counters, Reject};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::drive::DriveReport;

/// Version of the statistics file; it changes when a field changes its meaning.
pub const VERSION: u32 = 1;

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Volume {
    /// Packets.
    pub packets: u64,
    /// Bytes, with the IP header.
    pub bytes: u64,
}

impl Volume {
    /// Counts a packet of `bytes` bytes.
    pub fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// What went through the TUN device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TunStats {
    /// From applications.
    pub from_applications: Volume,
    /// To applications.
    pub to_applications: Volume,
    /// Packets that the kernel did not take.
    pub refused: u64,
}

/// What went through a path's socket, all datagrams included: handshakes, path checks, frames.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PathStats {
    /// The path's name.
    pub name: String,
    /// Where the peer is, if that is known.
    pub remote: Option<SocketAddr>,
    /// Sent.
    pub sent: Volume,
    /// Received, authentic or not.
    pub received: Volume,
    /// Received from the peer, as its seal proves, and new.
    pub authentic: u64,
    /// Datagrams that the kernel did not take: a queue was full or the network not to be reached.
    pub unsent: u64,
    /// Datagrams for a peer whose address was not known yet.
    pub unaddressed: u64,
}

/// What a node counted so far.
#[derive(Clone, Debug, Serialize)]
pub struct Stats {
    /// [`VERSION`].
    pub version: u32,
    /// When, in nanoseconds since the start of the run.
    pub at: Time,
    /// Whether packets can cross.
    pub established: bool,
    /// The TUN device.
    pub tun: TunStats,
    /// The paths.
    pub paths: Vec<PathStats>,
    /// How many paths the peer has, as it said in the last handshake; another number than here is a
    /// mistake in one of the files.
    pub peer_paths: Option<u8>,
    /// Packets that the endpoint dropped, by reason as in the event stream; without those that it never
    /// did. `duplicate` counts the copies that were not the first.
    pub dropped: BTreeMap<DropReason, u64>,
    /// The session: frames sealed and opened, handshakes, and datagrams rejected by reason.
    pub session: Value,
    /// How well deadlines were met; at the end of the run.
    pub drive: Option<Value>,
}

/// The session's counters as the file has them.
#[must_use]
pub fn session(counters: &Counters) -> Value {
    let rejected: Map<String, Value> = Reject::ALL
        .iter()
        .map(|reason| (reason.name().to_owned(), counters.rejected(*reason).into()))
        .collect();
    json!({
        "sealed": counters.sealed,
        "opened": counters.opened,
        "initiated": counters.initiated,
        "established": counters.established,
        "hellos": counters.hellos,
        "discarded": counters.discarded,
        "rejected": rejected,
    })
}

/// The drive's report as the file has it; lateness in microseconds.
#[must_use]
pub fn drive(report: &DriveReport) -> Value {
    let us = |quantile: f64| report.lateness.quantile(quantile).as_nanos() / 1000;
    json!({
        "lateness_us": { "p50": us(0.5), "p99": us(0.99), "max": us(1.0) },
        "inputs": report.inputs,
        "stuck": report.stuck,
        "rests": report.rests,
    })
}

/// A file that is replaced as a whole, so that a reader never sees half of it.
#[derive(Clone, Debug)]
pub struct StatsFile {
    path: PathBuf,
    draft: PathBuf,
}

impl StatsFile {
    /// The file `path`, in whose directory a draft is written first; fails where that cannot be.
    pub fn new(path: &Path) -> io::Result<Self> {
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let mut draft = path.as_os_str().to_owned();
        draft.push(".new");
        let draft = PathBuf::from(draft);
        fs::File::create(&draft)?;
        fs::remove_file(&draft)?;
        let path = path.to_owned();
        Ok(Self { path, draft })
    }

    /// The file's name.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file.
    pub fn write(&self, stats: &Stats) -> io::Result<()> {
        let mut file = fs::File::create(&self.draft)?;
        serde_json::to_writer_pretty(&mut file, stats)?;
        file.write_all(b"\n")?;
        fs::rename(&self.draft, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_replaced_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stats.json");
        assert!(StatsFile::new(directory.path()).is_err());
        assert!(StatsFile::new(&directory.path().join("none/stats.json")).is_err());
        let file = StatsFile::new(&path).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        let stats = Stats {
            version: VERSION,
            at: Time(5),
            established: true,
            tun: TunStats::default(),
            paths: vec![PathStats::default()],
            peer_paths: Some(1),
            dropped: [(DropReason::BehindWindow, 3)].into(),
            session: session(&Counters::default()),
            drive: Some(drive(&DriveReport::default())),
        };
        file.write(&stats).unwrap();
        file.write(&stats).unwrap();
        let read: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(read["at"], 5);
        assert_eq!(read["session"]["rejected"]["replayed"], 0);
        assert_eq!(read["dropped"]["behind-window"], 3);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
