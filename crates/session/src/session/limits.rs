//! When keys are renewed and dropped.

use polypath_core::time::Duration;

/// When keys are renewed and dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Age at which the initiator renews keys.
    pub rekey_after: Duration,
    /// How much later the responder does, if the initiator did not.
    pub responder_grace: Duration,
    /// Datagrams on one path after which keys are renewed.
    pub rekey_after_count: u64,
    /// Age at which keys are dropped.
    pub reject_after: Duration,
    /// How long old keys open datagrams after new ones came into use.
    pub retire_after: Duration,
}

impl Default for Limits {
    /// As in `WireGuard`: renewed after 120 s, dropped after 180 s; 2^48 datagrams of the 2^56 that a path
    /// can count.
    fn default() -> Self {
        Self {
            rekey_after: Duration::from_secs(120),
            responder_grace: Duration::from_secs(10),
            rekey_after_count: 1 << 48,
            reject_after: Duration::from_secs(180),
            retire_after: Duration::from_secs(10),
        }
    }
}
