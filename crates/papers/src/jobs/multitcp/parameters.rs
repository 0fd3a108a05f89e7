//! The paper's Tables I to III.

use polypath_core::connections::{ControlConfig, ControllerConfig, VariationConfig};
use polypath_core::time::Duration;
use polypath_core::units::Rate;

/// The size of a segment in bytes, the paper's MTU (4.1).
pub(crate) const SEGMENT: u32 = 1000;

/// Table I, for Figs. 4, 5 and 9.
pub(crate) fn table_1() -> ControlConfig {
    ControlConfig {
        interval: Some(Duration::from_millis(300)),
        guard: guard(7000),
        spike: 6.0,
        ..ControlConfig::default()
    }
}

/// Table II, for Fig. 6.
pub(crate) fn table_2() -> ControlConfig {
    ControlConfig {
        interval: None,
        round_trips: 6,
        smoothing: 0.9,
        memory: None,
        guard: guard(3000),
        spike: 10.0,
    }
}

/// Table III, for Figs. 7 to 9. It has a range of alpha, 0 to .9, of which Tables I and II have .9.
///
/// It lacks f, for which [`VariationConfig::spike`] has a reason.
pub(crate) fn table_3(smoothing: f64, spike: f64) -> ControlConfig {
    ControlConfig {
        smoothing,
        spike,
        ..table_2()
    }
}

/// Table III with the alpha of the other tables and the f for its cf.
pub(crate) fn chosen() -> ControlConfig {
    table_3(0.9, VariationConfig::default().spike())
}

/// Lambda, which the tables give in bytes and Algorithm 1 compares with a throughput.
fn guard(bytes: u64) -> Rate {
    Rate(8 * bytes)
}

pub(crate) const fn adjust(connections: u32, control: ControlConfig) -> ControllerConfig {
    ControllerConfig::AdjustWindow {
        connections,
        control,
    }
}

/// Algorithm 3, which begins with a single connection.
pub(crate) fn varied(control: ControlConfig) -> ControllerConfig {
    ControllerConfig::VariedConnections {
        connections: 1,
        variation: VariationConfig::default(),
        control,
    }
}

/// Plain connections with a window that stays, in segments.
pub(crate) const fn fixed(connections: u32, window: u32) -> ControllerConfig {
    ControllerConfig::FixedWindows {
        connections,
        window,
    }
}
