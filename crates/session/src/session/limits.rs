//! The lifetime of keys.

use polypath_core::time::Duration;

/// The limits at which keys are renewed and dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The age of the keys at which the initiator renews them.
    pub rekey_after: Duration,
    /// The additional age at which the responder renews them, if the initiator has not.
    pub responder_grace: Duration,
    /// The number of datagrams on one path after which keys are renewed.
    pub rekey_after_count: u64,
    /// The age at which keys are dropped.
    pub reject_after: Duration,
    /// The time for which retired keys still open datagrams.
    pub retire_after: Duration,
}

impl Default for Limits {
    /// As in `WireGuard`: renewed after 120 s, dropped after 180 s; 2^48 datagrams of the 2^56 that
    /// the counter of a path allows.
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
