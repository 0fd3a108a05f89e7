//! The counters of repairs.

/// The counters of the sender's half; bytes are those on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RepairStatistics {
    /// Packets sent for the first time.
    pub packets: u64,
    /// Their bytes.
    pub packet_bytes: u64,
    /// Copies sent with the first transmission.
    pub copies: u64,
    /// Their bytes.
    pub copy_bytes: u64,
    /// Frames that repair a loss.
    pub repairs: u64,
    /// Their bytes.
    pub repair_bytes: u64,
    /// Missing packets that no path would have delivered in time.
    pub given_up: u64,
    /// Missing packets whose last repair waited for the budget until it would have been late.
    pub unaffordable: u64,
    /// Reports received.
    pub reports: u64,
}
