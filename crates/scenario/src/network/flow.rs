//! Flows: who sends to whom, when, over which way and how.

use std::borrow::Cow;

use polypath_core::time::Duration;
use polypath_core::units::{Bytes, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::activity::{Activity, WindowChange};
use super::multihomed::Multihomed;
use super::spaced::Spaced;
use super::striped::Striped;
use crate::background::LogNormal;
use crate::tcp::Tcp;
use crate::trace::{PacketTrace, TraceFormat};

/// Equal flows, numbered from 0; `{}` in the name of a node stands for the flow's number, `{+N}` for N more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Flow {
    /// The name in reports; several are `NAME.0`, `NAME.1`, ...
    pub name: String,
    /// How many there are.
    #[serde(default = "default_count")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: u32,
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// Nodes and links that the flow passes in this order, there and, with TCP, back; else it takes the fewest links.
    /// A link is passed in the direction of travel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
    /// When it is active.
    #[serde(flatten)]
    pub active: Activity,
    /// What it sends.
    pub traffic: Traffic,
    /// Where its TCP differs from `[tcp]`.
    #[serde(default, skip_serializing_if = "TcpChanges::is_empty")]
    pub tcp: TcpChanges,
    /// What its receiver window becomes while the run goes on, in the order of time; at first it is
    /// `tcp.receiver_window`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receiver_window: Vec<WindowChange>,
}

/// What a flow sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Traffic {
    /// Over one TCP connection, without end.
    Ftp {},
    /// Over one TCP connection, one file.
    File {
        /// The size of the file.
        size: Bytes,
    },
    /// Files one after another, each over a TCP connection of its own, with pauses (PPD paper, 5).
    Sessions {
        /// The mean of the exponential pause before each file.
        idle: Duration,
        /// The distribution of the file sizes in bytes; a file has at least one segment.
        file: LogNormal,
    },
    /// Datagrams at even intervals.
    Cbr {
        /// The size of a datagram on the wire.
        packet: Bytes,
        /// From the start of one to the start of the next.
        interval: Duration,
        /// Each interval is drawn within this share of `interval`, uniformly.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = 1.0))]
        jitter: f64,
        /// Each flow's interval is drawn once within this share of `interval`, uniformly: clocks differ.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = 1.0))]
        drift: f64,
    },
    /// Datagrams at exponential intervals.
    Poisson {
        /// The size of a datagram on the wire.
        packet: Bytes,
        /// The mean rate.
        rate: Rate,
    },
    /// Bursts of datagrams at a constant rate with exponential on and off times.
    Exponential {
        /// The size of a datagram on the wire.
        packet: Bytes,
        /// The rate while on.
        peak: Rate,
        /// The mean of the on times.
        on: Duration,
        /// The mean of the off times.
        off: Duration,
    },
    /// Bursts of datagrams at a constant rate with Pareto on and off times.
    Pareto {
        /// The size of a datagram on the wire.
        packet: Bytes,
        /// The rate while on.
        peak: Rate,
        /// The mean of the on times.
        on: Duration,
        /// The mean of the off times.
        off: Duration,
        /// The shape of both distributions; below 2 the sum of many is self-similar.
        #[schemars(range(min = 1.001, max = 100.0))]
        shape: f64,
    },
    /// Datagrams whose spacing the receiver's feedback sets.
    Spaced(Spaced),
    /// Datagrams over the way with the lowest delay of several.
    Multihomed(Multihomed),
    /// Media over several TCP connections, whose number and windows the receiver sets.
    Striped(Striped),
    /// Recorded datagrams.
    Trace {
        /// The file, relative to this one.
        file: PacketTrace,
        /// The form of the file.
        #[serde(default)]
        format: TraceFormat,
        /// The recording begins anew so often; once only, if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat: Option<Duration>,
    },
}

/// Keys of `[tcp]` with other values; those that are absent stay as they are there.
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

    /// How many numbers, from 0, pass nodes of their own: the others pass those of number 0.
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

    /// For each way of the flow of this number the names of the nodes and links that it passes, both ends included.
    pub fn ways(&self, number: u32) -> impl Iterator<Item = Vec<String>> {
        let way = move |between: &[String]| {
            let stops = std::iter::once(&self.from).chain(between);
            let stops = stops.chain([&self.to]);
            stops.map(|name| Self::node(name, number)).collect()
        };
        self.between().map(way)
    }

    /// What each way passes between the ends.
    fn between(&self) -> impl Iterator<Item = &[String]> {
        let (one, several) = match &self.traffic {
            Traffic::Multihomed(multihomed) => (None, multihomed.ways.as_slice()),
            _ => (Some(self.via.as_slice()), &[][..]),
        };
        one.into_iter().chain(several.iter().map(Vec::as_slice))
    }
}

impl Traffic {
    /// Whether it sends files, which end.
    #[must_use]
    pub const fn has_files(&self) -> bool {
        matches!(self, Self::File { .. } | Self::Sessions { .. })
    }

    /// Whether its receiver answers, so that the flow needs a way back.
    #[must_use]
    pub fn needs_way_back(&self) -> bool {
        match self {
            Self::Spaced(spaced) => spaced.has_feedback(),
            Self::Multihomed(_) => true,
            _ => self.is_tcp(),
        }
    }

    /// Whether it goes over TCP.
    #[must_use]
    pub const fn is_tcp(&self) -> bool {
        matches!(
            self,
            Self::Ftp {} | Self::File { .. } | Self::Sessions { .. } | Self::Striped(_)
        )
    }
}

impl TcpChanges {
    /// True if nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `base` with the changes.
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
        // The document was inspected against the schema of `Tcp`: what is left cannot be refused.
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

/// What stands between the braces in the name of a node: nothing, or `+N`.
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
