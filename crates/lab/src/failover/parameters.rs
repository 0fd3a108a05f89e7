//! The fixed parameters of the failover measurement.

use polypath_core::time::Duration;

/// The number of links between the endpoints of a candidate.
pub(super) const LINKS: usize = PATHS as usize;
/// The same, in the type of a path's number.
pub(super) const PATHS: u8 = 2;
/// The congestion control of MPTCP.
pub(super) const MPTCP_CONGESTION_CONTROL: &str = "cubic";
/// The rate of each link.
pub(super) const RATE: &str = "100 Mbit/s";
/// The observation time before a silence in which the link with most of the flow is found: 25
/// messages, so that heartbeats padded for path MTU discovery weigh little.
pub const SELECTION_WINDOW: Duration = Duration::from_millis(500);
/// A message counts as late if its latency exceeds the median by more than this.
pub const LATE: Duration = Duration::from_millis(50);
/// The timeout after which all candidates must have settled after a silence.
pub(super) const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);
/// The interval at which candidates are polled for having settled.
pub(super) const SETTLE_POLL: Duration = Duration::from_millis(50);
// The kernel processes MPTCP in softirqs, ahead of all processes; the comparison is about how each
// candidate detects a silence, not about the load of this machine.
pub(super) use crate::node_pair::PRIORITY;
