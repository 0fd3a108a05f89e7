//! The scenario of a race.

use polypath_document::Override;
use polypath_scenario::Scenario;

/// Parses the text of a scenario of the repository with other values in place of some; an error is
/// text.
pub(crate) fn parse(
    text: &str,
    name: &str,
    sets: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<Scenario, String> {
    let overrides = sets.into_iter().map(|set| set.as_ref().parse::<Override>());
    let overrides = overrides.collect::<Result<Vec<_>, _>>();
    let overrides = overrides.map_err(|e| e.to_string())?;
    Scenario::parse(text, name, &overrides).map_err(|e| e.to_string())
}
