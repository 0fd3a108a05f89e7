//! Recordings of a network's run: a packet capture and an event stream.

mod incomplete;
mod output_file;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use polypath_capture::{Capture, CaptureError};
use polypath_core::rng::Seed;
use polypath_core::time::Time;
use polypath_report::network::events::EventWriter;
use polypath_scenario::Network;
use polypath_sim::{Detail, NetworkEvent, NetworkObserver};

pub(crate) use incomplete::IncompleteFiles;
use output_file::{OutputFile, display_name, unwritable};

use crate::failure::{Failure, print_message};
use crate::watch::Interrupts;

/// The recording options of a run.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Capture the packets of a network's links in this pcapng file, with IPv4, TCP and UDP
    /// headers. `-` is standard output; the report then goes to standard error.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// The links to capture in both directions; NAME/back is the reverse direction alone [default:
    /// all].
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "pcap")]
    pcap_link: Vec<String>,
    /// Write the events of a network to this file, one JSON object per line (docs/simulator.md).
    /// `-` as for `--pcap`.
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// The level of detail of the event stream.
    #[arg(long, value_enum, default_value_t, requires = "events")]
    events_level: Level,
}

/// The level of detail of an event stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Level {
    /// TCP windows, loss recovery, timeouts, round-trip times and finished files; the receiver's
    /// round-trip times and window; the spacing of spaced packets; the path of multi-homed sources;
    /// the connections and windows that the receiver of a striped stream requests, and its player's
    /// stalls; drops on links.
    #[default]
    Tcp,
    /// Also the arrival of every packet at the end of every link.
    Packets,
}

impl Args {
    /// The first recording option given, if any.
    fn given(&self) -> Option<&'static str> {
        let pcap = self.pcap.as_ref().map(|_| "--pcap");
        pcap.or(self.events.as_ref().map(|_| "--events"))
    }

    /// Whether a recording goes to standard output.
    pub(crate) fn uses_stdout(&self) -> bool {
        let mut paths = self.pcap.iter().chain(&self.events);
        paths.any(|path| output_file::is_stdout(path))
    }

    /// Refuses the recording options for `input`, which is not a single run of a network, with a
    /// remedy.
    pub(crate) fn refuse(&self, input: &str, remedy: &str) -> Result<(), Failure> {
        let refused = self.given().map(|option| {
            Failure::input(format!(
                "{option} records a single run of a network, but this is {input}: {remedy}"
            ))
        });
        refused.map_or(Ok(()), Err)
    }

    /// Refuses to overwrite the scenario file.
    pub(crate) fn refuse_overwriting(&self, scenario: &Path) -> Result<(), Failure> {
        let Ok(input) = scenario.canonicalize() else {
            return Ok(());
        };
        for (option, path) in [("--pcap", &self.pcap), ("--events", &self.events)] {
            let path = path.as_ref().and_then(|path| path.canonicalize().ok());
            if path.is_some_and(|path| path == input) {
                let scenario = scenario.display();
                return Err(Failure::input(format!(
                    "{option} would overwrite the scenario {scenario}; choose another file with {option}"
                )));
            }
        }
        Ok(())
    }

    /// Creates the files for a run of `network` with `seed`, which `interrupts` may end early.
    pub(crate) fn open(
        &self,
        network: &Network,
        seed: u64,
        interrupts: &Interrupts,
    ) -> Result<Recorders, Failure> {
        if self.pcap.is_some() {
            check_capture(network, seed, &self.pcap_link)?;
        }
        let [pcap, events] = self.open_files()?;
        let capture = pcap.map(|file| start_capture(network, seed, file, &self.pcap_link));
        let packets = self.events_level == Level::Packets;
        let events = events.map(|file| start_events(network, seed, file, packets));
        let in_progress = capture.is_some() || events.is_some();
        Ok(Recorders {
            capture: capture.transpose()?,
            events: events.transpose()?,
            interrupts: interrupts.clone(),
            in_progress: Arc::new(AtomicBool::new(in_progress)),
        })
    }

    /// Opens both files before either is truncated.
    fn open_files(&self) -> Result<[Option<OutputFile>; 2], Failure> {
        let open = |option, path: &Option<PathBuf>| -> Result<Option<OutputFile>, Failure> {
            let path = path.as_deref();
            path.map(|path| OutputFile::new(option, path)).transpose()
        };
        let pcap = open("--pcap", &self.pcap)?;
        let discard = || pcap.iter().for_each(OutputFile::discard);
        let events = open("--events", &self.events).inspect_err(|_| discard())?;
        if let (Some(one), Some(other)) = (&pcap, &events)
            && one.is_same(other)
        {
            discard();
            let path = display_name(&other.path);
            return Err(Failure::input(format!(
                "--pcap and --events name the same file, {path}; choose another file with --events"
            )));
        }
        Ok([pcap, events])
    }
}

/// A recorder with the path of its file.
struct Recorder<R> {
    path: PathBuf,
    recorder: R,
}

/// The recorders of a run, which complete their files on an interrupt.
pub(crate) struct Recorders {
    capture: Option<Recorder<Capture<BufWriter<File>>>>,
    events: Option<Recorder<EventWriter<BufWriter<File>>>>,
    interrupts: Interrupts,
    in_progress: Arc<AtomicBool>,
}

impl Recorders {
    /// True until the files are complete; the program must not exit before that.
    pub(crate) fn in_progress(&self) -> Arc<AtomicBool> {
        self.in_progress.clone()
    }

    /// Completes the files; returns those that could not be written to the end.
    pub(crate) fn finish(mut self) -> IncompleteFiles {
        self.complete()
    }

    fn complete(&mut self) -> IncompleteFiles {
        let mut incomplete = IncompleteFiles::default();
        if let Some(Recorder { path, recorder }) = self.capture.take() {
            incomplete.note("--pcap", path, recorder.finish());
        }
        if let Some(Recorder { path, recorder }) = self.events.take() {
            incomplete.note("--events", path, recorder.finish());
        }
        self.in_progress.store(false, Ordering::Relaxed);
        incomplete
    }

    /// On an interrupt, completes the files and prints the time up to which they extend.
    fn complete_if_interrupted(&mut self, now: Time) {
        if !self.interrupts.is_requested() || !self.in_progress.load(Ordering::Relaxed) {
            return;
        }
        let seconds = now.0 as f64 / 1e9;
        let capture = self.capture.as_ref().map(|capture| &capture.path);
        let events = self.events.as_ref().map(|events| &events.path);
        let paths = capture.into_iter().chain(events);
        let messages =
            paths.map(|path| format!("{} ends at {seconds:.3} s of the run", display_name(path)));
        let messages: Vec<String> = messages.collect();
        match self.complete().into_result() {
            Ok(()) => print_message(&messages.join("\n")),
            Err(failure) => failure.report(),
        }
    }
}

impl NetworkObserver for Recorders {
    fn on_progress(&mut self, now: Time) {
        self.complete_if_interrupted(now);
    }

    fn detail(&self) -> Detail {
        let capture = self.capture.as_ref().map(|c| c.recorder.detail());
        let events = self.events.as_ref().map(|e| e.recorder.detail());
        capture.unwrap_or_default().or(events.unwrap_or_default())
    }

    fn on_event(&mut self, at: Time, event: &NetworkEvent) {
        self.complete_if_interrupted(at);
        if let Some(capture) = &mut self.capture {
            capture.recorder.on_event(at, event);
        }
        if let Some(events) = &mut self.events {
            events.recorder.on_event(at, event);
        }
    }
}

/// Refuses what cannot be captured before a file is opened.
fn check_capture(network: &Network, seed: u64, links: &[String]) -> Result<(), Failure> {
    let checked = Capture::new(network, Seed(seed), links, std::io::sink());
    checked.map(|_| ()).map_err(|error| refused(&error))
}

fn start_capture(
    network: &Network,
    seed: u64,
    file: OutputFile,
    links: &[String],
) -> Result<Recorder<Capture<BufWriter<File>>>, Failure> {
    let (path, file) = file.truncate()?;
    let recorder =
        Capture::new(network, Seed(seed), links, file).map_err(|error| refused(&error))?;
    Ok(Recorder { path, recorder })
}

fn refused(error: &CaptureError) -> Failure {
    let option = match error {
        CaptureError::UnknownLink { .. } => "--pcap-link",
        CaptureError::Address(_) | CaptureError::File(_) => "--pcap",
    };
    Failure::input(format!("{option}: {error}"))
}

fn start_events(
    network: &Network,
    seed: u64,
    file: OutputFile,
    packets: bool,
) -> Result<Recorder<EventWriter<BufWriter<File>>>, Failure> {
    let (path, file) = file.truncate()?;
    let recorder = EventWriter::new(network, seed, packets, file)
        .map_err(|error| Failure::input(unwritable("--events", &path, &error)))?;
    Ok(Recorder { path, recorder })
}
