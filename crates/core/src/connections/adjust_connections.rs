//! Number of connections controlled by congestion (`AdjustNumConnections`, Algorithm 2).

use super::parameters::VariationConfig;
use crate::units::Rate;

/// Congestion as measured by the receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Congestion {
    /// The congestion ratio `W_s / W_n`: at most 1 without congestion (4.2.2).
    pub ratio: f64,
    /// The measured throughput `T_m`.
    pub throughput: Rate,
    /// The desired throughput `T_d`.
    pub target: Rate,
}

/// Decides when to open and close connections.
#[derive(Clone, Copy, Debug)]
pub struct AdjustConnections {
    config: VariationConfig,
    /// The ratio at the last change, `prevcongR`.
    previous: f64,
}

impl AdjustConnections {
    /// Creates the rule for an uncongested network.
    #[must_use]
    pub fn new(config: VariationConfig) -> Self {
        Self {
            config,
            previous: 1.0,
        }
    }

    /// The new number of connections, given the `present` one; at least 1, and at most the limit.
    ///
    /// The three cases of Algorithm 2 are tested in the printed order. A ratio that has fallen but
    /// still means severe congestion closes two connections.
    pub fn next(&mut self, present: u32, congestion: &Congestion) -> u32 {
        let Congestion {
            ratio,
            throughput,
            target,
        } = *congestion;
        let VariationConfig {
            damping,
            congestion_factor,
            max_connections,
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
        connections.min(max_connections).max(1)
    }
}
