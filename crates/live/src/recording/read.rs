//! Reading a recording, which may come from anywhere.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::de::DeserializeOwned;

use super::{End, Line, RecordingHeader, SOFTWARE, VERSION};
use crate::input;

/// No line is longer, in bytes.
const LONGEST: u64 = 1 << 24;
/// No node remembers more packets; a window is memory before anything has come.
const LARGEST_WINDOW: u32 = 1 << 20;

/// A recording that is being read.
#[derive(Debug)]
pub struct Reader<R> {
    file: R,
    line: u64,
    /// Whether the last line was the end.
    ended: bool,
    truncated: bool,
}

/// Why a recording cannot be read, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It does not begin as recordings do.
    #[error("line 1: this is no recording ({0}); name a file that `polypath node --record` wrote")]
    Foreign(String),
    /// It has another form.
    #[error(
        "line 1: a recording of version {version} by {software}; this is {SOFTWARE}, which reads version {VERSION}: \
         replay it with the polypath that made it"
    )]
    Version {
        /// Its version.
        version: u32,
        /// What made it.
        software: String,
    },
    /// A line is no entry.
    #[error("line {line}: {reason}; what stands before it can be replayed: head -n {before}", before = line - 1)]
    Broken {
        /// The line.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
}

/// What recordings of all versions have in their first line.
#[derive(serde::Deserialize)]
struct Origin {
    recording: u32,
    software: String,
}

impl Reader<BufReader<File>> {
    /// Opens a file and reads its header.
    pub fn open(path: &Path) -> Result<(RecordingHeader, Self), RecordingError> {
        Self::new(BufReader::new(input::open(path)?))
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads the header of what `file` gives.
    pub fn new(file: R) -> Result<(RecordingHeader, Self), RecordingError> {
        let mut reader = Self {
            file,
            line: 0,
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
        let header: RecordingHeader = parse(&bytes).map_err(|e| foreign(&e))?;
        if header.endpoint.window > LARGEST_WINDOW {
            return Err(foreign(&"no node has such a window"));
        }
        Ok((header, reader))
    }

    /// Whether its end is missing, or cut off, as known where no line is left.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    fn entry(&mut self) -> Result<Option<Line>, RecordingError> {
        let Some(bytes) = self.read_line()? else {
            self.truncated = !self.ended;
            return Ok(None);
        };
        if self.ended {
            return Err(self.broken("it stands behind the end of the recording".to_owned()));
        }
        if bytes.starts_with(b"{\"end\"")
            && let Ok(End { end }) = parse(&bytes)
        {
            self.check_number(end)?;
            self.ended = true;
            return self.entry();
        }
        match parse::<Line>(&bytes) {
            Ok(line) => self.check_number(line.number).map(|()| Some(line)),
            Err(_) if !bytes.ends_with(b"\n") => {
                self.truncated = true;
                Ok(None)
            }
            Err(reason) => Err(self.broken(reason)),
        }
    }

    /// A line that is missing, or stands elsewhere, shows by the number of the next.
    fn check_number(&self, number: u64) -> Result<(), RecordingError> {
        if number == self.line {
            return Ok(());
        }
        Err(self.broken(format!(
            "it was line {number}: lines were taken out, put in or moved"
        )))
    }

    fn broken(&self, reason: String) -> RecordingError {
        let line = self.line;
        RecordingError::Broken { line, reason }
    }

    fn read_line(&mut self) -> Result<Option<Vec<u8>>, RecordingError> {
        let mut bytes = Vec::new();
        let len = (&mut self.file)
            .take(LONGEST)
            .read_until(b'\n', &mut bytes)?;
        self.line += 1;
        if len as u64 == LONGEST && !bytes.ends_with(b"\n") {
            let reason = format!("it is longer than {LONGEST} bytes");
            return Err(match self.line {
                1 => RecordingError::Foreign(reason),
                line => RecordingError::Broken { line, reason },
            });
        }
        Ok((len > 0).then_some(bytes))
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Line, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entry().transpose()
    }
}

/// What stands in a line, or what is wrong with it; the parser counts lines in the line alone.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| {
        let words = error.to_string();
        let (reason, _) = words.rsplit_once(" at line ").unwrap_or((&words, ""));
        format!("{reason} (column {})", error.column())
    })
}
