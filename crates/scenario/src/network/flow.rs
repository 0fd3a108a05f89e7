//! Flows: their ends, activity, route and traffic.

use std::borrow::Cow;

use polypath_core::rng::{Seed, Stream};
use polypath_core::time::{Duration, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::activity::{Activity, WindowChange};
use super::traffic::Traffic;
use crate::tcp::Tcp;

/// Equal flows, numbered from 0. In the name of a node `{}` stands for the flow's number, and
/// `{+N}` for its number plus N.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Flow {
    /// The name in reports; several are `NAME.0`, `NAME.1`, ...
    pub name: String,
    /// The number of flows.
    #[serde(default = "default_count")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: u32,
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// Nodes and links that the flow passes in this order, also on the return route of its ACKs;
    /// by default it takes the fewest links. A link is passed in the direction of travel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
    /// Its start and stop.
    #[serde(flatten)]
    pub active: Activity,
    /// The traffic that it sends.
    pub traffic: Traffic,
    /// The keys of `[tcp]` that differ for this flow.
    #[serde(default, skip_serializing_if = "TcpChanges::is_empty")]
    pub tcp: TcpChanges,
    /// Changes of its receiver window during the run, in the order of time; the initial one is
    /// `tcp.receiver_window`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receiver_window: Vec<WindowChange>,
}

/// Keys of `[tcp]` with other values; absent keys keep their values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TcpChanges(serde_json::Map<String, serde_json::Value>);

impl Flow {
    /// The name of the node `name` for the flow of this number.
    #[must_use]
    pub fn node(name: &str, number: u32) -> String {
        let mut parts = name.split('{');
        let mut node = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let known = part.split_once('}');
            if let Some((offset, rest)) =
                known.and_then(|(shift, rest)| Some((offset(shift)?, rest)))
            {
                node.push_str(&u64::from(number).saturating_add(offset).to_string());
                node.push_str(rest);
            } else {
                node.push('{');
                node.push_str(part);
            }
        }
        node
    }

    /// The number of flows, from 0, whose nodes differ; the others pass the nodes of flow 0.
    #[must_use]
    pub fn different(&self) -> u32 {
        let between = self.between().flatten();
        let mut stops = [&self.from, &self.to].into_iter().chain(between);
        if stops.any(|name| name.contains('{')) {
            self.count
        } else {
            1
        }
    }

    /// The name of the flow of this number.
    #[must_use]
    pub fn name_of(&self, number: u32) -> String {
        match self.count {
            1 => self.name.clone(),
            _ => format!("{}.{number}", self.name),
        }
    }

    /// The times at which the flow called `name` ([`Self::name_of`]) starts and stops, since the
    /// start of the run; [`Time::MAX`] for no stop.
    #[must_use]
    pub fn span(&self, seed: Seed, name: &str) -> [Time; 2] {
        let since_start = |span: Duration| Time::ZERO + span;
        let spread = self.active.start_spread.as_secs_f64();
        let late = if spread > 0.0 {
            let drawn = flow_stream(seed, name, "start").uniform();
            Duration::from_secs_f64(drawn * spread)
        } else {
            Duration::ZERO
        };
        let start = since_start(self.active.start) + late;
        [start, self.active.stop.map_or(Time::MAX, since_start)]
    }

    /// For each route of the flow of this number: the names of the nodes and links that it passes,
    /// including both ends.
    pub fn routes(&self, number: u32) -> impl Iterator<Item = Vec<String>> {
        let route = move |between: &[String]| {
            let stops = std::iter::once(&self.from).chain(between);
            let stops = stops.chain([&self.to]);
            stops.map(|name| Self::node(name, number)).collect()
        };
        self.between().map(route)
    }

    /// The nodes and links of each route between the ends.
    fn between(&self) -> impl Iterator<Item = &[String]> {
        let (one, several) = match self.traffic.kind().routes() {
            Some(routes) => (None, routes),
            None => (Some(self.via.as_slice()), &[][..]),
        };
        one.into_iter().chain(several.iter().map(Vec::as_slice))
    }
}

/// The random stream of a part of the flow `name`.
#[must_use]
pub fn flow_stream(seed: Seed, name: &str, part: &str) -> Stream {
    seed.stream(&format!("flow/{name}/{part}"))
}

impl TcpChanges {
    /// Whether there are no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `base` with the changes.
    #[must_use]
    pub fn apply(&self, base: &Tcp) -> Tcp {
        if self.0.is_empty() {
            return base.clone();
        }
        let Ok(serde_json::Value::Object(mut keys)) = serde_json::to_value(base) else {
            return base.clone();
        };
        keys.extend(self.0.clone());
        let changed = serde_json::from_value(serde_json::Value::Object(keys));
        // The document was inspected against the schema of `Tcp`, so this cannot fail.
        changed.unwrap_or_else(|_| base.clone())
    }
}

impl JsonSchema for TcpChanges {
    fn schema_name() -> Cow<'static, str> {
        Tcp::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Tcp::json_schema(generator)
    }
}

/// The text between the braces in the name of a node: empty, or `+N`.
fn offset(shift: &str) -> Option<u64> {
    match shift {
        "" => Some(0),
        _ => shift.strip_prefix('+')?.parse().ok(),
    }
}

fn default_count() -> u32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_the_number_of_the_flow() {
        let node = |name| Flow::node(name, 3);
        assert_eq!(node("left{}"), "left3");
        assert_eq!(node("n1h{+16}x{}"), "n1h19x3");
        assert_eq!(node("plain"), "plain");
        assert_eq!(node("odd{+}{-1}{"), "odd{+}{-1}{");
    }
}
