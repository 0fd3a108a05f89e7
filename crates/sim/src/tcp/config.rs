//! The settings of TCP hosts.

use polypath_core::time::Duration;
use polypath_core::units::Bytes;
use polypath_scenario::TcpVariant as Variant;

use super::rto::RtoConfig;

/// The settings of both hosts of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpConfig {
    /// The loss recovery and the growth of the congestion window.
    pub variant: Variant,
    /// Size of a data segment on the wire, in bytes.
    pub segment: u32,
    /// Size of a segment without data on the wire, in bytes.
    pub ack: u32,
    /// Initial congestion window, in segments.
    pub initial_window: u32,
    /// Receiver window, in segments.
    pub receiver_window: u32,
    /// Whether the first two duplicate ACKs each release a new segment (RFC 3042).
    pub limited_transmit: bool,
    /// Whether segment 0 is a SYN: of the size of an ACK and alone in flight, until its ACK opens
    /// the initial window (ns-2's `syn_` and `delay_growth_`).
    pub syn: bool,
    /// Whether data is sent ECN-capable, and marks are echoed and answered (RFC 3168).
    pub ecn: bool,
    /// The longest time for which an ACK waits for a second segment in order; `None` sends each ACK
    /// immediately.
    pub delayed_ack: Option<Duration>,
    /// The retransmission timer.
    pub rto: RtoConfig,
}

impl Default for TcpConfig {
    /// The defaults of a scenario: those of ns-2 2.35, with segments of 1000 bytes.
    fn default() -> Self {
        Self::from(&polypath_scenario::Tcp::default())
    }
}

impl From<&polypath_scenario::Tcp> for TcpConfig {
    /// The hosts of a scenario.
    fn from(tcp: &polypath_scenario::Tcp) -> Self {
        let bytes = |size: Bytes| u32::try_from(size.0).unwrap_or(u32::MAX);
        Self {
            variant: tcp.variant,
            segment: bytes(tcp.segment),
            ack: bytes(tcp.ack),
            initial_window: tcp.initial_window,
            receiver_window: tcp.receiver_window,
            limited_transmit: tcp.limited_transmit,
            syn: tcp.set_up,
            ecn: tcp.ecn,
            delayed_ack: tcp.delayed_ack,
            rto: RtoConfig {
                min: tcp.min_rto,
                initial: tcp.initial_rto,
                max: tcp.max_rto,
                tick: tcp.tick,
            },
        }
    }
}

impl TcpConfig {
    /// The number of segments of a file of `bytes`; at least one.
    #[must_use]
    pub fn segments(&self, bytes: u64) -> u32 {
        let count = bytes.div_ceil(u64::from(self.segment)).max(1);
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}
