//! Sender and receiver over scripted networks, and the controllers alone.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::loopback::Loopback;
use super::*;
use crate::time::{Duration, Time};
use crate::units::{Bytes, Rate};

mod controllers;
mod cubic;
mod feedback;
mod golden;
mod properties;
mod queue;
mod receiver;

const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);
/// The paper's round-trip time: 2 ms and 40 ms each way.
const RTT: Duration = Duration::from_millis(84);
const ONE_WAY: Duration = Duration::from_millis(42);

fn config(control: ControlConfig) -> SenderConfig {
    SenderConfig {
        line_rate: Some(Rate::from_mbits(100)),
        base_rtt: Some(RTT),
        ..SenderConfig::new(control, Bytes(1000))
    }
}

fn ad_hoc(attribution: Attribution) -> ControlConfig {
    ControlConfig::AdHoc(AdaptiveConfig {
        attribution,
        ..AdaptiveConfig::default()
    })
}

fn damped(attribution: Attribution) -> ControlConfig {
    ControlConfig::Damped(AdaptiveConfig {
        attribution,
        ..AdaptiveConfig::default()
    })
}

fn sender(control: ControlConfig) -> SpacedSender {
    SpacedSender::new(&config(control), Time::ZERO)
}

fn at(rtts: u64) -> Time {
    Time::ZERO + RTT * rtts
}

/// The applied feedback: its time, the change, the new spacing and the counts.
fn applied(network: &Loopback<'_>) -> Vec<(Time, SpacingChange, Duration, FeedbackCounts)> {
    let applied = |&(now, output): &(Time, SenderOutput)| match output {
        SenderOutput::FeedbackApplied {
            adjustment,
            spacing,
            readings,
        } => Some((now, adjustment, spacing, readings)),
        _ => None,
    };
    network.outputs.iter().filter_map(applied).collect()
}
