//! The paper's parameters (diversity-routing paper, IV.C).

use polypath_sim::round_model::{Fading, RoundModelConfig};

/// The round-trip time in seconds.
pub(super) const RTT: f64 = 0.1;
/// The rate from up to down, a second.
pub(super) const GAMMA: f64 = 0.1;
/// The rate from down to up, a second, with short fades (Figs. 3 to 5).
pub(super) const SHORT: f64 = 100.0;
/// The same with long fades (Figs. 6 to 8).
pub(super) const LONG: f64 = 1.0;
/// The paper's links.
pub(super) const LINKS: u32 = 4;
/// The round trips of Figs. 3 to 7.
pub(super) const ROUNDS: u32 = 2000;
/// Packets a round trip for each flow (Figs. 3 to 5, 8).
pub(super) const SHARE: u32 = 100;

/// The process of the paper's rates a second.
pub(super) fn fading(gamma: f64, nu: f64) -> Fading {
    let rounds = |rate: f64| 1.0 / (rate * RTT);
    Fading {
        up: rounds(gamma),
        down: rounds(nu),
    }
}

/// So many flows with so many packets each on so many links, which fade at the rates of the paper's figures.
pub(super) fn paper(flows: u32, links: u32, share: u32, nu: f64) -> RoundModelConfig {
    RoundModelConfig {
        fading: Some(fading(GAMMA, nu)),
        ..RoundModelConfig::paper(flows, links, share * flows)
    }
}

/// The parameters of a figure, with their source.
pub(super) fn parameters(config: &RoundModelConfig) -> Vec<[String; 2]> {
    let fading = config.fading.map_or_else(
        || "none".to_owned(),
        |fading| {
            let rate = |rounds: f64| 1.0 / (rounds * RTT);
            format!(
                "gamma {:.2}/s, nu {:.2}/s: stated (IV.C)",
                rate(fading.up),
                rate(fading.down)
            )
        },
    );
    let of = |name: &str, value: String| [name.to_owned(), value];
    vec![
        of("round-trip time", format!("{RTT} s: stated (IV.A)")),
        of("flows", config.flows.to_string()),
        of("links", config.links.to_string()),
        of(
            "capacity of a link",
            format!("{} packets a round trip", config.packets()),
        ),
        of("fading", fading),
        of(
            "a link that fades",
            "loses all of the round trip: stated (IV.A)".to_owned(),
        ),
        of(
            "a link that is full",
            "drops what is too much, at random: chosen".to_owned(),
        ),
        of(
            "window",
            "from 1 by 1 a round trip, to 1 on loss: stated (IV.A)".to_owned(),
        ),
    ]
}
