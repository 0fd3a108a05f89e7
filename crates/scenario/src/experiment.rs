//! A scenario file of either kind.

use crate::media::MediaScenario;
use crate::network::Network;
use crate::scenario::Scenario;
use crate::trace::{Files, no_files};
use polypath_document::{Errors, FileKind, Override, check_exclusive, has_key, kinds_of};

/// The content of a scenario file.
#[derive(Clone, Debug, PartialEq)]
pub enum Experiment {
    /// Transfers over given paths, once per scheme.
    Transfers(Box<Scenario>),
    /// A media stream over given paths, once per policy.
    Media(Box<MediaScenario>),
    /// Flows over any network.
    Network(Box<Network>),
}

impl Experiment {
    /// Whether a file describes a network.
    #[must_use]
    pub fn is_network(text: &str) -> bool {
        kinds_of(text.as_bytes()).contains(&FileKind::Network)
    }

    /// Reads a file, with overrides (`--set`) applied, as a network, as a media stream or as
    /// transfers by its keys ([`FileKind`]).
    ///
    /// # Errors
    /// All problems at once, each with its line and the remedy.
    pub fn parse(text: &str, file_name: &str, overrides: &[Override]) -> Result<Self, Errors> {
        Self::parse_with(text, file_name, overrides, &mut no_files)
    }

    /// Reads a file like [`Experiment::parse`]; `files` returns the files that it names (`trace`).
    ///
    /// # Errors
    /// All problems at once, including those of the files, each with its line and the remedy.
    pub fn parse_with(
        text: &str,
        file_name: &str,
        overrides: &[Override],
        files: &mut Files<'_>,
    ) -> Result<Self, Errors> {
        if Self::is_network(text) {
            let network = Network::parse_with(text, file_name, overrides, files)?;
            return Ok(Self::Network(Box::new(network)));
        }
        let remedy = "remove one of the two tables, with the other keys of its kind of file";
        check_exclusive(text, file_name, &["transfer", "media"], remedy)?;
        if has_key(text, "media") {
            let scenario = MediaScenario::parse_with(text, file_name, overrides, files)?;
            return Ok(Self::Media(Box::new(scenario)));
        }
        let scenario = Scenario::parse_with(text, file_name, overrides, files)?;
        Ok(Self::Transfers(Box::new(scenario)))
    }

    /// The kind of its file.
    #[must_use]
    pub const fn kind(&self) -> FileKind {
        match self {
            Self::Transfers(_) => FileKind::Transfers,
            Self::Media(_) => FileKind::Media,
            Self::Network(_) => FileKind::Network,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Transfers(scenario) => &scenario.name,
            Self::Media(scenario) => &scenario.name,
            Self::Network(network) => &network.name,
        }
    }

    /// Its root seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        match self {
            Self::Transfers(scenario) => scenario.seed,
            Self::Media(scenario) => scenario.seed,
            Self::Network(network) => network.seed,
        }
    }

    /// Its root seed, mutable.
    pub const fn seed_mut(&mut self) -> &mut u64 {
        match self {
            Self::Transfers(scenario) => &mut scenario.seed,
            Self::Media(scenario) => &mut scenario.seed,
            Self::Network(network) => &mut network.seed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_keys() {
        let demo = include_str!("../../../scenarios/demo.toml");
        let race = include_str!("../../../scenarios/race.toml");
        let media = include_str!("../../../scenarios/media-random.toml");
        let parse = |text| Experiment::parse(text, "x.toml", &[]).unwrap();
        assert!(matches!(parse(demo), Experiment::Transfers(_)));
        assert!(matches!(parse(media), Experiment::Media(_)));
        assert!(matches!(parse(race), Experiment::Network(_)));
        assert_eq!(parse(race).name(), "race");
    }

    #[test]
    fn a_file_has_transfers_or_a_media_stream() {
        let media = include_str!("../../../scenarios/media-random.toml");
        let both = format!("transfer = {{ size = \"1 kB\", count = 1 }}\n{media}");
        let line = both.lines().position(|line| line == "[media]").unwrap() + 1;
        let error = Experiment::parse(&both, "x.toml", &[])
            .unwrap_err()
            .to_string();
        let wanted = format!("x.toml:{line}:1: `media` excludes `transfer`; remove one");
        assert!(error.starts_with(&wanted), "{error}");
        let neither = media.replace("[media]", "[lab]");
        let error = Experiment::parse(&neither, "x.toml", &[])
            .unwrap_err()
            .to_string();
        let wanted = "missing key `transfer` in the document; the measured transfer, or a `[media]` \
                      table instead";
        assert!(error.contains(wanted), "{error}");
    }
}
