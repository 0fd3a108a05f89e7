//! The control of a stream on the command line: its rate and its connections.

use std::str::FromStr;

use polypath_core::connections::{ControlConfig, ControllerConfig, MAX_CONNECTIONS};
use polypath_core::units::Rate;
use polypath_stream::target;

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

/// The options that set the connections and windows of a stream.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct ConnectionArgs {
    /// The number of connections, 1 to 1024, or `auto`: it then follows the congestion.
    #[arg(
        long,
        value_name = "N|auto",
        default_value = "5",
        allow_negative_numbers = true
    )]
    connections: Connections,
    /// With `--connections auto`: take at most the share of N connections of TCP on a full link.
    #[arg(long, value_name = "N", value_parser = whole(1..=MAX_CONNECTIONS), allow_negative_numbers = true)]
    max_share: Option<u32>,
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
    args: ConnectionArgs,
    window: Option<u32>,
) -> Result<ControllerConfig, Failure> {
    if let (Connections::Fixed(connections), Some(share)) = (args.connections, args.max_share) {
        return Err(Failure::input(format!(
            "--max-share {share} limits --connections auto; {connections} connections take the share of {connections}"
        )));
    }
    match (args.connections, window) {
        (Connections::Fixed(connections), None) => Ok(ControllerConfig::AdjustWindow {
            connections,
            control: ControlConfig::for_target(target(rate)),
        }),
        (Connections::Fixed(connections), Some(window)) => Ok(ControllerConfig::FixedWindows {
            connections,
            window,
        }),
        (Connections::Auto, None) => {
            let most = args.max_share.unwrap_or(MAX_CONNECTIONS);
            Ok(ControllerConfig::auto(target(rate), most))
        }
        (Connections::Auto, Some(_)) => Err(Failure::input(
            "--window fixes the windows, and --connections auto varies them: use one of both",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With f >= cf a live source slower than the rate would end at one connection.
    #[test]
    fn varied_connections_have_an_f_below_cf() {
        let args = ConnectionArgs {
            connections: Connections::Auto,
            max_share: Some(7),
        };
        let config = controller(Rate(1_000_000), args, None).unwrap();
        let ControllerConfig::VariedConnections {
            variation, control, ..
        } = config
        else {
            panic!("{config:?}");
        };
        assert_eq!(variation.max_connections, 7);
        assert!(control.spike < variation.congestion_factor);
    }
}
