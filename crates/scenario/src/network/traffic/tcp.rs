//! TCP traffic: endless data, one file, or files one after another.

use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::TrafficKind;
use crate::background::LogNormal;
use crate::check::at_least_a_byte;
use crate::check::bounds::{MAX_FILE, at_most_a_day, check_files};
use polypath_document::Problems;

/// Over one TCP connection, without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ftp {}

/// Over one TCP connection, one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SingleFile {
    /// The size of the file.
    pub size: Bytes,
}

/// Files one after another, each over a TCP connection of its own, with pauses (PPD paper, 5).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// The mean of the exponential pause before each file.
    pub idle: Duration,
    /// The distribution of the file sizes in bytes; a file has at least one segment.
    pub file: LogNormal,
}

impl TrafficKind for Ftp {
    fn check(&self, _key: &str, _problems: &mut Problems) {}

    fn is_tcp(&self) -> bool {
        true
    }
}

impl TrafficKind for SingleFile {
    fn check(&self, key: &str, problems: &mut Problems) {
        let key = format!("{key}.size");
        at_least_a_byte(&key, self.size, problems);
        polypath_document::at_most(&key, self.size, MAX_FILE, problems);
    }

    fn is_tcp(&self) -> bool {
        true
    }

    fn has_files(&self) -> bool {
        true
    }
}

impl TrafficKind for Sessions {
    fn check(&self, key: &str, problems: &mut Problems) {
        at_most_a_day(&format!("{key}.idle"), self.idle, problems);
        check_files(&format!("{key}.file"), self.file, problems);
    }

    fn is_tcp(&self) -> bool {
        true
    }

    fn has_files(&self) -> bool {
        true
    }
}
