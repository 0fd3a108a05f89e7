//! Recorded rates (the packet-delivery traces of Mahimahi, one time in milliseconds per line) and
//! recorded traffic ([`PacketTrace`]).
//!
//! A scenario names the file. The caller supplies its content ([`Files`]), so that reading a
//! scenario needs no file system.

mod named;
mod ns2;
mod packets;

use std::collections::BTreeMap;
use std::sync::Arc;

use polypath_core::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::{Link, Path};
pub use named::{Entry, Named};
pub use packets::TracePacket;
use polypath_document::{FilePosition, NamedFile, Problems};

/// Returns the content of a file that a scenario names, relative to the scenario, or a message why
/// it cannot be read.
pub type Files<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

/// A recorded rate: the times, since the start of the trace, at which 1500 bytes can be delivered;
/// it repeats after the last.
pub type Trace = Named<Duration>;

/// Recorded traffic: its datagrams in the order of time.
pub type PacketTrace = Named<TracePacket>;

/// The format of a file with recorded traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceFormat {
    /// One datagram per line: the time since the start in seconds, and the size in bytes.
    #[default]
    Text,
    /// The binary traces of ns-2: pairs of big-endian 32-bit words, the time since the previous
    /// datagram in microseconds, and the size in bytes.
    Ns2,
}

/// Checks the text of the file `name`: recorded rates, or recorded traffic if its first line has
/// two numbers.
///
/// # Errors
/// The first mistake, with its line and the remedy.
pub fn check_trace(name: &str, text: &str) -> Result<(), String> {
    let lines = text.lines().map(|line| line.split('#').next());
    let fields = lines.flatten().map(|line| line.split_whitespace().count());
    let has_sizes = fields.into_iter().find(|fields| *fields > 0) == Some(2);
    let checked = if has_sizes {
        packets::parse(text).map(drop)
    } else {
        parse(text).map(drop)
    };
    checked.map_err(|mistake| {
        let line = match mistake.at {
            FilePosition::Line(number) | FilePosition::Record(number) => number,
        };
        format!("{name}:{line}: {}; {}", mistake.message, mistake.remedy)
    })
}

/// Reads traces, each file once.
pub(crate) struct TraceReader<'a> {
    files: &'a mut Files<'a>,
    rates: Cache<Duration>,
    packets: Cache<TracePacket>,
    ns2_packets: Cache<TracePacket>,
}

/// The entries of the files of one format that were read.
type Cache<T> = BTreeMap<String, Arc<[T]>>;

/// A problem of a trace.
struct TraceProblem {
    at: FilePosition,
    message: String,
    remedy: &'static str,
}

/// Reads no file.
pub(crate) fn no_files(_: &str) -> Result<Vec<u8>, String> {
    Err("files cannot be read here".to_owned())
}

impl<'a> TraceReader<'a> {
    pub(crate) fn new(files: &'a mut Files<'a>) -> Self {
        Self {
            files,
            rates: Cache::new(),
            packets: Cache::new(),
            ns2_packets: Cache::new(),
        }
    }

    /// Reads the traces of the links of all paths.
    pub(crate) fn fill_paths(&mut self, paths: &mut [Path], problems: &mut Problems) {
        for (path, n) in paths.iter_mut().zip(0..) {
            for (link, m) in path.links.iter_mut().zip(0..) {
                self.fill(&format!("path.{n}.link.{m}"), link, problems);
            }
        }
    }

    /// Reads the traces of the link at `key`.
    pub(crate) fn fill(&mut self, key: &str, link: &mut Link, problems: &mut Problems) {
        for (leaf, trace) in [
            ("trace", &mut link.trace),
            ("trace_back", &mut link.trace_back),
        ] {
            if let Some(trace) = trace {
                let (key, known) = (format!("{key}.{leaf}"), &mut self.rates);
                trace.entries = read(
                    self.files,
                    known,
                    of_text(parse),
                    NamedFile {
                        key: &key,
                        name: &trace.file,
                    },
                    problems,
                );
            }
        }
    }

    /// Reads the recorded traffic at `key`.
    pub(crate) fn fill_packets(
        &mut self,
        key: &str,
        trace: &mut PacketTrace,
        format: TraceFormat,
        problems: &mut Problems,
    ) {
        let name = &trace.file;
        let file = NamedFile { key, name };
        trace.entries = match format {
            TraceFormat::Text => {
                let (parse, known) = (of_text(packets::parse), &mut self.packets);
                read(self.files, known, parse, file, problems)
            }
            TraceFormat::Ns2 => {
                let known = &mut self.ns2_packets;
                read(self.files, known, ns2::parse, file, problems)
            }
        };
    }
}

/// Reads a file; returns nothing where a problem is reported.
fn read<T: Clone>(
    files: &mut Files<'_>,
    known: &mut Cache<T>,
    parse: impl Fn(&[u8]) -> Result<Vec<T>, TraceProblem>,
    file: NamedFile<'_>,
    problems: &mut Problems,
) -> Arc<[T]> {
    if let Some(known) = known.get(file.name) {
        return known.clone();
    }
    let content = match files(file.name).map(|content| parse(&content)) {
        Ok(Ok(content)) => content,
        Ok(Err(mistake)) => {
            let TraceProblem {
                at,
                message,
                remedy,
            } = mistake;
            problems.report_in_file(file, at, message, remedy);
            Vec::new()
        }
        Err(reason) => {
            let message = format!("cannot read `{}`: {reason}", file.name);
            problems.report(file.key, message, "name a file relative to this one");
            Vec::new()
        }
    };
    let content: Arc<[T]> = content.into();
    known.insert(file.name.to_owned(), content.clone());
    content
}

/// A parser of file contents from a parser of text.
fn of_text<T>(
    parse: impl Fn(&str) -> Result<Vec<T>, TraceProblem>,
) -> impl Fn(&[u8]) -> Result<Vec<T>, TraceProblem> {
    move |content| match std::str::from_utf8(content) {
        Ok(text) => parse(text),
        Err(error) => {
            let before = &content[..error.valid_up_to()];
            Err(TraceProblem {
                at: FilePosition::Line(before.split(|byte| *byte == b'\n').count()),
                message: "this is not text".to_owned(),
                remedy: "a trace in ns-2's binary form is one of datagrams: `format = \"ns2\"`",
            })
        }
    }
}

/// Parses the times in the lines of a trace.
fn parse(text: &str) -> Result<Vec<Duration>, TraceProblem> {
    let mut times: Vec<Duration> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let mistake = |message, remedy| TraceProblem {
            at: FilePosition::Line(line),
            message,
            remedy,
        };
        let Ok(ms) = text.trim().parse::<u32>() else {
            let message = format!("`{}` is not a time in milliseconds", text.escape_debug());
            return Err(mistake(message, "each line is a whole number"));
        };
        let at = Duration::from_millis(u64::from(ms));
        if times.last().is_some_and(|last| at < *last) {
            let message = format!("{ms} ms is earlier than the line before");
            return Err(mistake(message, "sort the lines"));
        }
        times.push(at);
    }
    if times.last().is_none_or(|last| *last == Duration::ZERO) {
        return Err(TraceProblem {
            at: FilePosition::Line(times.len().max(1)),
            message: "the trace lasts no time".to_owned(),
            remedy: "its last line must be more than 0",
        });
    }
    Ok(times)
}

#[cfg(test)]
mod tests;
