//! Interpretations of what the paper leaves open.

use polypath_sim::round_model::{Dropping, Outage, RoundModelConfig};

/// The name of an interpretation, and its change of a configuration.
type Reading = (&'static str, fn(RoundModelConfig) -> RoundModelConfig);

/// The interpretations, that of the figures first.
pub(super) const READINGS: [Reading; 4] = [
    ("as in the figures", |config| config),
    (
        "a link that fades loses its share of the round trip",
        |config| RoundModelConfig {
            outage: Outage::Share,
            ..config
        },
    ),
    ("a full link drops each packet independently", |config| {
        RoundModelConfig {
            dropping: Dropping::Independent,
            ..config
        }
    }),
    ("links do not fade", |config| RoundModelConfig {
        fading: None,
        ..config
    }),
];
