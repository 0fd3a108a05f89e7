//! Texts with a notation of their own, by the name under which a JSON schema defines them.

use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};

use crate::queue::QueueLimit;

/// A notation: how to check a text, and a text that is valid.
pub(super) struct Notation {
    pub(super) check: Check,
    pub(super) example: &'static str,
}

type Check = fn(&str) -> Result<(), String>;

/// The notation of a definition of the schema, if it has one.
pub(super) fn notation(definition: &str) -> Option<Notation> {
    let (check, example): (Check, _) = match definition {
        "Rate" => (check::<Rate>, "1 Mbit/s"),
        "Bytes" => (check::<Bytes>, "1 kB"),
        "Duration" => (check::<Duration>, "1 s"),
        "QueueLimit" => (check::<QueueLimit>, "50 packets"),
        _ => return None,
    };
    Some(Notation { check, example })
}

fn check<T: std::str::FromStr<Err: ToString>>(text: &str) -> Result<(), String> {
    text.parse::<T>()
        .map(drop)
        .map_err(|error| error.to_string())
}
