//! The input of a report: the parameters and observations of an experiment, before any statistics.

use std::collections::BTreeMap;
use std::fmt;

use polypath_core::event::DropReason;
use polypath_core::frame::PathId;
use polypath_core::time::{Duration, Time};
use polypath_core::units::{Bytes, Rate};
use polypath_sim::Side;

/// One experiment: the same transfers by several schemes over the same network.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentRecord {
    /// The short name of the scenario.
    pub name: String,
    /// A one-line description.
    pub title: String,
    /// Whether time was virtual or real.
    pub mode: Mode,
    /// The root seed of the run.
    pub seed: u64,
    /// The parameters of the scenario, as keys and values to print.
    pub parameters: Vec<(String, String)>,
    /// A transfer that takes longer counts as timed out.
    pub timeout: Duration,
    /// The file that every transfer carried.
    pub content: Content,
    /// The results of each scheme, in the order of the report.
    pub schemes: Vec<SchemeRecord>,
    /// The lateness of the emulator itself; `None` in virtual time.
    pub lateness: Option<Lateness>,
}

/// The file that every transfer carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The source of its bytes.
    pub source: Source,
    /// The number of bytes transferred.
    pub size: Bytes,
}

/// The source of the bytes of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// None: simulated segments have a size and no content.
    Simulated,
    /// The seed of the run.
    Random,
    /// A file, from its beginning.
    Clip {
        /// The file's name, without its folders.
        name: String,
        /// The size of the whole file.
        size: Bytes,
        /// The size that the scenario gives a transfer; a shorter file is transferred whole.
        wanted: Bytes,
    },
}

/// The kind of experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In virtual time, with simulated end hosts.
    Sim,
    /// In real time, with real programs on the real kernel.
    Lab,
}

/// The lateness of the emulator itself, in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lateness {
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The greatest.
    pub max: Duration,
    /// The bound on the 99th percentile above which the run is invalid.
    pub bound: Duration,
}

/// The results of one scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeRecord {
    /// The name of the scheme: `tcp`, `ppd-tcp1`, ...
    pub name: String,
    /// The transfers, in the order of their rounds.
    pub transfers: Vec<Transfer>,
    /// The events of the overlay's endpoints, as collected by a [`Recorder`](crate::Recorder).
    pub overlay: OverlayRecord,
    /// The goodput of all background sources together; `None` without background.
    pub background_goodput: Option<Rate>,
}

/// One transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// The number of the round, from 0; equal rounds of two schemes are a pair.
    pub round: u32,
    /// Its start, since the start of the run.
    pub started: Time,
    /// From the start to the arrival of the last byte; `None` if it timed out or failed.
    pub duration: Option<Duration>,
    /// The size of the file.
    pub size: Bytes,
    /// Whether the received file equals the sent one.
    pub intact: bool,
    /// The bytes received without a gap, at each time at which that number grew.
    pub progress: Vec<Progress>,
    /// Background bytes delivered from the start of this round to that of the next, the same span
    /// of time in every scheme; none where there was no background.
    pub background: Option<Bytes>,
}

/// A point of the playable-size curve (PPD paper, Fig. 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The time since the start of the transfer.
    pub at: Duration,
    /// The bytes received without a gap.
    pub bytes: Bytes,
}

/// The counters of the two endpoints of the overlay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverlayRecord {
    /// Sums over both endpoints and all paths.
    pub totals: Totals,
    /// Each path.
    pub paths: Vec<PathRecord>,
    /// Every change of an active path, in order of time.
    pub switches: Vec<Switch>,
    /// The path on which the server's data went at the end.
    pub active_path: PathId,
}

/// Sums over both endpoints and all paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets from applications.
    pub packets_in: u64,
    /// Their bytes.
    pub bytes_in: Bytes,
    /// Bytes on the wire of all frames sent, with all headers.
    pub wire_bytes: Bytes,
    /// Packets delivered to applications, once each.
    pub delivered: u64,
    /// Dropped packets by reason.
    pub dropped: BTreeMap<DropReason, u64>,
}

/// The counters of one path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathRecord {
    /// The name of the path.
    pub name: String,
    /// From server to client.
    pub forward: DirectionRecord,
    /// From client to server.
    pub backward: DirectionRecord,
}

/// The counters of one direction of a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionRecord {
    /// Frames that were sent.
    pub frames_out: u64,
    /// Their bytes on the wire.
    pub bytes_out: Bytes,
    /// Frames that arrived.
    pub frames_in: u64,
    /// Their bytes on the wire.
    pub bytes_in: Bytes,
    /// The one-way delay of the frames that arrived; `None` if none did.
    pub delay: Option<DelayQuantiles>,
    /// Bytes on the wire that arrived in each second of the run.
    pub arrivals: Vec<Bytes>,
    /// The share of the links' capacity that all traffic took, background included, where it is
    /// known.
    pub load: Option<f64>,
}

/// Quantiles of a one-way delay, assuming that the clocks of both ends agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayQuantiles {
    /// The median.
    pub p50: Duration,
    /// The 95th percentile.
    pub p95: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The greatest.
    pub max: Duration,
}

/// A change of an endpoint's active path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The time.
    pub at: Time,
    /// The endpoint whose data changed its path.
    pub end: Side,
    /// The path that was active.
    pub from: PathId,
    /// The path that is active since.
    pub to: PathId,
}

impl Lateness {
    /// Whether the emulator was punctual enough for a valid run.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.p99 <= self.bound
    }
}

impl Totals {
    /// Bytes on the wire beyond the applications' bytes.
    ///
    /// Both endpoints count: data and ACKs alike. Zero if fewer bytes were sent than received from
    /// applications, which happens only if no path was usable.
    #[must_use]
    pub fn overhead(&self) -> Bytes {
        Bytes(self.wire_bytes.0.saturating_sub(self.bytes_in.0))
    }

    /// Copies that arrived after the first and were discarded.
    #[must_use]
    pub fn duplicates_discarded(&self) -> u64 {
        self.dropped
            .get(&DropReason::Duplicate)
            .copied()
            .unwrap_or(0)
    }
}

impl OverlayRecord {
    /// The switches of the server's data, the direction of the transfers.
    pub fn server_switches(&self) -> impl Iterator<Item = &Switch> {
        self.switches
            .iter()
            .filter(|switch| switch.end == Side::Server)
    }
}

impl DirectionRecord {
    /// Frames that did not arrive; those under way at the end of the run count as lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.frames_out.saturating_sub(self.frames_in)
    }

    /// The share of the frames that did not arrive; none if none was sent.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        (self.frames_out > 0).then(|| self.lost() as f64 / self.frames_out as f64)
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moved = self.size;
        match &self.source {
            Source::Simulated => write!(f, "{moved}, simulated"),
            Source::Random => write!(f, "{moved} of random bytes"),
            Source::Clip { name, wanted, .. } if moved < *wanted => {
                write!(
                    f,
                    "all {moved} of {name}, which has less than the scenario's {wanted}"
                )
            }
            Source::Clip { name, size, .. } if moved < *size => {
                write!(f, "the first {moved} of {name} ({size})")
            }
            Source::Clip { name, .. } => write!(f, "{name} ({moved})"),
        }
    }
}

impl Mode {
    /// The name in reports and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Lab => "lab",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_names_the_source_of_the_file() {
        let shown = |moved, size| {
            let source = Source::Clip {
                name: "film.ts".to_owned(),
                size: Bytes(size),
                wanted: Bytes(100_000),
            };
            let size = Bytes(moved);
            Content { source, size }.to_string()
        };
        assert_eq!(shown(100_000, 100_000), "film.ts (100 kB)");
        assert_eq!(
            shown(100_000, 2_000_000),
            "the first 100 kB of film.ts (2 MB)"
        );
        let short = "all 40 kB of film.ts, which has less than the scenario's 100 kB";
        assert_eq!(shown(40_000, 40_000), short);
    }
}
