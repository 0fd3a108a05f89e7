//! The seeds from which on schedules may have what was added later: those before are the same
//! without it.

/// The first seed whose schedule may have the policy `round-robin`.
pub const ROUND_ROBIN_FROM: u64 = 10_000;
/// The first seed whose schedule may have the policy `in-time`.
pub const IN_TIME_FROM: u64 = 8_000;
/// The first seed whose schedule may have a delay-centric policy.
pub const DELAY_CENTRIC_FROM: u64 = 12_000;
/// The first seed whose schedule may have the policy `diversity`.
pub const DIVERSITY_FROM: u64 = 14_000;
/// The first seed in whose schedule flows may choose by themselves, and heartbeats may wait.
pub const FLOW_SCOPE_FROM: u64 = 16_000;
/// The first seed in whose schedule packets may be split over the paths.
pub const FRAGMENTS_FROM: u64 = 18_000;
/// The first seed in whose schedule the network may mark all ECN-capable datagrams, or lose some on all
/// paths at the same time, as congestion does.
pub const CONGESTION_FROM: u64 = 19_000;
/// The first seed in whose schedule nodes may space their packets.
pub const SPACING_FROM: u64 = 20_000;
