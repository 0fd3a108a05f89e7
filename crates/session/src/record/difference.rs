//! Differences between a replay and its recording.

use std::fmt;

use polypath_core::machine::Deadline;
use polypath_core::time::Time;
use serde::Serialize;

/// The first decision of a replay that differs from the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", rename_all = "kebab-case")]
pub enum Difference<O> {
    /// An output of the machine.
    Output {
        /// The time of the wake.
        at: Time,
        /// The position of the output in this wake, from 1.
        number: usize,
        /// The recorded output; `None` if the replay has additional ones.
        recorded: Option<O>,
        /// The replayed output; `None` if the replay has fewer.
        replayed: Option<O>,
    },
    /// The next deadline.
    Deadline {
        /// The time of the wake.
        at: Time,
        /// The recorded time.
        recorded: Option<Time>,
        /// The replayed time.
        replayed: Option<Time>,
        /// The reason for the replayed deadline.
        why: Option<&'static str>,
    },
}

impl<O> Difference<O> {
    /// The time of the wake.
    #[must_use]
    pub const fn at(&self) -> Time {
        match self {
            Self::Output { at, .. } | Self::Deadline { at, .. } => *at,
        }
    }

    pub(super) fn deadline(at: Time, recorded: Option<Time>, replayed: Option<Deadline>) -> Self {
        Self::Deadline {
            at,
            recorded,
            replayed: replayed.map(|deadline| deadline.at),
            why: replayed.map(|deadline| deadline.why),
        }
    }
}

impl<O: Serialize> fmt::Display for Difference<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output {
                number,
                recorded,
                replayed,
                ..
            } => {
                let (recorded, replayed) =
                    (describe(recorded.as_ref()), describe(replayed.as_ref()));
                write!(
                    f,
                    "decision {number}: recorded {recorded}, replayed {replayed}"
                )
            }
            Self::Deadline {
                recorded,
                replayed,
                why,
                ..
            } => {
                let time = |time: &Option<Time>| {
                    time.map_or("never".to_owned(), |at| {
                        format!("at {:.9} s", at.as_secs_f64())
                    })
                };
                let (recorded, replayed) = (time(recorded), time(replayed));
                let why = why.map_or(String::new(), |why| format!(" ({why})"));
                write!(
                    f,
                    "the next deadline: recorded {recorded}, replayed {replayed}{why}"
                )
            }
        }
    }
}

/// An output in the format of a recording.
fn describe(output: Option<&impl Serialize>) -> String {
    let text = output.map(|output| serde_json::to_string(output).unwrap_or_else(|e| e.to_string()));
    text.unwrap_or_else(|| "nothing".to_owned())
}
