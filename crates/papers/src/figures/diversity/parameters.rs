//! The parameters of the figures with their sources.

use polypath_sim::round_model::RoundModelConfig;

use crate::jobs::diversity::setting::RTT;

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
            "loses all packets of the round trip: stated (IV.A)".to_owned(),
        ),
        of(
            "a link that is full",
            "drops the excess at random: chosen".to_owned(),
        ),
        of(
            "window",
            "from 1 by 1 per round trip, to 1 on loss: stated (IV.A)".to_owned(),
        ),
    ]
}
