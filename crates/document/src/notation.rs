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
    /// Checks a text; the error is a message for users. It names the maximum of the key, where the
    /// schema has one, instead of that of all keys.
    pub check: fn(text: &str, maximum: Option<&str>) -> Result<(), String>,
    /// A valid text.
    pub example: &'static str,
}

/// The notations of `polypath_core`'s types.
static COMMON: [Notation; 4] = [
    Notation {
        definition: "Rate",
        check: |text, maximum| check_notation(text, maximum, &MAX_RATE),
        example: "1 Mbit/s",
    },
    Notation {
        definition: "Bytes",
        check: |text, maximum| check_notation(text, maximum, &MAX_SIZE),
        example: "1 kB",
    },
    Notation {
        definition: "Duration",
        check: |text, maximum| check_notation(text, maximum, &MAX_DURATION),
        example: "1 s",
    },
    Notation {
        definition: "Order",
        check: |text, _| {
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
/// The error of parsing; for a number that is too large, a message with the `maximum` of the key,
/// or `usual`, that of the keys without their own.
pub fn check_notation<T: FromStr<Err: ToString> + Display>(
    text: &str,
    maximum: Option<&str>,
    usual: &T,
) -> Result<(), String> {
    text.parse::<T>().map(drop).map_err(|error| {
        if !is_too_large::<T>(text) {
            return error.to_string();
        }
        let maximum = maximum.map_or_else(|| usual.to_string(), str::to_owned);
        format!("`{text}` is too large; the maximum is {maximum}")
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
        let check = |name: &str| find(&[], name).unwrap().check;
        let error = |name: &str, text: &str| check(name)(text, None).unwrap_err();
        for (name, text, most) in [
            ("Duration", "99999999999999 h", "86400 s"),
            ("Bytes", "99_999_999_999_999 GB", "10 GB"),
            ("Rate", "1e30 Mbit/s", "1000 Gbit/s"),
        ] {
            let wanted = format!("`{text}` is too large; the maximum is {most}");
            assert_eq!(error(name, text), wanted);
        }
        let error_of_key = check("Bytes")("20000000 TB", Some("1000 TB")).unwrap_err();
        assert!(
            error_of_key.ends_with("the maximum is 1000 TB"),
            "{error_of_key}"
        );
        for text in ["1e3 s", "1.2.3 s", "5", "5 parsecs", "-3 ms", ""] {
            assert!(
                error("Duration", text).contains("is not a duration"),
                "{text}"
            );
        }
    }
}
