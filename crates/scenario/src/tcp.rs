//! The simulated end hosts.

use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The congestion control of the simulated hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpVariant {
    /// Slow start after every loss, without fast recovery (Jacobson 1988).
    Tahoe,
    /// Fast recovery that ends at the first new ACK (RFC 5681).
    #[default]
    Reno,
    /// Fast recovery that repairs one loss per round trip (RFC 6582).
    #[serde(rename = "newreno")]
    NewReno,
    /// Selective acknowledgments (RFC 6675).
    Sack,
    /// CUBIC (RFC 9438) with selective acknowledgments.
    Cubic,
    /// BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00), paced, with selective
    /// acknowledgments.
    Bbr,
}

impl TcpVariant {
    /// Whether receivers send, and senders use, selective acknowledgments.
    #[must_use]
    pub const fn selective(self) -> bool {
        matches!(self, Self::Sack | Self::Cubic | Self::Bbr)
    }
}

/// TCP of the simulated hosts, foreground and background; the defaults are those of ns-2, which the
/// PPD paper used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    /// The congestion control.
    pub variant: TcpVariant,
    /// The size of a data packet on the wire, including headers.
    pub segment: Bytes,
    /// The size of an ACK on the wire.
    pub ack: Bytes,
    /// The initial congestion window, in segments.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub initial_window: u32,
    /// The receiver window, in segments.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub receiver_window: u32,
    /// Whether a connection starts with a SYN; otherwise the initial window is sent immediately
    /// (ns-2's `syn_` and `delay_growth_`).
    pub set_up: bool,
    /// Whether the first duplicate ACKs may send new segments (RFC 3042).
    pub limited_transmit: bool,
    /// The longest delay of an ACK that waits for a second segment in order (RFC 5681); by default
    /// every segment is acknowledged immediately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Duration>,
    /// Whether the hosts use ECN (RFC 3168).
    pub ecn: bool,
    /// The maximum random delay of segments that an ACK releases (ns-2's `overhead_`): it breaks
    /// the phase effects of drop-tail queues.
    pub overhead: Duration,
    /// The minimum retransmission timeout (RFC 6298).
    pub min_rto: Duration,
    /// The retransmission timeout before the first measurement (RFC 6298).
    pub initial_rto: Duration,
    /// The maximum retransmission timeout (RFC 6298).
    pub max_rto: Duration,
    /// The granularity of the retransmission clock (RFC 6298).
    pub tick: Duration,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            variant: TcpVariant::Reno,
            segment: Bytes(1000),
            ack: Bytes(40),
            initial_window: 2,
            receiver_window: 20,
            set_up: true,
            limited_transmit: true,
            delayed_ack: None,
            ecn: false,
            overhead: Duration::ZERO,
            min_rto: Duration::from_millis(200),
            initial_rto: Duration::from_secs(3),
            max_rto: Duration::from_secs(60),
            tick: Duration::from_millis(10),
        }
    }
}
