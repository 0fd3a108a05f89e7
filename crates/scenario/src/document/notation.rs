//! Texts with a notation of their own, by the name under which a JSON schema defines them.

use std::fmt::Display;
use std::str::FromStr;

use crate::check::bounds::{MOST_PACKETS, MOST_QUEUE, MOST_RATE, MOST_SPAN};
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
        "Rate" => (|text| check(text, &MOST_RATE), "1 Mbit/s"),
        "Bytes" => (|text| check(text, &MOST_QUEUE), "1 kB"),
        "Duration" => (|text| check(text, &MOST_SPAN), "1 s"),
        "QueueLimit" => (|text| check(text, &most_room(text)), "50 packets"),
        _ => return None,
    };
    Some(Notation { check, example })
}

/// The greatest room of a queue, in the unit of the text.
fn most_room(text: &str) -> QueueLimit {
    let text = text.trim();
    if text.ends_with("packets") || text.ends_with("packet") {
        return QueueLimit::Packets(MOST_PACKETS);
    }
    QueueLimit::Bytes(MOST_QUEUE)
}

/// Checks a text; one that is too large is told `most`, the greatest that any key admits.
fn check<T: FromStr<Err: ToString> + Display>(text: &str, most: &T) -> Result<(), String> {
    text.parse::<T>().map(drop).map_err(|error| {
        if is_too_large::<T>(text) {
            return format!("`{text}` is too large; {most} is the most");
        }
        error.to_string()
    })
}

/// Whether the text is a number and a unit, and would do with a smaller number.
///
/// An exponent is no part of the notation, but what is large is often written with one.
fn is_too_large<T: FromStr>(text: &str) -> bool {
    let text = text.trim();
    let of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | 'e' | '+');
    let (number, unit) = text.split_at(text.find(|c| !of_number(c)).unwrap_or(text.len()));
    let number = number.replace('_', "").parse::<f64>();
    let with = |number: f64| format!("{number}{unit}").parse::<T>();
    number.is_ok_and(|number| with(number).is_err()) && with(1.0).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_not_called_badly_written() {
        let says = |name: &str, text: &str| (notation(name).unwrap().check)(text).unwrap_err();
        for (name, text, most) in [
            ("Duration", "99999999999999 h", "86400 s"),
            ("Bytes", "99_999_999_999_999 GB", "10 GB"),
            ("QueueLimit", "5000000000 packets", "1000000 packets"),
            ("QueueLimit", "99999999999999 packet", "1000000 packets"),
            ("QueueLimit", "99999999999999 GB", "10 GB"),
            ("Rate", "1e30 Mbit/s", "1000 Gbit/s"),
        ] {
            let wanted = format!("`{text}` is too large; {most} is the most");
            assert_eq!(says(name, text), wanted);
        }
        for text in ["1e3 s", "1.2.3 s", "5", "5 parsecs", "-3 ms", ""] {
            assert!(
                says("Duration", text).contains("is not a duration"),
                "{text}"
            );
        }
    }
}
