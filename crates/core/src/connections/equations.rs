//! What a loss costs one connection or several (the paper's 4.1): the model of a window that halves and grows by one segment
//! a round-trip time, without what fast recovery does meanwhile.

use crate::time::Duration;
use crate::units::{Bytes, Rate};

/// The throughput of a window of `window` segments of size `mtu` without loss, `W MTU / RTT` (equation 1); none in no time.
#[must_use]
pub fn throughput(window: u32, mtu: Bytes, rtt: Duration) -> Option<Rate> {
    Rate::average(Bytes(u64::from(window).saturating_mul(mtu.0)), rtt)
}

/// The data in bytes that a connection with a window of `window` segments transfers less for one loss, `W^2 MTU / 8`
/// (equation 2).
#[must_use]
pub fn reduction(window: u32, mtu: Bytes) -> f64 {
    reduction_of_several(window, mtu, 1, 1)
}

/// The same of `connections` that share the window evenly, of which `losing` have one loss each, `n W^2 MTU / (8 N^2)`
/// (equations 3 and 4); none of no connections.
///
/// The paper prints equation 4 without the 8, against its equation 2 where both numbers are 1.
#[must_use]
pub fn reduction_of_several(window: u32, mtu: Bytes, connections: u32, losing: u32) -> f64 {
    if connections == 0 {
        return 0.0;
    }
    let each = f64::from(window) / f64::from(connections);
    f64::from(losing) * each * each * mtu.0 as f64 / 8.0
}
