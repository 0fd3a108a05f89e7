//! Grids of parameters: every combination of the values that `[sweep]` lists.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Keys of the file, each with the list of its values: `"flow.0.count" = [1, 10]`.
///
/// The values are those of [`polypath_document::grid`], which knows their lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sweep(serde_json::Map<String, serde_json::Value>);

impl Sweep {
    /// True if nothing is swept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl JsonSchema for Sweep {
    fn schema_name() -> Cow<'static, str> {
        "Sweep".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "keys of this file, each with a list of values: every combination is run"
        })
    }
}
