//! The traffic that loads the paths.
//!
//! Background hosts attach to every inner node of a path. Destinations are balanced so that every
//! link between inner nodes carries the load of `hosts` sources in each direction.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};
use polypath_link::{LinkConfig, QueueLimit};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The background traffic of a scenario: none, or profiles by name.
#[derive(Clone, Debug, PartialEq)]
pub enum Background {
    /// No background traffic; the profiles that paths name are ignored.
    Off,
    /// The profiles that the paths name.
    Profiles(BTreeMap<String, Profile>),
}

/// The background hosts of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The number of hosts at each inner node.
    #[schemars(range(min = 1, max = 10_000))]
    pub hosts: u32,
    /// The link between a host and its node.
    pub host_link: HostLink,
    /// The nodes at which its flows end.
    #[serde(default, skip_serializing_if = "Destinations::is_spread")]
    pub destinations: Destinations,
    /// The TCP session source of each host, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSource>,
    /// The UDP source of each host, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpSource>,
}

/// The flows that end at an inner node where flows arrive; an equal number starts there, so that
/// every link carries an equal load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Destinations {
    /// Equal numbers from each earlier node, as far as possible.
    #[default]
    Spread,
    /// The sources at the nearest nodes: most flows pass one link or all links.
    Nearest,
    /// The sources at the farthest nodes: all flows pass about the same number of links.
    Farthest,
}

impl Destinations {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde prescribes the signature"
    )]
    fn is_spread(&self) -> bool {
        *self == Self::Spread
    }
}

/// The duplex link between a background host and its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostLink {
    /// The rate of each direction.
    pub rate: Rate,
    /// The propagation delay of each direction.
    pub delay: Duration,
    /// The limit of each direction's drop-tail queue.
    pub queue: QueueLimit,
}

impl HostLink {
    /// One direction of the link.
    #[must_use]
    pub fn config(&self) -> LinkConfig {
        LinkConfig::new(self.rate, self.delay, self.queue)
    }
}

/// Consecutive TCP sessions, each with a new connection: an idle time, then one file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpSource {
    /// The mean of the exponential pause before each file.
    pub idle: Duration,
    /// The distribution of the file sizes in bytes; a file has at least one segment.
    pub file: LogNormal,
}

/// The log-normal distribution by the mean and standard deviation of its logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogNormal {
    /// The mean of the natural logarithm.
    #[schemars(range(min = 0.0, max = 40.0))]
    pub mu: f64,
    /// The standard deviation of the natural logarithm.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub sigma: f64,
}

/// A UDP source with exponential on and off times and a constant rate while on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UdpSource {
    /// The rate while on.
    pub peak: Rate,
    /// The mean of the on times.
    pub on: Duration,
    /// The mean of the off times.
    pub off: Duration,
    /// The size of a packet on the wire.
    pub packet: Bytes,
}

impl Default for Background {
    fn default() -> Self {
        Background::Profiles(BTreeMap::new())
    }
}

impl Serialize for Background {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Background::Off => s.serialize_str("off"),
            Background::Profiles(profiles) => profiles.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Background {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(BackgroundVisitor)
    }
}

impl JsonSchema for Background {
    fn schema_name() -> Cow<'static, str> {
        "Background".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let profile = generator.subschema_for::<Profile>();
        json_schema!({
            "description": "the traffic that loads the paths: \"off\", or profiles by name",
            "anyOf": [
                { "type": "string", "enum": ["off"] },
                { "type": "object", "additionalProperties": profile }
            ]
        })
    }
}

struct BackgroundVisitor;

impl<'de> Visitor<'de> for BackgroundVisitor {
    type Value = Background;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"off\" or a table of profiles")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Background, E> {
        if text == "off" {
            return Ok(Background::Off);
        }
        Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Background, A::Error> {
        BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Background::Profiles)
    }
}
