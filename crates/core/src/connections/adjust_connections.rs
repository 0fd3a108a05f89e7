//! Their number follows the congestion (`AdjustNumConnections`, Algorithm 2).

use super::parameters::VariationConfig;
use crate::units::Rate;

/// How congested the network is, as a receiver sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Congestion {
    /// The congestion ratio `W_s / W_n`: 1 or less where nothing is congested (4.2.2).
    pub ratio: f64,
    /// The measured throughput `T_m`.
    pub throughput: Rate,
    /// The desired throughput `T_d`.
    pub target: Rate,
}

/// Decides whether connections are started or stopped.
#[derive(Clone, Copy, Debug)]
pub struct AdjustConnections {
    config: VariationConfig,
    /// The ratio at the last change, `prevcongR`.
    previous: f64,
}

impl AdjustConnections {
    /// In an uncongested network.
    #[must_use]
    pub fn new(config: VariationConfig) -> Self {
        Self {
            config,
            previous: 1.0,
        }
    }

    /// The number of connections that follows on `present`; never none.
    ///
    /// The three cases of Algorithm 2 are tested one after another, as it is printed: where the ratio has fallen and is still
    /// that of severe congestion, two connections are stopped.
    pub fn next(&mut self, present: u32, congestion: &Congestion) -> u32 {
        let Congestion {
            ratio,
            throughput,
            target,
        } = *congestion;
        let VariationConfig {
            damping,
            congestion_factor,
        } = self.config;
        let mut connections = present;
        if ratio < self.previous - damping && throughput > target {
            self.previous = ratio;
            connections = connections.saturating_sub(1);
        }
        if ratio > self.previous + damping && throughput < target && ratio < congestion_factor {
            self.previous = ratio;
            connections = connections.saturating_add(1);
        }
        if ratio >= congestion_factor {
            self.previous = ratio;
            connections = connections.saturating_sub(1);
        }
        connections.max(1)
    }
}
