//! Other numbers of senders, at the same utilisation or another.

use polypath_core::units::{Bytes, Rate};
use polypath_document::Override;
use polypath_link::{QueueConfig, QueueLimit};

use super::Senders;
use crate::network::{Edge, Traffic};

/// The number of senders and the utilisation of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scale {
    /// The number of senders; that of the file if absent.
    pub senders: Option<u32>,
    /// The utilisation; that of the file if absent.
    pub utilisation: Option<f64>,
}

/// A part of the network that no factor can scale.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScaleError {
    /// A preset topology.
    #[error(
        "`[topology]` cannot be scaled with the number of senders: list its links as `[[link]]`s"
    )]
    Topology,
    /// A recorded rate.
    #[error("link `{0}` has a recorded rate, which cannot be scaled: give it a `rate`")]
    Trace(String),
    /// A queue whose thresholds are numbers of packets.
    #[error(
        "link `{0}` has a RED queue, whose thresholds cannot be scaled: use a limit or `codel`"
    )]
    Red(String),
    /// Traffic whose load is not a rate.
    #[error(
        "the load of flow `{0}` cannot be scaled with the senders: use `poisson` for background, or remove it"
    )]
    Flow(String),
}

/// Factors of the rates of a network.
#[derive(Clone, Copy)]
struct Factors {
    /// That of links, and of their queues.
    links: f64,
    /// That of background.
    background: f64,
}

impl Senders<'_> {
    /// The overrides that scale the network to `scale`, each by `argument` of the command line;
    /// none if nothing changes.
    ///
    /// # Errors
    /// The first part that cannot be scaled.
    pub fn scaled(&self, scale: Scale, argument: &str) -> Result<Vec<Override>, ScaleError> {
        let senders = scale.senders.unwrap_or(self.count());
        let more = f64::from(senders) / f64::from(self.count());
        let stated = self.utilisation();
        let factors = Factors {
            links: more * stated / scale.utilisation.unwrap_or(stated),
            background: more,
        };
        let mut found = Vec::new();
        let mut set = |key: String, value: String| {
            found.push(Override::from_argument(argument, &key, &value));
        };
        if senders != self.count() {
            set(format!("flow.{}.count", self.position), senders.to_string());
        }
        if (factors.links - 1.0).abs() > f64::EPSILON {
            self.scale_links(factors.links, &mut set)?;
        }
        if senders != self.count() {
            self.scale_background(factors.background, &mut set)?;
        }
        Ok(found)
    }

    fn scale_links(
        &self,
        factor: f64,
        set: &mut impl FnMut(String, String),
    ) -> Result<(), ScaleError> {
        if self.network.topology.is_some() {
            return Err(ScaleError::Topology);
        }
        for (edge, n) in self.network.links.iter().zip(0..) {
            let link = &edge.link;
            let rate = link.rate.ok_or_else(|| ScaleError::Trace(edge.name()))?;
            set(format!("link.{n}.rate"), bits(rate, factor));
            let limit = match scaled_limit(link.queue.limit(), factor) {
                QueueLimit::Packets(packets) => format!("{packets} packets"),
                QueueLimit::Bytes(bytes) => format!("{} B", bytes.0),
                QueueLimit::Unlimited => "unlimited".to_owned(),
            };
            set(limit_key(edge, n)?, limit);
        }
        Ok(())
    }

    fn scale_background(
        &self,
        factor: f64,
        set: &mut impl FnMut(String, String),
    ) -> Result<(), ScaleError> {
        for (flow, n) in self.network.flows.iter().zip(0..) {
            match &flow.traffic {
                Traffic::Multihomed(_) | Traffic::Tunnel(_) => {}
                Traffic::Poisson(of) => {
                    set(format!("flow.{n}.traffic.rate"), bits(of.rate, factor));
                }
                _ => return Err(ScaleError::Flow(flow.name.clone())),
            }
        }
        Ok(())
    }
}

/// The key of the limit of the queue of link `n`.
fn limit_key(edge: &Edge, n: usize) -> Result<String, ScaleError> {
    match edge.link.queue {
        QueueConfig::Red(_) => Err(ScaleError::Red(edge.name())),
        QueueConfig::DropTail(_) => Ok(format!("link.{n}.queue")),
        QueueConfig::CoDel(_) | QueueConfig::FqCoDel(_) => Ok(format!("link.{n}.queue.limit")),
    }
}

fn scaled_limit(limit: QueueLimit, factor: f64) -> QueueLimit {
    match limit {
        QueueLimit::Packets(packets) => {
            let packets = rounded(f64::from(packets) * factor);
            QueueLimit::Packets(u32::try_from(packets).unwrap_or(u32::MAX))
        }
        QueueLimit::Bytes(bytes) => QueueLimit::Bytes(Bytes(rounded(bytes.0 as f64 * factor))),
        QueueLimit::Unlimited => QueueLimit::Unlimited,
    }
}

fn bits(rate: Rate, factor: f64) -> String {
    format!("{} bit/s", rounded(rate.as_f64() * factor))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates and sizes are positive, and below 2^53"
)]
fn rounded(value: f64) -> u64 {
    value.round().max(1.0) as u64
}
