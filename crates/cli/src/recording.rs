//! What a run of a network leaves besides its report: a packet capture and an event stream.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use polypath_capture::{Capture, CaptureError};
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_report::network::events::EventWriter;
use polypath_scenario::Network;
use polypath_sim::{Detail, NetworkEvent, NetworkObserver};

use crate::failure::Failure;

/// What to record of a run, and where.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Write the packets of a network's links to this file (pcapng), with real IPv4, TCP and UDP headers.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// The links to capture, each there and back, NAME/back for the way back alone [default: all].
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "pcap")]
    pcap_link: Vec<String>,
    /// Write what happens in a network to this file, as lines of JSON (docs/simulator.md).
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// What to write to the event stream.
    #[arg(long, value_enum, default_value_t, requires = "events")]
    events_level: Level,
}

/// How much an event stream says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Level {
    /// Changes of windows, loss recovery, timeouts, round-trip times; and what links drop.
    #[default]
    Tcp,
    /// Also every packet at the far end of every link.
    Packets,
}

impl Args {
    /// The options that were given, if any were.
    fn given(&self) -> Option<&'static str> {
        let pcap = self.pcap.as_ref().map(|_| "--pcap");
        pcap.or(self.events.as_ref().map(|_| "--events"))
    }

    /// Refuses to record what is not one run of a network; `what` is it then, and `remedy` says what to do.
    pub(crate) fn refuse(&self, what: &str, remedy: &str) -> Result<(), Failure> {
        let refused = self.given().map(|option| {
            Failure::input(format!(
                "{option} records one run of a network, and this is {what}: {remedy}"
            ))
        });
        refused.map_or(Ok(()), Err)
    }

    /// Creates the files, for a run of `network` with `seed`.
    pub(crate) fn open(&self, network: &Network, seed: u64) -> Result<Recorders, Failure> {
        let capture = self
            .pcap
            .as_deref()
            .map(|path| open_capture(network, seed, path, &self.pcap_link));
        let capture = capture.transpose()?;
        let packets = self.events_level == Level::Packets;
        let events = self
            .events
            .as_deref()
            .map(|path| open_events(network, seed, path, packets));
        Ok(Recorders {
            capture,
            events: events.transpose()?,
        })
    }
}

/// A file that is being written, with its recorder.
struct Recorder<R> {
    path: PathBuf,
    recorder: R,
}

/// Everything that records a run.
pub(crate) struct Recorders {
    capture: Option<Recorder<Capture<BufWriter<File>>>>,
    events: Option<Recorder<EventWriter<BufWriter<File>>>>,
}

impl Recorders {
    /// Completes the files.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let failed = |option, path: &Path, error| Failure::run(unwritable(option, path, &error));
        if let Some(Recorder { path, recorder }) = self.capture {
            let finished = recorder.finish();
            finished.map_err(|error| failed("--pcap", &path, error))?;
        }
        if let Some(Recorder { path, recorder }) = self.events {
            let finished = recorder.finish();
            finished.map_err(|error| failed("--events", &path, error))?;
        }
        Ok(())
    }
}

impl NetworkObserver for Recorders {
    fn on_progress(&mut self, _now: Time) {}

    fn detail(&self) -> Detail {
        let capture = self.capture.as_ref().map(|c| c.recorder.detail());
        let events = self.events.as_ref().map(|e| e.recorder.detail());
        capture.unwrap_or_default().or(events.unwrap_or_default())
    }

    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        if let Some(capture) = &mut self.capture {
            capture.recorder.on_event(at, event);
        }
        if let Some(events) = &mut self.events {
            events.recorder.on_event(at, event);
        }
    }
}

/// The names are looked up before the file is made: what is refused leaves none.
fn open_capture(
    network: &Network,
    seed: u64,
    path: &Path,
    links: &[String],
) -> Result<Recorder<Capture<BufWriter<File>>>, Failure> {
    let refused = |error: CaptureError| {
        let option = match error {
            CaptureError::UnknownLink { .. } => "--pcap-link",
            CaptureError::Address(_) | CaptureError::File(_) => "--pcap",
        };
        Failure::input(format!("{option}: {error}"))
    };
    Capture::new(network, Seed(seed), links, std::io::sink()).map_err(refused)?;
    let file = create("--pcap", path)?;
    let recorder = Capture::new(network, Seed(seed), links, file).map_err(refused)?;
    let path = path.to_owned();
    Ok(Recorder { path, recorder })
}

fn open_events(
    network: &Network,
    seed: u64,
    path: &Path,
    packets: bool,
) -> Result<Recorder<EventWriter<BufWriter<File>>>, Failure> {
    let file = create("--events", path)?;
    let recorder = EventWriter::new(network, seed, packets, file)
        .map_err(|error| Failure::input(unwritable("--events", path, &error)))?;
    let path = path.to_owned();
    Ok(Recorder { path, recorder })
}

fn create(option: &str, path: &Path) -> Result<BufWriter<File>, Failure> {
    let created = File::create(path).map(BufWriter::new);
    created.map_err(|error| Failure::input(unwritable(option, path, &error)))
}

fn unwritable(option: &str, path: &Path, error: &std::io::Error) -> String {
    let path = path.display();
    format!("cannot write to {path}: {error}; name another file with {option}")
}
