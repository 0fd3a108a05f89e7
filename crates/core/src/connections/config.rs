//! The controllers by name, with their parameters, as scenario files have them.

use alloc::boxed::Box;

use super::adjust_window::AdjustWindow;
use super::controller::ConnectionController;
use super::fixed_windows::FixedWindows;
use super::parameters::{ControlConfig, Target, VariationConfig};
use super::varied_connections::VariedConnections;

/// The controllers by name.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)
)]
#[cfg_attr(
    feature = "serde",
    serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)
)]
pub enum ControllerConfig {
    /// So many connections with windows that stay.
    FixedWindows {
        /// How many.
        #[cfg_attr(feature = "serde", schemars(range(min = 1, max = 1024)))]
        connections: u32,
        /// The window of each, in segments.
        #[cfg_attr(feature = "serde", schemars(range(min = 1, max = 900)))]
        window: u32,
    },
    /// So many connections with windows that follow the throughput (`MultiTCP` paper, Algorithm 1).
    AdjustWindow {
        /// How many; the paper's default is 5.
        #[cfg_attr(feature = "serde", serde(default = "default_connections"))]
        #[cfg_attr(feature = "serde", schemars(range(min = 1, max = 1024)))]
        connections: u32,
        /// How the windows follow.
        #[cfg_attr(feature = "serde", serde(default))]
        control: ControlConfig,
    },
    /// The same, and their number follows the congestion (`MultiTCP` paper, Algorithms 2 and 3).
    VariedConnections {
        /// How many at the start.
        #[cfg_attr(feature = "serde", serde(default = "one"))]
        #[cfg_attr(feature = "serde", schemars(range(min = 1, max = 1024)))]
        connections: u32,
        /// How their number follows.
        #[cfg_attr(feature = "serde", serde(default))]
        variation: VariationConfig,
        /// How the windows follow.
        #[cfg_attr(feature = "serde", serde(default))]
        control: ControlConfig,
    },
}

impl ControllerConfig {
    /// The controller.
    #[must_use]
    pub fn build(self, target: Target) -> Box<dyn ConnectionController> {
        match self {
            Self::FixedWindows {
                connections,
                window,
            } => Box::new(FixedWindows::new(connections, window)),
            Self::AdjustWindow {
                connections,
                control,
            } => Box::new(AdjustWindow::new(connections, target, &control)),
            Self::VariedConnections {
                connections,
                variation,
                control,
            } => Box::new(VariedConnections::new(
                connections,
                target,
                variation,
                &control,
            )),
        }
    }

    /// How throughput is measured; windows that stay are looked at as often as others.
    #[must_use]
    pub fn control(&self) -> ControlConfig {
        match self {
            Self::FixedWindows { .. } => ControlConfig::default(),
            Self::AdjustWindow { control, .. } | Self::VariedConnections { control, .. } => {
                *control
            }
        }
    }

    /// How many connections there are at the start.
    #[must_use]
    pub const fn connections(&self) -> u32 {
        match self {
            Self::FixedWindows { connections, .. }
            | Self::AdjustWindow { connections, .. }
            | Self::VariedConnections { connections, .. } => *connections,
        }
    }
}

#[cfg(feature = "serde")]
fn default_connections() -> u32 {
    5
}

#[cfg(feature = "serde")]
fn one() -> u32 {
    1
}
