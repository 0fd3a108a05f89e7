//! Values that are a text or a number in files.

use core::fmt::{self, Display};
use core::marker::PhantomData;
use core::str::FromStr;

use alloc::string::ToString;
use serde::Deserializer;
use serde::de::{Error, Visitor};

struct TextOrNumber<T> {
    expected: &'static str,
    value: PhantomData<T>,
}

impl<T: FromStr<Err: Display>> Visitor<'_> for TextOrNumber<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

/// Reads a value that is a text, or a number that is also valid as text; `expected` describes it.
pub(crate) fn text_or_number<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
    deserializer: D,
    expected: &'static str,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(TextOrNumber {
        expected,
        value: PhantomData,
    })
}
