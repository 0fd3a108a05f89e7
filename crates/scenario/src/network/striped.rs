//! A stream over several TCP connections, whose number and windows the receiver sets (`MultiTCP` paper).

use polypath_core::connections::{ControllerConfig, PlayOutConfig};
use polypath_core::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Media that is streamed over several TCP connections; its packets are segments (`tcp.segment`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Striped {
    /// The rate that the receiver wants, and at which the media is played.
    pub rate: Rate,
    /// What sets the number of connections and their windows.
    pub controller: ControllerConfig,
    /// How many packets the receiver has places for to put them in order again; what is further ahead stays in its connection.
    #[serde(default = "default_buffer")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub buffer: u32,
    /// The rate to which the sending application limits each connection, if it does (`MultiTCP` paper, Fig. 8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_limit: Option<Rate>,
    /// How the media is played, if that is of interest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub play_out: Option<PlayOutConfig>,
}

fn default_buffer() -> u32 {
    4096
}
