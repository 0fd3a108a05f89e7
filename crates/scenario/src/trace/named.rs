//! A file that a scenario names, with its entries.

use std::borrow::Cow;
use std::sync::Arc;

use polypath_core::time::Duration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::TracePacket;

/// A file with its entries; a scenario contains its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T> {
    /// The name of the file, relative to the scenario's.
    pub file: String,
    /// Its entries in order; empty until the file is read.
    pub entries: Arc<[T]>,
}

/// An entry of a file that a scenario names.
pub trait Entry {
    /// The name of such files in the schema.
    const SCHEMA: &'static str;
    /// The description of such files, in one line.
    const DESCRIPTION: &'static str;
}

impl Entry for Duration {
    const SCHEMA: &'static str = "Trace";
    const DESCRIPTION: &'static str =
        "a file with one time in ms a line, at which 1500 B can be delivered (Mahimahi)";
}

impl Entry for TracePacket {
    const SCHEMA: &'static str = "PacketTrace";
    const DESCRIPTION: &'static str = "a file with recorded datagrams, in the format of `format`";
}

impl<'de, T> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d).map(|file| Self {
            file,
            entries: Vec::new().into(),
        })
    }
}

impl<T> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.file)
    }
}

impl<T: Entry> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        T::SCHEMA.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": T::DESCRIPTION
        })
    }
}
