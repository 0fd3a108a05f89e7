//! The control of a stream on the command line: its rate and its connections.

use std::str::FromStr;

use polypath_core::connections::{
    ControlConfig, ControllerConfig, MAX_CONNECTIONS, VariationConfig,
};
use polypath_core::units::Rate;

use crate::failure::Failure;
use crate::number::whole;

/// The largest rate: beyond it one core cannot carry the stream.
const MAX_RATE: Rate = Rate(2_000_000_000);
/// The smallest rate.
const MIN_RATE: Rate = Rate(1000);

/// The number of connections on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connections {
    Fixed(u32),
    Auto,
}

impl FromStr for Connections {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let number = whole(1..=MAX_CONNECTIONS)(text);
        number
            .map(Self::Fixed)
            .map_err(|error| format!("{error}, or `auto`"))
    }
}

/// Refuses a rate that no stream has.
pub(crate) fn check_rate(rate: Rate) -> Result<(), Failure> {
    if (MIN_RATE..=MAX_RATE).contains(&rate) {
        return Ok(());
    }
    Err(Failure::input(format!(
        "--rate {rate}: use 1 kbit/s to {MAX_RATE}"
    )))
}

/// The controller of a stream at this rate, with fixed windows of `window` packets if given.
pub(crate) fn controller(
    rate: Rate,
    connections: Connections,
    window: Option<u32>,
) -> Result<ControllerConfig, Failure> {
    let control = ControlConfig {
        // The default of 3000 B/s would be more than a tenth of a low rate.
        guard: ControlConfig::default().guard.min(Rate(rate.0 / 20)),
        ..ControlConfig::default()
    };
    match (connections, window) {
        (Connections::Fixed(connections), None) => Ok(ControllerConfig::AdjustWindow {
            connections,
            control,
        }),
        (Connections::Fixed(connections), Some(window)) => Ok(ControllerConfig::FixedWindows {
            connections,
            window,
        }),
        (Connections::Auto, None) => Ok(ControllerConfig::VariedConnections {
            connections: 1,
            variation: VariationConfig::default(),
            control,
        }),
        (Connections::Auto, Some(_)) => Err(Failure::input(
            "--window fixes the windows, and --connections auto varies them: use one of both",
        )),
    }
}
