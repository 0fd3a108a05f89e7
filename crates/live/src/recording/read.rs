//! Reads recordings, which are untrusted input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use polypath_core::endpoint::ConfigError;
use polypath_document::{FileKind, WrongKind, check_kind, file};
use serde::de::{DeserializeOwned, IgnoredAny};

use super::{End, Line, RecordedMachine, RecordingHeader, SOFTWARE, VERSION};

/// The maximum length of a line in bytes.
const MAX_LINE: u64 = 1 << 24;
/// The largest combining window, and buffer of a receiver, that is accepted: hostile inputs could fill
/// it.
const MAX_WINDOW: u32 = 1 << 20;

/// Reads a recording line by line.
#[derive(Debug)]
pub struct Reader<R> {
    file: R,
    /// The number of the last line.
    number: u64,
    /// Whether the last line was the end.
    ended: bool,
    truncated: bool,
}

/// An error in reading a recording, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is of another kind.
    #[error(transparent)]
    WrongKind(#[from] WrongKind),
    /// The file is not a recording.
    #[error(
        "line 1: this is not a recording ({0}); name a file that `--record` of `polypath node` or `polypath stream get` wrote"
    )]
    Foreign(String),
    /// The recording has another version.
    #[error(
        "line 1: a recording of version {version} by {software}; this is {SOFTWARE}, which reads version {VERSION}: \
         replay it with that version of polypath"
    )]
    Version {
        /// Its version.
        version: u32,
        /// The software that wrote it.
        software: String,
    },
    /// The configuration of the machine is invalid.
    #[error("line 1: {0}")]
    Configuration(#[from] ConfigError),
    /// A line is invalid.
    #[error("line {line}: {reason}; the lines before it can be replayed: head -n {before}", before = line - 1)]
    Broken {
        /// The line.
        line: u64,
        /// The error.
        reason: String,
    },
}

/// The part of the first line that all versions have.
#[derive(serde::Deserialize)]
struct Origin {
    recording: u32,
    software: String,
}

/// The keys of the first line: serde ignores unknown ones beside a flattened field.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderKeys {
    #[serde(rename = "recording")]
    _recording: IgnoredAny,
    #[serde(rename = "software")]
    _software: IgnoredAny,
    #[serde(rename = "started")]
    _started: IgnoredAny,
    endpoint: Option<IgnoredAny>,
    reception: Option<IgnoredAny>,
}

impl Reader<BufReader<File>> {
    /// Opens a file and reads its header.
    pub fn open(path: &Path) -> Result<(RecordingHeader, Self), RecordingError> {
        let mut file = BufReader::new(file::open(path)?);
        let start = file.fill_buf()?;
        check_kind(&path.display().to_string(), start, &[FileKind::Recording])?;
        Self::new(file)
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads the header of `file`.
    pub fn new(file: R) -> Result<(RecordingHeader, Self), RecordingError> {
        let mut reader = Self {
            file,
            number: 0,
            ended: false,
            truncated: false,
        };
        let foreign = |reason: &dyn ToString| RecordingError::Foreign(reason.to_string());
        let bytes = reader.read_line()?.ok_or_else(|| foreign(&"it is empty"))?;
        let origin: Origin = parse(&bytes).map_err(|e| foreign(&e))?;
        if origin.recording != VERSION {
            let (version, software) = (origin.recording, origin.software);
            return Err(RecordingError::Version { version, software });
        }
        let keys: HeaderKeys = parse(&bytes).map_err(|e| foreign(&e))?;
        if keys.endpoint.is_some() && keys.reception.is_some() {
            return Err(foreign(&"it has two machines"));
        }
        let header: RecordingHeader = parse(&bytes).map_err(|e| foreign(&e))?;
        let (kept, name) = match &header.machine {
            RecordedMachine::Endpoint(config) => (config.window, "combining window"),
            RecordedMachine::Reception(config) => (config.receiver.buffer, "buffer"),
        };
        if kept > MAX_WINDOW {
            return Err(foreign(&format_args!("its {name} is too large")));
        }
        Ok((header, reader))
    }

    /// Whether the end of the recording is missing; known once all lines are read.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// The lines after the header, with the entries of its machine.
    pub fn lines<E: DeserializeOwned>(
        &mut self,
    ) -> impl Iterator<Item = Result<Line<E>, RecordingError>> {
        std::iter::from_fn(|| self.line().transpose())
    }

    fn line<E: DeserializeOwned>(&mut self) -> Result<Option<Line<E>>, RecordingError> {
        let Some(bytes) = self.read_line()? else {
            self.truncated = !self.ended;
            return Ok(None);
        };
        if self.ended {
            return Err(self.broken("it follows the end of the recording".to_owned()));
        }
        if bytes.starts_with(b"{\"end\"")
            && let Ok(End { end }) = parse(&bytes)
        {
            self.check_number(end)?;
            self.ended = true;
            return self.line();
        }
        match parse::<Line<E>>(&bytes) {
            Ok(line) => self.check_number(line.number).map(|()| Some(line)),
            Err(_) if !bytes.ends_with(b"\n") => {
                self.truncated = true;
                Ok(None)
            }
            Err(reason) => Err(self.broken(reason)),
        }
    }

    /// Detects lines that are missing or moved by their numbers.
    fn check_number(&self, number: u64) -> Result<(), RecordingError> {
        if number == self.number {
            return Ok(());
        }
        Err(self.broken(format!(
            "it was line {number}: lines were removed, inserted or moved"
        )))
    }

    fn broken(&self, reason: String) -> RecordingError {
        let line = self.number;
        RecordingError::Broken { line, reason }
    }

    fn read_line(&mut self) -> Result<Option<Vec<u8>>, RecordingError> {
        let mut bytes = Vec::new();
        let len = (&mut self.file)
            .take(MAX_LINE)
            .read_until(b'\n', &mut bytes)?;
        self.number += 1;
        if len as u64 == MAX_LINE && !bytes.ends_with(b"\n") {
            let reason = format!("it is longer than {MAX_LINE} bytes");
            return Err(match self.number {
                1 => RecordingError::Foreign(reason),
                line => RecordingError::Broken { line, reason },
            });
        }
        Ok((len > 0).then_some(bytes))
    }
}

/// Parses a line; errors name the column alone, since the parser sees only this line.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| {
        let words = error.to_string();
        let (reason, _) = words.rsplit_once(" at line ").unwrap_or((&words, ""));
        format!("{reason} (column {})", error.column())
    })
}
