//! Paths as chains of links.
//!
//! The nodes of a path of `k` links are v0 (the server), v1 to v(k-1) (inner nodes) and vk (the
//! client).

use polypath_core::tariff::Tariff;
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use polypath_link::{
    ConfigError, Fades, GilbertElliott, LineRate, LinkConfig, OnOff, Outage, QueueConfig,
    RateVariation, Trace as LinkTrace,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::trace::Trace;

/// The default name of a link.
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
    /// The profile of the sources that send towards the server, where it differs; its hosts and
    /// their links are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_back: Option<String>,
    /// Its cost to both endpoints, and the limits of what they send and receive on it, as in the
    /// file of a node.
    #[serde(default, skip_serializing_if = "Tariff::is_free")]
    pub tariff: Tariff,
    /// The links, in order from server to client.
    #[serde(rename = "link")]
    pub links: Vec<Link>,
}

/// A duplex link, or several equal ones in a row: a queue and a line for each direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The name; with the number of the repetition, the links are `path1/core.0`, `path1/core.1`,
    /// ...
    #[serde(default = "default_name")]
    pub name: String,
    /// Whether other paths share this link: `[[path.link]]`s of several paths with this key, the
    /// same name and equal parameters are one link, with one queue in each direction (PPD paper,
    /// Figure 7).
    #[serde(default, skip_serializing_if = "is_false")]
    pub shared: bool,
    /// The number of equal links in a row.
    #[serde(default = "default_repeat")]
    #[schemars(range(min = 1, max = 64))]
    pub repeat: u32,
    /// The rate of each direction: constant, or the mean of a `variation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// A random variation of the rate about its mean, of each direction by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variation: Option<RateVariation>,
    /// The file with the recorded rate of each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// The file with the recorded rate of the reverse direction (to the server, or from `to` to
    /// `from`), if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_back: Option<Trace>,
    /// The propagation delay of each direction.
    pub delay: Duration,
    /// The queue of each direction: the limit of a drop-tail queue, or a table with another
    /// discipline.
    pub queue: QueueConfig,
    /// The probability that a packet is lost, independently of the others.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: f64,
    /// Losses in runs of packets, by a two-state Markov chain that steps with every packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gilbert_elliott: Option<GilbertElliott>,
    /// Random outages, by a two-state Markov process in time: all packets are lost while the link
    /// is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onoff: Option<OnOff>,
    /// Fades of one length at random times, in both directions at once: all packets are lost in a
    /// fade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fades: Option<Fades>,
    /// Scheduled outages, once or periodically.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outage: Vec<Outage>,
}

impl Link {
    /// Whether it has a name of its own.
    #[must_use]
    pub fn has_name(&self) -> bool {
        self.name != UNNAMED
    }

    /// The configuration of the forward direction.
    ///
    /// # Errors
    /// A recorded rate that is not a trace.
    pub fn config(&self) -> Result<LinkConfig, ConfigError> {
        let mean = self.rate.unwrap_or_default();
        let rate = match (&self.trace, self.variation) {
            (Some(trace), _) => LinkTrace::new(trace.entries.iter().copied())?.into(),
            (None, Some(variation)) => LineRate::Varying { mean, variation },
            (None, None) => mean.into(),
        };
        Ok(LinkConfig {
            rate,
            delay: self.delay,
            queue: self.queue,
            loss: self.loss,
            gilbert_elliott: self.gilbert_elliott,
            on_off: self.onoff,
            fades: self.fades,
            outages: self.outage.clone(),
        })
    }

    /// The reverse direction as a link.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let mut link = self.clone();
        link.trace = link.trace_back.take().or(link.trace);
        link
    }
}

impl Path {
    /// The number of links, including repetitions.
    #[must_use]
    pub fn hops(&self) -> usize {
        self.links.iter().map(|link| link.repeat as usize).sum()
    }

    /// Each link by its full name (`path1/core.0`, or `core.0` if it is shared), in order from
    /// server to client.
    ///
    /// The number counts the repetitions of one `[[path.link]]`; it continues over links of one
    /// path with the same name.
    pub fn expanded(&self) -> impl Iterator<Item = (String, &Link)> {
        let number = |index: usize| {
            let earlier = self.links[..index].iter();
            let link = &self.links[index];
            let same = earlier.filter(|l| l.name == link.name && l.shared == link.shared);
            same.map(|link| link.repeat).sum::<u32>()
        };
        self.links
            .iter()
            .enumerate()
            .flat_map(move |(index, link)| {
                let first = number(index);
                (first..first + link.repeat).map(move |n| (self.full_name(link, n), link))
            })
    }
}

impl Path {
    fn full_name(&self, link: &Link, number: u32) -> String {
        let name = format!("{}.{number}", link.name);
        if link.shared {
            return name;
        }
        format!("{}/{name}", self.name)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde prescribes the signature"
)]
fn is_false(value: &bool) -> bool {
    !value
}

fn default_name() -> String {
    UNNAMED.to_owned()
}

fn default_repeat() -> u32 {
    1
}
