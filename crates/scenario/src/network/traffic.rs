//! The kinds of traffic: one file each, with its keys and their checks.
//!
//! A new kind is a file here and a variant of [`Traffic`]; everything else asks `Traffic::kind`.

pub mod datagrams;
pub(super) mod kind;
pub mod multihomed;
pub mod spaced;
pub mod striped;
pub mod tcp;
pub mod tunnel;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use datagrams::{Cbr, Exponential, Pareto, Poisson, Recording};
use kind::TrafficKind;
use multihomed::Multihomed;
use spaced::Spaced;
use striped::Striped;
use tcp::{Ftp, Sessions, SingleFile};
use tunnel::Tunnel;

/// The traffic of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Traffic {
    /// Over one TCP connection, without end.
    Ftp(Ftp),
    /// Over one TCP connection, one file.
    File(SingleFile),
    /// Files one after another, each over a TCP connection of its own, with pauses (PPD paper, 5).
    Sessions(Sessions),
    /// Datagrams at even intervals.
    Cbr(Cbr),
    /// Datagrams at exponential intervals.
    Poisson(Poisson),
    /// Bursts of datagrams at a constant rate with exponential on and off times.
    Exponential(Exponential),
    /// Bursts of datagrams at a constant rate with Pareto on and off times.
    Pareto(Pareto),
    /// Datagrams whose spacing the receiver's feedback sets.
    Spaced(Spaced),
    /// Datagrams over the route with the lowest delay of several.
    Multihomed(Multihomed),
    /// Media over several TCP connections, whose number and windows the receiver sets.
    Striped(Striped),
    /// Recorded datagrams.
    Trace(Recording),
    /// Datagrams through two nodes, over several routes by any policy.
    Tunnel(Tunnel),
}

impl Traffic {
    /// The kind of this traffic.
    pub(super) fn kind(&self) -> &dyn TrafficKind {
        match self {
            Self::Ftp(kind) => kind,
            Self::File(kind) => kind,
            Self::Sessions(kind) => kind,
            Self::Cbr(kind) => kind,
            Self::Poisson(kind) => kind,
            Self::Exponential(kind) => kind,
            Self::Pareto(kind) => kind,
            Self::Spaced(kind) => kind,
            Self::Multihomed(kind) => kind,
            Self::Striped(kind) => kind,
            Self::Trace(kind) => kind,
            Self::Tunnel(kind) => kind,
        }
    }

    /// Whether it sends files, which end.
    #[must_use]
    pub fn has_files(&self) -> bool {
        self.kind().has_files()
    }

    /// Whether its receiver answers, so that the flow needs a return route.
    #[must_use]
    pub fn needs_return_route(&self) -> bool {
        self.kind().needs_return_route()
    }

    /// Whether it goes over TCP.
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        self.kind().is_tcp()
    }

    /// Whether it sets the receiver windows of its connections itself.
    #[must_use]
    pub fn sets_receiver_windows(&self) -> bool {
        self.kind().sets_receiver_windows()
    }
}
