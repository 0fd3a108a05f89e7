//! Controller configuration as written in scenario files.

use alloc::boxed::Box;

use super::adjust_window::AdjustWindow;
use super::controller::ConnectionController;
use super::fixed_windows::FixedWindows;
use super::parameters::{ControlConfig, Target, VariationConfig};
use super::varied_connections::VariedConnections;

/// A controller and its parameters.
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
    /// A fixed number of connections with fixed windows.
    FixedWindows {
        /// The number of connections.
        #[cfg_attr(feature = "serde", schemars(range(min = 1, max = 1024)))]
        connections: u32,
        /// The window of each, in segments.
        #[cfg_attr(feature = "serde", schemars(range(min = 1, max = 900)))]
        window: u32,
    },
    /// A fixed number of connections whose windows follow the throughput (`MultiTCP` paper,
    /// Algorithm 1).
    AdjustWindow {
        /// The number of connections; the paper's default is 5.
        #[cfg_attr(feature = "serde", serde(default = "default_connections"))]
        #[cfg_attr(feature = "serde", schemars(range(min = 1, max = 1024)))]
        connections: u32,
        /// Window control.
        #[cfg_attr(feature = "serde", serde(default))]
        control: ControlConfig,
    },
    /// As `adjust-window`, and the number of connections follows the congestion (`MultiTCP` paper,
    /// Algorithms 2 and 3).
    VariedConnections {
        /// The initial number of connections.
        #[cfg_attr(feature = "serde", serde(default = "one"))]
        #[cfg_attr(feature = "serde", schemars(range(min = 1, max = 1024)))]
        connections: u32,
        /// Control of the number of connections.
        #[cfg_attr(feature = "serde", serde(default))]
        variation: VariationConfig,
        /// Window control.
        #[cfg_attr(feature = "serde", serde(default))]
        control: ControlConfig,
    },
}

impl ControllerConfig {
    /// Connections for a stream that follow the congestion, from one to `max_connections`, with the
    /// defaults of [`ControlConfig::for_target`] and the f of [`VariationConfig::spike`].
    #[must_use]
    pub fn auto(target: Target, max_connections: u32) -> Self {
        let variation = VariationConfig {
            max_connections,
            ..VariationConfig::default()
        };
        Self::VariedConnections {
            connections: 1,
            variation,
            control: ControlConfig {
                spike: variation.spike(),
                ..ControlConfig::for_target(target)
            },
        }
    }

    /// Builds the controller.
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

    /// The parameters of throughput sampling; the defaults for fixed windows.
    #[must_use]
    pub fn control(&self) -> ControlConfig {
        match self {
            Self::FixedWindows { .. } => ControlConfig::default(),
            Self::AdjustWindow { control, .. } | Self::VariedConnections { control, .. } => {
                *control
            }
        }
    }

    /// The initial number of connections.
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
