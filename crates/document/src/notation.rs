//! Texts with a notation of their own, by the name of their definition in a JSON schema.

use std::fmt::Display;
use std::str::FromStr;

use polypath_core::order::Order;

use crate::limits::{MAX_DURATION, MAX_RATE, MAX_SIZE};

/// A notation of a text value: how to check it, and a valid example.
#[derive(Clone, Copy, Debug)]
pub struct Notation {
    /// The name of the type's definition in a JSON schema.
    pub definition: &'static str,
    /// Checks a text; the error is a message for users.
    pub check: fn(&str) -> Result<(), String>,
    /// A valid text.
    pub example: &'static str,
}

/// The notations of `polypath_core`'s types.
static COMMON: [Notation; 4] = [
    Notation {
        definition: "Rate",
        check: |text| check_notation(text, &MAX_RATE),
        example: "1 Mbit/s",
    },
    Notation {
        definition: "Bytes",
        check: |text| check_notation(text, &MAX_SIZE),
        example: "1 kB",
    },
    Notation {
        definition: "Duration",
        check: |text| check_notation(text, &MAX_DURATION),
        example: "1 s",
    },
    Notation {
        definition: "Order",
        check: |text| {
            let order = text.parse::<Order>().map(drop);
            order.map_err(|error| format!("`{text}` is {error}"))
        },
        example: "tcp",
    },
];

/// The notation of a definition, one of `own` or a common one.
pub(crate) fn find(own: &'static [Notation], definition: &str) -> Option<&'static Notation> {
    let all = own.iter().chain(&COMMON);
    let mut matching = all.filter(|notation| notation.definition == definition);
    matching.next()
}

/// Checks that a text parses as a `T`.
///
/// # Errors
/// The error of parsing; for a number that is too large, a message with `max`, the maximum value
/// that any key admits.
pub fn check_notation<T: FromStr<Err: ToString> + Display>(
    text: &str,
    max: &T,
) -> Result<(), String> {
    text.parse::<T>().map(drop).map_err(|error| {
        if is_too_large::<T>(text) {
            return format!("`{text}` is too large; the maximum is {max}");
        }
        error.to_string()
    })
}

/// Whether the text is a number with a unit that parses with a smaller number.
///
/// The notation has no exponents, but large numbers are often written with one.
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
    fn a_large_number_is_reported_as_too_large_and_not_as_malformed() {
        let error = |name: &str, text: &str| (find(&[], name).unwrap().check)(text).unwrap_err();
        for (name, text, most) in [
            ("Duration", "99999999999999 h", "86400 s"),
            ("Bytes", "99_999_999_999_999 GB", "10 GB"),
            ("Rate", "1e30 Mbit/s", "1000 Gbit/s"),
        ] {
            let wanted = format!("`{text}` is too large; the maximum is {most}");
            assert_eq!(error(name, text), wanted);
        }
        for text in ["1e3 s", "1.2.3 s", "5", "5 parsecs", "-3 ms", ""] {
            assert!(
                error("Duration", text).contains("is not a duration"),
                "{text}"
            );
        }
    }
}
