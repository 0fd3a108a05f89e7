//! Readings of what the paper leaves open.

use polypath_sim::round_model::{Dropping, Outage, RoundModelConfig};

/// A name, and what becomes of a configuration.
type Reading = (&'static str, fn(RoundModelConfig) -> RoundModelConfig);

/// The readings, that of the figures first: their names, and what they are.
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
