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
    text.parse::<T>().map(drop).map_err(|error| {
        if is_too_large::<T>(text) {
            return format!("`{text}` is too large");
        }
        error.to_string()
    })
}

/// Whether the text is a number and a unit, and would do with a smaller number.
fn is_too_large<T: std::str::FromStr>(text: &str) -> bool {
    let text = text.trim();
    let of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_');
    let (number, unit) = text.split_at(text.find(|c| !of_number(c)).unwrap_or(text.len()));
    let is_number = number.replace('_', "").parse::<f64>().is_ok();
    is_number && format!("1{unit}").parse::<T>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_not_called_badly_written() {
        let says = |name: &str, text: &str| (notation(name).unwrap().check)(text).unwrap_err();
        for (name, text) in [
            ("Duration", "99999999999999 h"),
            ("Bytes", "99_999_999_999_999 GB"),
            ("QueueLimit", "5000000000 packets"),
            ("QueueLimit", "99999999999999 GB"),
        ] {
            assert_eq!(says(name, text), format!("`{text}` is too large"));
        }
        for text in ["1.2.3 s", "5", "5 parsecs", "-3 ms", ""] {
            assert!(
                says("Duration", text).contains("is not a duration"),
                "{text}"
            );
        }
    }
}
