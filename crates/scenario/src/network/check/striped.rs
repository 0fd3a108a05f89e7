//! What no schema can state about streams over several connections.

use polypath_core::connections::{ControlConfig, ControllerConfig};
use polypath_core::time::Duration;

use crate::check::bounds::{MOST_RATE, at_least, at_most_a_day};
use crate::check::{check_rate, positive};
use crate::document::Problems;
use crate::network::striped::Striped;

/// The shortest sampling interval.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);

/// Checks the values of the traffic that stands under `key`.
pub(super) fn check(key: &str, striped: &Striped, problems: &mut Problems) {
    let at = |leaf: &str| format!("{key}.{leaf}");
    check_rate(&at("rate"), striped.rate, problems);
    if striped.rate > MOST_RATE {
        let message = format!(
            "`rate` is {}, but must be at most {MOST_RATE}",
            striped.rate
        );
        problems.report(&at("rate"), message, "");
    }
    if let Some(limit) = striped.connection_limit {
        check_rate(&at("connection_limit"), limit, problems);
    }
    if let Some(play) = striped.play_out {
        at_most_a_day(&at("play_out.prebuffer"), play.prebuffer, problems);
        positive(&at("play_out.rebuffer"), play.rebuffer, problems);
        at_most_a_day(&at("play_out.rebuffer"), play.rebuffer, problems);
    }
    match striped.controller {
        ControllerConfig::FixedWindows { .. } => {}
        ControllerConfig::AdjustWindow { control, .. }
        | ControllerConfig::VariedConnections { control, .. } => {
            check_control(&at("controller.control"), &control, problems);
        }
    }
}

fn check_control(key: &str, control: &ControlConfig, problems: &mut Problems) {
    let key = format!("{key}.interval");
    if let Some(interval) = control.interval {
        positive(&key, interval, problems);
        at_least(&key, interval, LEAST_INTERVAL, problems);
        at_most_a_day(&key, interval, problems);
    }
}
