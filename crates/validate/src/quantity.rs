//! Quantities measured in a run.

use std::str::FromStr;

use polypath_link::Counters;
use polypath_sim::{FlowCounters, NetworkOutcome};

use crate::ValidateError;

/// A figure of one run, over some flows or links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// The kind of figure.
    pub kind: Kind,
    /// The name of a flow or link, or the prefix of several names before a `.` or `-`; all if
    /// empty.
    pub of: String,
}

/// The figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data that TCP receivers deliver in order, and datagrams that arrive, in Mbit/s.
    Goodput,
    /// Retransmitted segments.
    Retransmissions,
    /// The share of retransmissions in the segments sent.
    RetransmittedShare,
    /// Expiries of retransmission timers.
    Timeouts,
    /// The share of the packets sent by flows that do not arrive.
    Loss,
    /// The mean one-way delay of the packets that arrive, in ms.
    Delay,
    /// Packets that links drop.
    Drops,
    /// The share of the packets at links that these do not drop.
    Passed,
    /// The share of the packets at links that these drop; packets in flight at the end do not count
    /// as lost.
    Dropped,
    /// The mean number of packets waiting at a link, without the one in transmission.
    Queue,
    /// The mean waiting time of packets at a link, without their own transmission, in ms.
    Waiting,
}

impl Quantity {
    /// A figure of the flows or links called `of`.
    #[must_use]
    pub fn new(kind: Kind, of: &str) -> Self {
        let of = of.to_owned();
        Self { kind, of }
    }

    /// Its value in a run.
    #[must_use]
    pub fn value(&self, outcome: &NetworkOutcome) -> f64 {
        let flows = || self.flows(outcome);
        let links = || self.links(outcome);
        match self.kind {
            Kind::Goodput => flows().goodput as f64 * 8.0 / outcome.measured().as_secs_f64() / 1e6,
            Kind::Retransmissions => flows().sender.retransmitted as f64,
            Kind::RetransmittedShare => {
                let sent = flows().sender;
                sent.retransmitted as f64 / sent.sent as f64
            }
            Kind::Timeouts => flows().sender.timeouts as f64,
            Kind::Loss => {
                let flows = flows();
                1.0 - flows.delays.count as f64 / flows.sender.sent as f64
            }
            Kind::Delay => flows().delays.mean().unwrap_or(f64::NAN) * 1e3,
            Kind::Drops => links().packets_dropped() as f64,
            Kind::Passed => 1.0 - dropped_share(&links()),
            Kind::Dropped => dropped_share(&links()),
            Kind::Queue => links().mean_waiting(outcome.measured().as_secs_f64()),
            Kind::Waiting => {
                let links = links();
                links.waited.as_secs_f64() * 1e3 / links.packets_in as f64
            }
        }
    }

    fn flows(&self, outcome: &NetworkOutcome) -> FlowCounters {
        let meant = outcome.flows.iter().filter(|flow| self.means(&flow.name));
        meant.flat_map(|flow| &flow.spans).copied().sum()
    }

    fn links(&self, outcome: &NetworkOutcome) -> Counters {
        let meant = outcome.links.iter().filter(|link| self.means(&link.name));
        meant.flat_map(|link| &link.spans).copied().sum()
    }

    fn means(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&self.of);
        self.of.is_empty()
            || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    }
}

fn dropped_share(links: &Counters) -> f64 {
    links.packets_dropped() as f64 / links.packets_in as f64
}

impl Kind {
    /// The unit in which it is counted; 1 for shares.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Goodput => "Mbit/s",
            Self::Retransmissions => "segments",
            Self::RetransmittedShare | Self::Loss | Self::Passed | Self::Dropped => "1",
            Self::Timeouts => "timeouts",
            Self::Drops | Self::Queue => "packets",
            Self::Delay | Self::Waiting => "ms",
        }
    }
}

/// The notation of the reference files: `goodput:tcp`.
impl FromStr for Quantity {
    type Err = ValidateError;

    fn from_str(text: &str) -> Result<Self, ValidateError> {
        let unknown = || ValidateError::Data(format!("there is no quantity `{text}`"));
        let (kind, of) = text.split_once(':').ok_or_else(unknown)?;
        let kind = match kind {
            "goodput" => Kind::Goodput,
            "retransmissions" => Kind::Retransmissions,
            "delay" => Kind::Delay,
            "drops" => Kind::Drops,
            "loss" => Kind::Loss,
            "queue" => Kind::Queue,
            _ => return Err(unknown()),
        };
        Ok(Self::new(kind, of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_itself_and_its_numbered_ones() {
        let core = Quantity::new(Kind::Drops, "core");
        assert!(core.means("core") && core.means("core.1") && core.means("core.1/back"));
        assert!(!core.means("score") && !core.means("cores.1") && !core.means("core/back"));
        assert!(Quantity::new(Kind::Drops, "").means("anything"));
    }

    #[test]
    fn quantities_are_read_as_they_are_written() {
        let drops: Quantity = "drops:core".parse().unwrap();
        assert_eq!(drops, Quantity::new(Kind::Drops, "core"));
        assert!("drips:core".parse::<Quantity>().is_err());
    }
}
