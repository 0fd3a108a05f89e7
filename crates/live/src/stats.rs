//! The statistics of a node, as its statistics file and control socket report them.

mod arrivals;
mod interface_status;
mod spacing;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use polypath_core::class::Treatment;
use polypath_core::combine::DetectorStatistics;
use polypath_core::event::DropReason;
use polypath_core::fragment::FragmentStatistics;
use polypath_core::liveness::{PathHealth, PathState};
use polypath_core::metering::PathUsage;
use polypath_core::order::OrderStatistics;
use polypath_core::pmtu::MtuState;
use polypath_core::policy::{MeasuredRtt, PolicyConfig};
use polypath_core::repair::{PathEstimate, RepairStatistics};
use polypath_core::tariff::Renewal;
use polypath_core::time::{Duration, Time};
use polypath_session::event::{Counters, Reject};
use polypath_session::session::Session;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use time::Date;

pub use arrivals::ArrivalStats;
pub use interface_status::{InterfaceStatus, Missing};
pub use spacing::{SpacingStats, rate_advice};

use crate::drive::DriveReport;

/// The version of the statistics; it changes when a field is renamed or changes its meaning.
pub const VERSION: u32 = 2;

/// A number of packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Volume {
    /// The number of packets.
    pub packets: u64,
    /// Their bytes, IP headers included.
    pub bytes: u64,
}

impl Volume {
    /// Adds a packet of `bytes` bytes.
    pub fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// The traffic of a path in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) sent: Volume,
    pub(crate) received: Volume,
}

/// The traffic of the TUN device or of UDP ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TunStats {
    /// Packets from applications.
    pub from_applications: Volume,
    /// Packets to applications.
    pub to_applications: Volume,
    /// Packets that the kernel did not accept; datagrams of UDP ports that were not carried or delivered.
    pub refused: u64,
    /// Super-packets from applications that could not be segmented and are lost; with `offload`
    /// only.
    pub unsplit: u64,
}

/// The statistics of a path; datagrams of all kinds count: handshakes, path checks and frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathStats {
    /// The path's name.
    pub name: String,
    /// The local address.
    pub local: Option<SocketAddr>,
    /// The address of the peer or relay, if it is known.
    pub remote: Option<SocketAddr>,
    /// The interface of the path, and what it lacks at this node.
    #[serde(flatten)]
    pub interface_status: InterfaceStatus,
    /// Datagrams sent.
    pub sent: Volume,
    /// Datagrams received, authentic or not.
    pub received: Volume,
    /// Of these, datagrams with the mark of a congested link (CE).
    pub marked: u64,
    /// The rates over the last full second.
    pub rate: RateStats,
    /// Datagrams received that are authentic and not replayed.
    pub authentic: u64,
    /// The age of the last of those, in seconds.
    pub last_received_s: Option<f64>,
    /// Authentic datagrams of another path, by their header: a steady stream of these means that
    /// the paths of the two nodes are not in the same order.
    pub misplaced: u64,
    /// Datagrams that were not sent: the kernel had a full queue or no route; and cookies for unknown
    /// hosts while half of the send buffer was in use.
    pub unsent: u64,
    /// Of these, datagrams that exceed the MTU of the interface.
    pub too_long: u64,
    /// Datagrams that the kernel dropped before they were read: those of unknown senders during a
    /// flood, and any while the receive buffer was full; updated each second.
    pub kernel_dropped: u64,
    /// Datagrams not sent because the peer's address was not known yet.
    pub unaddressed: u64,
    /// Heartbeats sent and answers to the peer's; bytes as in the event stream.
    pub heartbeats: Volume,
    /// The path MTU in bytes, outer headers included; absent while or where it is not discovered.
    pub mtu_bytes: Option<u32>,
    /// The state of path MTU discovery; absent where it is off.
    pub mtu_state: Option<MtuState>,
    /// The results of the heartbeats; absent where liveness detection is off.
    pub liveness: Option<LivenessStats>,
    /// The results of the peer's reports; absent where losses are not repaired.
    pub delivery: Option<DeliveryStats>,
    /// The round-trip time as the policy measures it by itself; absent where it does not, or has not
    /// yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredStats>,
    /// The number of flows on the path that have sent lately; absent where flows do not choose their
    /// paths by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
    /// The cost tier of the path, which the policy `in-time` follows; 0 is free.
    pub cost: u8,
    /// The use of its ceiling and quota; absent where neither end limits the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageStats>,
    /// The session with the path's relay, if it has one.
    pub relay: Option<RelayStats>,
}

/// The use of a path whose traffic is limited, or which the peer has closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UsageStats {
    /// The most that this node sends in bit/s, with all headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling_bit_per_s: Option<u64>,
    /// The quota in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_bytes: Option<u64>,
    /// The bytes of the quota that are used, in both directions and with all headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_bytes: Option<u64>,
    /// The renewal of the quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renews: Option<Renewal>,
    /// The next day on which it is renewed, as `2026-12-15`; absent if it never is.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "date")]
    pub renews_on: Option<Date>,
    /// Whether the state file cannot be written, so that the path carries what it covers and then
    /// closes.
    pub unsaved: bool,
    /// Whether the quota is used up, so that the path carries nothing.
    pub closed: bool,
    /// Whether the peer's quota is used up, so that the path carries nothing.
    pub closed_by_peer: bool,
}

impl From<PathUsage> for UsageStats {
    fn from(usage: PathUsage) -> Self {
        Self {
            ceiling_bit_per_s: usage.ceiling.map(|rate| rate.0),
            quota_bytes: usage.quota.map(|quota| quota.0),
            used_bytes: usage.quota.map(|_| usage.used.0),
            renews: None,
            renews_on: None,
            unsaved: false,
            closed: usage.is_closed,
            closed_by_peer: usage.is_closed_by_peer,
        }
    }
}

/// A date as text.
#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn date<S: Serializer>(date: &Option<Date>, to: S) -> Result<S::Ok, S::Error> {
    match date {
        Some(date) => to.collect_str(date),
        None => to.serialize_none(),
    }
}

/// The results of the peer's reports of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DeliveryStats {
    /// The one-way delay in milliseconds; the clocks of the nodes are assumed to be such that the
    /// fastest way there and the fastest way back take the same time.
    pub one_way_ms: f64,
    /// The delay of queues in milliseconds: that above the minimum of the last seconds.
    pub queueing_ms: f64,
    /// The share of packets lost, 0 to 1.
    pub loss: f64,
    /// The rate of packets that the path carries in bit/s, without the headers of the overlay;
    /// absent before it was used beyond that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_bit_per_s: Option<u64>,
    /// The time in milliseconds by which the repair of a packet that the path loses has almost always
    /// arrived; absent before two reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair_ms: Option<f64>,
    /// Whether that is later than the deadline of the policy: packets may then get a copy at once.
    pub repair_is_late: bool,
}

impl From<PathEstimate> for DeliveryStats {
    fn from(estimate: PathEstimate) -> Self {
        Self {
            repair_is_late: estimate.repair_is_late,
            one_way_ms: estimate.one_way.as_secs_f64() * 1e3,
            queueing_ms: estimate.queueing.as_secs_f64() * 1e3,
            loss: f64::from(estimate.loss) / 1e6,
            capacity_bit_per_s: estimate.capacity.map(|rate| rate.0),
            repair_ms: estimate.repair_time.map(|time| time.as_secs_f64() * 1e3),
        }
    }
}

/// The round-trip time of a path, as the policy measures it by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MeasuredStats {
    /// The smoothed round-trip time in milliseconds.
    pub rtt_ms: f64,
    /// The short-term average in milliseconds.
    pub short_average_ms: f64,
    /// The long-term average in milliseconds; the round-trip time rises while the short-term one is
    /// above it.
    pub long_average_ms: f64,
}

impl From<MeasuredRtt> for MeasuredStats {
    fn from(measured: MeasuredRtt) -> Self {
        let in_ms = |span: Duration| span.as_secs_f64() * 1e3;
        Self {
            rtt_ms: in_ms(measured.smoothed),
            short_average_ms: in_ms(measured.short),
            long_average_ms: in_ms(measured.long),
        }
    }
}

/// The session with the relay of a path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RelayStats {
    /// Whether the relay forwards datagrams now.
    pub established: bool,
    /// The features that the node and the relay support.
    pub features: Vec<&'static str>,
    /// Datagrams sealed and opened, handshakes, and datagrams rejected by reason.
    pub session: Value,
}

impl From<&Session> for RelayStats {
    fn from(relay: &Session) -> Self {
        Self {
            established: relay.is_established(),
            features: relay.feature_names().collect(),
            session: session(relay.counters(), None),
        }
    }
}

/// The rates of a path over the last full second, all headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RateStats {
    /// The send rate in bit/s.
    pub sent_bit_per_s: u64,
    /// The receive rate in bit/s.
    pub received_bit_per_s: u64,
}

/// The policy of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PolicyStats {
    /// The name of the policy, as in the node's file.
    pub kind: String,
    /// The parameters in force, with defaults, by their keys in the node's file.
    pub parameters: Map<String, Value>,
    /// The path that carries data now, or on which new flows begin; absent where several do.
    pub active: Option<String>,
    /// The number of times the policy has switched data, or a flow, to another path.
    pub switches: u64,
    /// The guard time that runs now; absent if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardStats>,
}

/// The parameters of a policy by their keys in files.
#[must_use]
pub fn parameters(policy: PolicyConfig) -> Map<String, Value> {
    // A policy is a table of its kind and its parameters.
    match serde_json::to_value(policy) {
        Ok(Value::Object(mut table)) => {
            table.remove("kind");
            table
        }
        _ => Map::new(),
    }
}

/// A guard time, at the end of which the policy decides again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GuardStats {
    /// The path to which data then moves if that is still better; absent after a switch.
    pub to: Option<String>,
    /// The remaining time in milliseconds.
    pub remaining_ms: u64,
}

/// The packets of a class that applications sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassStats {
    /// The name of the class, as in the node's file.
    pub name: String,
    /// The treatment of its packets by the policy `in-time`.
    pub treatment: Treatment,
    /// The deadline of the class in milliseconds; absent where it is that of the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<f64>,
    /// The packets of the class: those for the peer that no earlier class matches.
    #[serde(flatten)]
    pub from_applications: Volume,
}

/// The outcomes of reloads of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reloads {
    /// Reloads that were applied.
    pub applied: u64,
    /// Reloads that were refused.
    pub refused: u64,
    /// The reason, if the last one was refused.
    pub last_error: Option<String>,
}

/// The results of the heartbeats on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LivenessStats {
    /// The state of the path.
    pub state: PathState,
    /// The smoothed round-trip time in milliseconds; absent before the first answer.
    pub rtt_ms: Option<f64>,
    /// The mean deviation of the round-trip time in milliseconds (RTTVAR of RFC 6298).
    pub rttvar_ms: Option<f64>,
    /// The share of heartbeats lost while the path was live, 0 to 1; absent before the first.
    pub loss: Option<f64>,
    /// The number of times the path became silent.
    pub silences: u64,
    /// The number of heartbeats answered.
    pub answered: u64,
}

impl From<PathHealth> for LivenessStats {
    fn from(health: PathHealth) -> Self {
        Self {
            state: health.state,
            rtt_ms: health.rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
            rttvar_ms: health.rttvar.map(|rttvar| rttvar.as_secs_f64() * 1e3),
            loss: health.loss,
            silences: health.silences,
            answered: health.answered,
        }
    }
}

/// The statistics of a node.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stats {
    /// [`VERSION`].
    pub version: u32,
    /// The time of these statistics, in nanoseconds since the start of the run.
    pub at: Time,
    /// The version of the node's software.
    pub software: String,
    /// Seconds since the node started.
    pub uptime_s: f64,
    /// The name of the TUN device, or `udp` and the first UDP port.
    pub tun_name: String,
    /// The policy.
    pub policy: PolicyStats,
    /// Copies and repairs of packets; absent under a policy without them.
    pub repair: Option<RepairStatistics>,
    /// Packets of the peer that were held for their order; absent under a policy without one.
    pub order: Option<OrderStatistics>,
    /// The quality of the peer's packets as they arrive, since its last start.
    pub arrivals: ArrivalStats,
    /// The spacing of packets; absent where they are not spaced.
    pub spacing: Option<SpacingStats>,
    /// The congestion that copies of the peer's packets show; absent under a policy that does not
    /// detect it.
    pub congestion: Option<DetectorStatistics>,
    /// The peer's packets that arrive in fragments; absent if none has.
    pub fragments: Option<FragmentStatistics>,
    /// The classes of packets, in the order of the node's file; none without classes.
    pub classes: Vec<ClassStats>,
    /// Reloads of the configuration.
    pub reloads: Reloads,
    /// Whether a session with the peer is established.
    pub established: bool,
    /// The TUN device or the UDP ports.
    pub tun: TunStats,
    /// The paths.
    pub paths: Vec<PathStats>,
    /// The number of paths of the peer, from the last handshake; a number other than here is a
    /// mistake in one of the files.
    pub peer_paths: Option<u8>,
    /// The features that both nodes support, as of the last handshake; none without keys.
    pub features: Vec<&'static str>,
    /// Packets that the endpoint dropped, by reason as in the event stream; reasons that never
    /// occurred are absent. `duplicate` counts copies after the first.
    pub dropped: BTreeMap<DropReason, u64>,
    /// The session: datagrams sealed and opened, handshakes, and datagrams rejected by reason.
    pub session: Value,
    /// The lateness and work of the event loop; at the end of the run only.
    pub drive: Option<Value>,
}

/// The counters of a session as JSON, with the age of its keys in seconds.
#[must_use]
pub fn session(counters: &Counters, age_s: Option<f64>) -> Value {
    let rejected: Map<String, Value> = Reject::ALL
        .iter()
        .map(|reason| (reason.name().to_owned(), counters.rejected(*reason).into()))
        .collect();
    json!({
        "age_s": age_s,
        "sealed": counters.sealed,
        "opened": counters.opened,
        "initiated": counters.initiated,
        "established": counters.established,
        "hellos": counters.hellos,
        "discarded": counters.discarded,
        "rejected": rejected,
    })
}

/// The report of the event loop as JSON; lateness in microseconds.
#[must_use]
pub fn drive(report: &DriveReport) -> Value {
    let us = |quantile: f64| report.lateness.quantile(quantile).as_nanos() / 1000;
    json!({
        "lateness_us": { "p50": us(0.5), "p99": us(0.99), "max": us(1.0) },
        "inputs": report.inputs,
        "stuck": report.stuck,
        "rests": report.rests,
    })
}

#[cfg(test)]
mod tests;
