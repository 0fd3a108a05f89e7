//! Readings of parameters that the paper leaves open.

use polypath_sim::round_model::{Dropping, Outage, RoundModelConfig};

/// A name, and the change to a configuration.
type Reading = (&'static str, fn(RoundModelConfig) -> RoundModelConfig);

/// The readings; the first is that of the figures.
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
