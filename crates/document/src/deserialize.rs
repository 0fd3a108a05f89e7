//! A serde deserialiser of a tree, whose errors keep the origin of the value.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::tree::{Entry, Node, Origin, Value};

/// An error while a tree is deserialised.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) origin: Option<Origin>,
    pub(crate) message: String,
}

pub(crate) fn from_node<T: DeserializeOwned>(node: &Node) -> Result<T, Failure> {
    T::deserialize(node).map_err(|failure| failure.at(node.origin))
}

impl Failure {
    /// Sets the origin, unless an inner value has set it.
    fn at(mut self, origin: Origin) -> Self {
        self.origin.get_or_insert(origin);
        self
    }
}

impl serde::de::Error for Failure {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Self {
            origin: None,
            message: message.to_string(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl<'de> Deserializer<'de> for &Node {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match &self.value {
            Value::Text(text) | Value::Datetime(text) => visitor.visit_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(boolean) => visitor.visit_bool(*boolean),
            Value::Array(items) => visitor.visit_seq(Items(items.iter())),
            Value::Table(entries) => visitor.visit_map(Entries::new(entries)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match &self.value {
            Value::Text(text) => visitor.visit_enum(StrDeserializer::new(text)),
            Value::Table(entries) => {
                visitor.visit_enum(MapAccessDeserializer::new(Entries::new(entries)))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items<'a>(std::slice::Iter<'a, Node>);

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Failure;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        let deserialize = |node: &Node| seed.deserialize(node).map_err(|e| e.at(node.origin));
        self.0.next().map(deserialize).transpose()
    }
}

struct Entries<'a> {
    rest: std::slice::Iter<'a, Entry>,
    value: Option<&'a Node>,
}

impl<'a> Entries<'a> {
    fn new(entries: &'a [Entry]) -> Self {
        Self {
            rest: entries.iter(),
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Failure;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        let Some(entry) = self.rest.next() else {
            return Ok(None);
        };
        self.value = Some(&entry.node);
        let key = seed.deserialize(StrDeserializer::<Failure>::new(&entry.key));
        key.map(Some).map_err(|e| e.at(entry.origin))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        let Some(node) = self.value.take() else {
            return Err(serde::de::Error::custom(
                "a value is requested before its key",
            ));
        };
        seed.deserialize(node).map_err(|e| e.at(node.origin))
    }
}
