//! Senders of spaced packets beside transfers, as the lab measures them.

use polypath_core::spacing::SenderConfig;
use polypath_core::time::Duration;
use polypath_scenario::Scenario;

/// Senders of spaced packets over the first path of a scenario, and transfers by the kernel's TCP beside
/// them.
#[derive(Clone, Debug, PartialEq)]
pub struct SpacedRun {
    /// The file of the path.
    pub scenario: Scenario,
    /// The senders, and the time of each one's first packet from the start.
    pub senders: Vec<(SenderConfig, Duration)>,
    /// The number of newer packets after which a packet counts as lost.
    pub reordering: u32,
    /// The number of transfers, which begin at the start.
    pub transfers: u32,
    /// Their congestion control, by the kernel's name.
    pub congestion_control: String,
    /// The time from the start until the measurement, and its duration.
    pub warm_up: Duration,
    /// The duration of the measurement.
    pub measured: Duration,
    /// The interval of [`SpacedSenderOutcome::rates`].
    pub bin: Duration,
    /// The seed of the random streams of the links.
    pub seed: u64,
}

/// The outcome of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpacedOutcome {
    /// The senders.
    pub senders: Vec<SpacedSenderOutcome>,
    /// The goodput of each transfer in bits per second.
    pub transfers: Vec<f64>,
}

/// The outcome of a sender.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpacedSenderOutcome {
    /// The rate at which it sent during the measurement, in bits per second on the wire.
    pub sent: f64,
    /// The rate that arrived.
    pub received: f64,
    /// The packets sent during the measurement.
    pub packets: u64,
    /// Those that arrived meanwhile.
    pub arrived: u64,
    /// The rate at which it sent in each interval from the start, in bits per second.
    pub rates: Vec<f64>,
    /// The mean and the standard deviation of the time from the arrival of a packet to that of the next
    /// number, in seconds; `None` for fewer than three packets.
    pub gaps: Option<(f64, f64)>,
    /// The mean one-way delay in seconds; `None` if nothing arrived.
    pub delay: Option<f64>,
}
