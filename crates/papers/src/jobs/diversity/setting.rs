//! The paper's parameters (diversity-routing paper, IV.C).

use polypath_sim::round_model::{Fading, RoundModelConfig};

/// The round-trip time in seconds.
pub(crate) const RTT: f64 = 0.1;
/// The rate from up to down, a second.
pub(crate) const GAMMA: f64 = 0.1;
/// The rate from down to up, a second, with short fades (Figs. 3 to 5).
pub(crate) const SHORT: f64 = 100.0;
/// The same with long fades (Figs. 6 to 8).
pub(crate) const LONG: f64 = 1.0;
/// The paper's links.
pub(crate) const LINKS: u32 = 4;
/// The round trips of Figs. 3 to 7.
pub(crate) const ROUNDS: u32 = 2000;
/// Packets a round trip for each flow (Figs. 3 to 5, 8).
pub(crate) const SHARE: u32 = 100;

/// The process of the paper's rates a second.
pub(crate) fn fading(gamma: f64, nu: f64) -> Fading {
    let rounds = |rate: f64| 1.0 / (rate * RTT);
    Fading {
        up: rounds(gamma),
        down: rounds(nu),
    }
}

/// `flows` flows with `share` packets each on `links` links that fade at the rates of the paper's
/// figures.
pub(crate) fn paper(flows: u32, links: u32, share: u32, nu: f64) -> RoundModelConfig {
    RoundModelConfig {
        fading: Some(fading(GAMMA, nu)),
        ..RoundModelConfig::paper(flows, links, share * flows)
    }
}
