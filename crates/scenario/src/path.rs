//! Paths as chains of links.
//!
//! The nodes of a path of `k` links are v0 (the server), v1 to v(k-1) (inner nodes) and vk (the client).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of a link that was given none.
const UNNAMED: &str = "link";

/// One path from the server to the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// The name of the path in reports; no two paths have the same.
    pub name: String,
    /// The name of the background profile that loads the path, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<String>,
    /// The links, in order from server to client.
    #[serde(rename = "link")]
    pub links: Vec<Link>,
}

/// A duplex link, or several equal ones in a row: a queue and a line for each direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The name; with the number of the repetition, the links are `path1/core.0`, `path1/core.1`, ...
    #[serde(default = "default_name")]
    pub name: String,
    /// How many equal links stand in a row.
    #[serde(default = "default_repeat")]
    #[schemars(range(min = 1, max = 64))]
    pub repeat: u32,
    /// The rate of each direction.
    pub rate: Rate,
    /// The propagation delay of each direction.
    pub delay: Duration,
    /// The room of each direction's drop-tail queue.
    pub queue: QueueLimit,
    /// The probability that a packet is lost, independently of the others.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: f64,
    /// Two-state Markov outages: everything is lost while the link is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onoff: Option<OnOff>,
    /// Scheduled silences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outage: Vec<Outage>,
}

/// A two-state Markov process by its mean sojourn times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// The mean time that the link stays up.
    pub up: Duration,
    /// The mean time that the link stays down.
    pub down: Duration,
}

/// A scheduled silence: the link loses everything from one point in time to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// When it begins, since the start of the run.
    pub from: Duration,
    /// When it ends, since the start of the run; never, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
}

/// The room of a queue; the packet in transmission counts, as in ns-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// In packets of any size.
    Packets(u32),
    /// In bytes.
    Bytes(Bytes),
}

impl Link {
    /// Whether it was given a name.
    #[must_use]
    pub fn has_name(&self) -> bool {
        self.name != UNNAMED
    }
}

impl Path {
    /// The number of links, with each repetition counted.
    #[must_use]
    pub fn hops(&self) -> usize {
        self.links.iter().map(|link| link.repeat as usize).sum()
    }

    /// Each link by its full name (`path1/core.0`), in order from server to client.
    ///
    /// The number counts the repetitions of one `[[path.link]]`; links of one path that share a name count on.
    pub fn expanded(&self) -> impl Iterator<Item = (String, &Link)> {
        let number = |index: usize| {
            let earlier = self.links[..index].iter();
            let same = earlier.filter(|link| link.name == self.links[index].name);
            same.map(|link| link.repeat).sum::<u32>()
        };
        self.links
            .iter()
            .enumerate()
            .flat_map(move |(index, link)| {
                let first = number(index);
                (first..first + link.repeat)
                    .map(move |n| (format!("{}/{}.{n}", self.name, link.name), link))
            })
    }
}

impl FromStr for QueueLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let packets = trimmed
            .strip_suffix("packets")
            .or(trimmed.strip_suffix("packet"));
        let remedy = || format!("`{text}` is not a queue limit: write \"50 packets\" or \"64 kB\"");
        // Digits alone can only be too many.
        let too_large = |number: &str| {
            let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| format!("`{text}` is too large"))
        };
        match packets {
            Some(number) => number
                .trim()
                .parse()
                .map(QueueLimit::Packets)
                .map_err(|_| too_large(number.trim()).unwrap_or_else(remedy)),
            None => trimmed.parse().map(QueueLimit::Bytes).map_err(|_| remedy()),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLimit::Packets(n) => write!(f, "{n} packets"),
            QueueLimit::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

impl<'de> Deserialize<'de> for QueueLimit {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}

impl Serialize for QueueLimit {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl JsonSchema for QueueLimit {
    fn schema_name() -> Cow<'static, str> {
        "QueueLimit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "a number of packets or a size: \"50 packets\", \"64 kB\""
        })
    }
}

fn default_name() -> String {
    UNNAMED.to_owned()
}

fn default_repeat() -> u32 {
    1
}
