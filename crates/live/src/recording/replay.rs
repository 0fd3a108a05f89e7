//! Replays recordings of any machine.

use std::io::BufRead;

use polypath_core::connections::Reception;
use polypath_core::machine::Machine;
use polypath_core::time::Time;
use polypath_session::record::{Entry, ReceptionEntry, Replay, WakeEntry};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Reader, RecordedMachine, RecordingError, RecordingHeader};

/// The result of a replay up to the end of its recording, or to the first difference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayResult {
    /// The number of wakes with the same decisions.
    pub wakes: u64,
    /// The number of these decisions.
    pub decisions: u64,
    /// The time of the first wake.
    pub first: Option<Time>,
    /// The time of the last wake with the same decisions.
    pub last: Time,
    /// The first difference.
    pub difference: Option<FirstDifference>,
}

/// The first difference between a replay and its recording.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstDifference {
    /// The line of the recording.
    pub line: u64,
    /// The time of the wake.
    pub at: Time,
    /// The recorded and the new decision in words.
    pub text: String,
    /// The same for programs.
    pub json: Value,
}

/// Replays a recording with a machine of this version.
///
/// # Errors
/// A line is damaged, or the machine cannot have the configuration of the header.
pub fn replay<R: BufRead>(
    header: &RecordingHeader,
    reader: &mut Reader<R>,
) -> Result<ReplayResult, RecordingError> {
    match &header.machine {
        RecordedMachine::Endpoint(config) => replay_lines(Replay::new(config)?, reader),
        RecordedMachine::Reception(config) => {
            replay_lines(Replay::of(Reception::<()>::new(config)), reader)
        }
    }
}

/// Reads a recording to its end, without a replay.
///
/// # Errors
/// As [`replay`].
pub fn check<R: BufRead>(
    header: &RecordingHeader,
    reader: &mut Reader<R>,
) -> Result<(), RecordingError> {
    match &header.machine {
        RecordedMachine::Endpoint(config) => {
            Replay::new(config)?;
            reader.lines::<Entry>().try_for_each(|line| line.map(drop))
        }
        RecordedMachine::Reception(_) => {
            let mut lines = reader.lines::<ReceptionEntry>();
            lines.try_for_each(|line| line.map(drop))
        }
    }
}

fn replay_lines<M, R: BufRead>(
    mut replay: Replay<M>,
    reader: &mut Reader<R>,
) -> Result<ReplayResult, RecordingError>
where
    M: Machine<Input: Clone + DeserializeOwned>,
    M::Output: Clone + PartialEq + Serialize + DeserializeOwned,
{
    let mut result = ReplayResult::default();
    for line in reader.lines::<WakeEntry<M::Input, M::Output>>() {
        let line = line?;
        if let Err(difference) = replay.check(&line.entry) {
            result.difference = Some(FirstDifference {
                line: line.number,
                at: difference.at(),
                text: difference.to_string(),
                // It has no key that is not a string.
                json: serde_json::to_value(&difference).unwrap_or_default(),
            });
            break;
        }
        result.wakes += 1;
        result.decisions += line.entry.outputs.len() as u64;
        result.first.get_or_insert(line.entry.at);
        result.last = result.last.max(line.entry.at);
    }
    Ok(result)
}
