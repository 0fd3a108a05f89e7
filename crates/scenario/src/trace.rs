//! Recorded rates: the packet-delivery traces of Mahimahi, one time in milliseconds a line; and recorded traffic
//! ([`PacketTrace`]).
//!
//! A scenario names the file. What it holds comes from whoever reads files ([`Files`]), so that the reading of a
//! scenario needs no file system.

mod packets;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use polypath_core::time::Duration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::document::Problems;
use crate::path::Link;
pub use packets::{PacketTrace, TracePacket};

/// Gives the text of a file that a scenario names, relative to the scenario, or says why it cannot.
pub type Files<'a> = dyn FnMut(&str) -> Result<String, String> + 'a;

/// A recorded rate: the file, and what stands in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The name of the file, relative to the scenario's.
    pub file: String,
    /// When 1500 bytes can be delivered, since the start of the trace, which repeats after the last; nothing
    /// before the file is read.
    pub opportunities: Arc<[Duration]>,
}

/// Reads traces, each file once.
pub(crate) struct TraceReader<'a> {
    files: &'a mut Files<'a>,
    rates: Known<Duration>,
    packets: Known<TracePacket>,
}

/// What stands in the files of one form that were read.
type Known<T> = BTreeMap<String, Arc<[T]>>;

/// What is wrong with a line of a trace.
struct Mistake {
    line: usize,
    message: String,
    remedy: &'static str,
}

/// The text of no file at all, for scenarios that come without.
pub(crate) fn no_files(_: &str) -> Result<String, String> {
    Err("files cannot be read here".to_owned())
}

impl<'a> TraceReader<'a> {
    pub(crate) fn new(files: &'a mut Files<'a>) -> Self {
        Self {
            files,
            rates: Known::new(),
            packets: Known::new(),
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
                trace.opportunities = read(self.files, known, parse, (&key, &trace.file), problems);
            }
        }
    }

    /// Reads the recorded traffic at `key`.
    pub(crate) fn fill_packets(
        &mut self,
        key: &str,
        trace: &mut PacketTrace,
        problems: &mut Problems,
    ) {
        let (parse, known) = (packets::parse, &mut self.packets);
        trace.packets = read(self.files, known, parse, (key, &trace.file), problems);
    }
}

/// What stands in `file`, which is named at `key`; nothing where that is reported as wrong.
fn read<T: Clone>(
    files: &mut Files<'_>,
    known: &mut Known<T>,
    parse: impl Fn(&str) -> Result<Vec<T>, Mistake>,
    (key, file): (&str, &str),
    problems: &mut Problems,
) -> Arc<[T]> {
    if let Some(known) = known.get(file) {
        return known.clone();
    }
    let content = match files(file).map(|text| parse(&text)) {
        Ok(Ok(content)) => content,
        Ok(Err(Mistake {
            line,
            message,
            remedy,
        })) => {
            problems.report_in((key, file), line, message, remedy);
            Vec::new()
        }
        Err(reason) => {
            let message = format!("cannot read `{file}`: {reason}");
            problems.report(key, message, "name a file beside this one");
            Vec::new()
        }
    };
    let content: Arc<[T]> = content.into();
    known.insert(file.to_owned(), content.clone());
    content
}

/// The times in the lines of a trace.
fn parse(text: &str) -> Result<Vec<Duration>, Mistake> {
    let mut times: Vec<Duration> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let mistake = |message, remedy| Mistake {
            line,
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
        return Err(Mistake {
            line: times.len().max(1),
            message: "the trace lasts no time".to_owned(),
            remedy: "its last line must be more than 0",
        });
    }
    Ok(times)
}

impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d).map(|file| Self {
            file,
            opportunities: Arc::default(),
        })
    }
}

impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.file)
    }
}

impl JsonSchema for Trace {
    fn schema_name() -> Cow<'static, str> {
        "Trace".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "a file with one time in ms a line, at which 1500 B can be delivered (Mahimahi)"
        })
    }
}

#[cfg(test)]
mod tests;
