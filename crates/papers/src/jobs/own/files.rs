//! The scenario files, and the settings by which a claim differs from its file.

use polypath_claims::JobError;
use polypath_document::{Errors, Override};
use polypath_scenario::{MediaScenario, Scenario};
use serde::Serialize;

/// A file of a media stream in `scenarios/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MediaFile {
    Random,
    Fades,
    Outages,
    Congestion,
    Bufferbloat,
    Correlated,
    Three,
    Far,
}

impl MediaFile {
    /// The files for which docs/in-time.md states bounds of their own.
    pub(crate) const BOUNDED: [Self; 4] =
        [Self::Random, Self::Fades, Self::Outages, Self::Congestion];

    /// The others, in which `in-time` is compared with `duplicate-all`.
    pub(crate) const OTHERS: [Self; 4] =
        [Self::Bufferbloat, Self::Correlated, Self::Three, Self::Far];

    /// The word of the file's name after `media-`, which is also that of quantities.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Fades => "fades",
            Self::Outages => "outages",
            Self::Congestion => "congestion",
            Self::Bufferbloat => "bufferbloat",
            Self::Correlated => "correlated",
            Self::Three => "three",
            Self::Far => "far",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Random => include_str!("../../../../../scenarios/media-random.toml"),
            Self::Fades => include_str!("../../../../../scenarios/media-fades.toml"),
            Self::Outages => include_str!("../../../../../scenarios/media-outages.toml"),
            Self::Congestion => include_str!("../../../../../scenarios/media-congestion.toml"),
            Self::Bufferbloat => include_str!("../../../../../scenarios/media-bufferbloat.toml"),
            Self::Correlated => include_str!("../../../../../scenarios/media-correlated.toml"),
            Self::Three => include_str!("../../../../../scenarios/media-three.toml"),
            Self::Far => include_str!("../../../../../scenarios/media-far.toml"),
        }
    }

    /// The scenario of the file with settings as `--set` has them.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub(crate) fn scenario(self, sets: &[impl AsRef<str>]) -> Result<MediaScenario, JobError> {
        let name = format!("media-{}.toml", self.word());
        parse(sets, |overrides| {
            MediaScenario::parse(self.text(), &name, overrides)
        })
    }
}

/// `scenarios/aggregate.toml` with settings as `--set` has them.
///
/// # Errors
/// If a setting is invalid.
pub(crate) fn aggregate(sets: &[impl AsRef<str>]) -> Result<Scenario, JobError> {
    let text = include_str!("../../../../../scenarios/aggregate.toml");
    parse(sets, |overrides| {
        Scenario::parse(text, "aggregate.toml", overrides)
    })
}

fn parse<T>(
    sets: &[impl AsRef<str>],
    read: impl Fn(&[Override]) -> Result<T, Errors>,
) -> Result<T, JobError> {
    let overrides = sets.iter().map(|set| set.as_ref().parse::<Override>());
    let overrides: Result<Vec<_>, _> = overrides.collect();
    let overrides = overrides.map_err(|error| JobError::Other(error.to_string()))?;
    Ok(read(&overrides)?)
}
