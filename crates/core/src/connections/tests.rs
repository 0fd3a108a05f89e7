//! Tests of the controllers over scripted networks, and of striper, resequencer and player.

use alloc::string::String;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::machine::{Machine, Wake, step};
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

mod application_limited;
mod controllers;
mod credits;
mod ends;
mod golden;
mod playout;
mod printed;
mod streams;
mod striping;

const MS: Duration = Duration::from_millis(1);
/// The paper's target: 800 kb/s in packets of 1000 B.
const TARGET: Target = Target {
    rate: Rate(800_000),
    segment: Bytes(1000),
};
/// Four links of 20 ms.
const RTT: Duration = Duration::from_millis(80);

/// Table I.
const TABLE_1: ControlConfig = ControlConfig {
    interval: Some(Duration::from_millis(300)),
    round_trips: 6,
    smoothing: 0.9,
    memory: None,
    guard: Rate(56_000),
    spike: 6.0,
};

fn sample(kbits: u64) -> Sample {
    Sample {
        throughput: Rate(kbits * 1000),
        rtt: RTT,
        is_application_limited: false,
    }
}

fn adjust(connections: u32, control: ControlConfig) -> ControllerConfig {
    ControllerConfig::AdjustWindow {
        connections,
        control,
    }
}

fn varied(connections: u32) -> ControllerConfig {
    ControllerConfig::VariedConnections {
        connections,
        variation: VariationConfig::default(),
        control: ControlConfig::default(),
    }
}
