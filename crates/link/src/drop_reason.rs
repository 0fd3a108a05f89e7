//! The reasons for which a link drops packets.

/// The reason for which a link drops a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// The queue is full.
    QueueFull,
    /// The queue has [`MAX_PACKETS`](crate::MAX_PACKETS).
    Overflow,
    /// RED drops it early.
    Early,
    /// `CoDel` drops it since packets wait too long.
    Sojourn,
    /// It is lost independently of others, with the link's probability of loss.
    Random,
    /// The Gilbert-Elliott chain loses it.
    Burst,
    /// The on-off process is off, or the link fades.
    Down,
    /// A scheduled outage loses it.
    Outage,
}

impl DropReason {
    /// All reasons.
    pub const ALL: [DropReason; 8] = [
        DropReason::QueueFull,
        DropReason::Overflow,
        DropReason::Early,
        DropReason::Sojourn,
        DropReason::Random,
        DropReason::Burst,
        DropReason::Down,
        DropReason::Outage,
    ];

    /// The name in reports and events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::QueueFull => "queue_full",
            DropReason::Overflow => "overflow",
            DropReason::Early => "early",
            DropReason::Sojourn => "sojourn",
            DropReason::Random => "random",
            DropReason::Burst => "burst",
            DropReason::Down => "down",
            DropReason::Outage => "outage",
        }
    }
}
