//! The cost of a loss for one or several connections (the paper's 4.1). The model window halves on
//! a loss and grows by one segment per round-trip time; fast recovery is not modelled.

use crate::time::Duration;
use crate::units::{Bytes, Rate};

/// The throughput of a window of `window` segments of size `mtu` without loss, `W MTU / RTT`
/// (equation 1); `None` if `rtt` is zero.
#[must_use]
pub fn throughput(window: u32, mtu: Bytes, rtt: Duration) -> Option<Rate> {
    Rate::average(Bytes(u64::from(window).saturating_mul(mtu.0)), rtt)
}

/// The reduction in transferred bytes that one loss causes at a window of `window` segments, `W^2
/// MTU / 8` (equation 2).
#[must_use]
pub fn reduction(window: u32, mtu: Bytes) -> f64 {
    reduction_of_several(window, mtu, 1, 1)
}

/// The reduction in bytes when `connections` share the window evenly and `losing` of them have one
/// loss each, `n W^2 MTU / (8 N^2)` (equations 3 and 4); 0 without connections.
///
/// The paper prints equation 4 without the 8, which contradicts its equation 2 for `n = N = 1`.
#[must_use]
pub fn reduction_of_several(window: u32, mtu: Bytes, connections: u32, losing: u32) -> f64 {
    if connections == 0 {
        return 0.0;
    }
    let each = f64::from(window) / f64::from(connections);
    f64::from(losing) * each * each * mtu.0 as f64 / 8.0
}
