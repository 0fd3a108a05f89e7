//! A stream over several TCP connections, whose number and windows the receiver sets (`MultiTCP`
//! paper).

use polypath_core::connections::{ControlConfig, ControllerConfig, PlayOutConfig};
use polypath_core::time::Duration;
use polypath_core::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::TrafficKind;
use crate::check::bounds::{at_least, at_most_a_day};
use crate::check::{check_rate, positive};
use polypath_document::{MAX_RATE, Problems};

/// The shortest sampling interval of the controller.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// Media that is streamed over several TCP connections; its packets are segments (`tcp.segment`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Striped {
    /// The rate that the receiver wants, and at which the media is played.
    pub rate: Rate,
    /// The controller of the number of connections and their windows.
    pub controller: ControllerConfig,
    /// The size of the receiver's reordering buffer in packets; packets further ahead stay in their
    /// connection.
    #[serde(default = "default_buffer")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub buffer: u32,
    /// The rate to which the sending application limits each connection, if it does (`MultiTCP`
    /// paper, Fig. 8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_limit: Option<Rate>,
    /// The playback of the media, if it is to be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub play_out: Option<PlayOutConfig>,
}

impl TrafficKind for Striped {
    fn check(&self, key: &str, problems: &mut Problems) {
        let at = |leaf: &str| format!("{key}.{leaf}");
        check_rate(&at("rate"), self.rate, problems);
        if self.rate > MAX_RATE {
            let message = format!("`rate` is {}, but must be at most {MAX_RATE}", self.rate);
            problems.report(&at("rate"), message, "");
        }
        if let Some(limit) = self.connection_limit {
            check_rate(&at("connection_limit"), limit, problems);
        }
        if let Some(play) = self.play_out {
            at_most_a_day(&at("play_out.prebuffer"), play.prebuffer, problems);
            positive(&at("play_out.rebuffer"), play.rebuffer, problems);
            at_most_a_day(&at("play_out.rebuffer"), play.rebuffer, problems);
        }
        match self.controller {
            ControllerConfig::FixedWindows { .. } => {}
            ControllerConfig::AdjustWindow { control, .. }
            | ControllerConfig::VariedConnections { control, .. } => {
                check_control(&at("controller.control"), &control, problems);
            }
        }
    }

    fn is_tcp(&self) -> bool {
        true
    }

    fn sets_receiver_windows(&self) -> bool {
        true
    }
}

fn check_control(key: &str, control: &ControlConfig, problems: &mut Problems) {
    for (name, time) in [("interval", control.interval), ("memory", control.memory)] {
        let key = format!("{key}.{name}");
        if let Some(time) = time {
            positive(&key, time, problems);
            at_least(&key, time, MIN_INTERVAL, problems);
            at_most_a_day(&key, time, problems);
        }
    }
}

fn default_buffer() -> u32 {
    4096
}
