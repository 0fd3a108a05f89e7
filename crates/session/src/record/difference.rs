//! Where a replay parts from its recording.

use std::fmt;

use polypath_core::endpoint::Output;
use polypath_core::machine::Deadline;
use polypath_core::time::Time;
use serde::Serialize;

use super::Shape;

/// The first decision that differs from what was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", rename_all = "kebab-case")]
pub enum Difference {
    /// Something that the endpoint said.
    Output {
        /// When it was woken.
        at: Time,
        /// Which of the things that it said then, from 1.
        number: usize,
        /// What was recorded; nothing where the replay says more.
        recorded: Option<Output<Shape>>,
        /// What the replay says; nothing where it says less.
        replayed: Option<Output<Shape>>,
    },
    /// When it wants to be woken next.
    Deadline {
        /// When it was woken.
        at: Time,
        /// What was recorded.
        recorded: Option<Time>,
        /// What the replay wants.
        replayed: Option<Time>,
        /// For what.
        why: Option<&'static str>,
    },
}

impl Difference {
    /// When the endpoint was woken.
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

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output {
                number,
                recorded,
                replayed,
                ..
            } => {
                let (recorded, replayed) = (said(recorded.as_ref()), said(replayed.as_ref()));
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

/// As it stands in a recording.
fn said(said: Option<&Output<Shape>>) -> String {
    let text = said.map(|said| serde_json::to_string(said).unwrap_or_else(|e| e.to_string()));
    text.unwrap_or_else(|| "nothing".to_owned())
}
