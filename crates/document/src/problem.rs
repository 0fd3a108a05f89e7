//! Problems of a document, with their locations and remedies.

use std::fmt;

use crate::locator::Locator;
use crate::tree::Origin;

/// A position in a file that the document names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePosition {
    /// A line, from 1.
    Line(usize),
    /// A record of a binary file, from 1.
    Record(usize),
}

/// A file that the document names.
#[derive(Clone, Copy, Debug)]
pub struct NamedFile<'a> {
    /// The key whose value is the name.
    pub key: &'a str,
    /// The name, relative to the document.
    pub name: &'a str,
}

/// The location of a problem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// In an argument of the command line, such as `--set KEY=VALUE`.
    Argument(String),
    /// In a record of a binary file.
    Record {
        /// The file's name.
        name: String,
        /// The record, from 1.
        record: usize,
    },
    /// At a line and column of a file.
    File {
        /// The file's name as the caller passed it.
        name: String,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
    },
}

/// A mistake in a document, with its remedy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Whether it may be the consequence of another problem.
    pub follows: bool,
    /// Its location.
    pub location: Location,
    /// The description of the mistake.
    pub message: String,
    /// The correction; may be empty.
    pub remedy: String,
}

/// The problems of a document; never empty. Of more than 100 the later ones are only counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors(Found);

/// The problems found so far: the first [`MAX_KEPT`], and the number of the others, so that a file
/// of mistakes takes neither memory nor time for messages that nobody reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    kept: Vec<Problem>,
    more: usize,
}

/// The problems found so far, and the locations of the document's keys.
#[derive(Debug)]
pub struct Problems {
    locator: Locator,
    found: Found,
}

/// The minimum Jaro-Winkler similarity (0 to 1) at which an unknown key may be a misspelt missing
/// key.
const MIN_SIMILARITY: f64 = 0.7;
/// The number of problems that are printed; a file of another kind has thousands.
const MAX_PRINTED: usize = 20;
/// The number of problems that are kept.
const MAX_KEPT: usize = 100;

/// The candidate nearest to `word`, if one is near enough to be a likely misspelling.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let len = word.chars().count();
    let tolerable = |name: &str| (len.max(name.chars().count()) / 3).max(1);
    let distance = |name: &str| strsim::damerau_levenshtein(&word, &name.to_lowercase());
    let (best, far) = candidates
        .into_iter()
        // The distance is at least the difference of the lengths, and takes time and memory in
        // proportion to their product.
        .filter(|name| len.abs_diff(name.chars().count()) <= tolerable(name))
        .map(|name| (name, distance(name)))
        .min_by_key(|(_, distance)| *distance)?;
    (far <= tolerable(best)).then_some(best)
}

impl Problem {
    pub(crate) fn new(
        location: Location,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            follows: false,
            location,
            message: message.into(),
            remedy: remedy.into(),
        }
    }
}

impl Found {
    /// Adds a problem; computes it only if it is kept.
    pub(crate) fn push(&mut self, problem: impl FnOnce() -> Problem) {
        if self.is_full() {
            self.more += 1;
        } else {
            self.kept.push(problem());
        }
    }

    /// Whether further problems are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.len() >= MAX_KEPT
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}

impl Problems {
    pub(crate) fn new(locator: Locator, found: Found) -> Self {
        Self { locator, found }
    }

    /// Reports a problem with the value at `key` (`path.0.link.2.rate`).
    ///
    /// It is dropped where the value is a stand-in for a refused one.
    pub fn report(&mut self, key: &str, message: impl Into<String>, remedy: impl Into<String>) {
        let Self { locator, found } = self;
        if !locator.is_stand_in(key) {
            found.push(|| locator.problem(key, message, remedy));
        }
    }

    /// Reports a problem in another file that the document names.
    pub fn report_in_file(
        &mut self,
        file: NamedFile<'_>,
        position: FilePosition,
        message: impl Into<String>,
        remedy: &str,
    ) {
        let name = self.locator.source().sibling(file.name);
        let location = match position {
            FilePosition::Line(line) => Location::File {
                name,
                line,
                column: 1,
            },
            FilePosition::Record(record) => Location::Record { name, record },
        };
        let remedy = format!(
            "{remedy} (the file is named at {})",
            self.locator.location(file.key)
        );
        self.found.push(|| Problem::new(location, message, remedy));
    }

    /// Reports that the values at `keys` are inconsistent, at the first that an override sets, or
    /// else at the first that the document contains.
    ///
    /// It is dropped where one of the values is a stand-in for a refused one.
    pub fn report_among(
        &mut self,
        keys: &[&str],
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        if keys.iter().any(|key| self.locator.is_stand_in(key)) {
            return;
        }
        let overridden = keys.iter().find(|key| self.locator.is_overridden(key));
        let written = || keys.iter().find(|key| self.locator.has(key));
        let key = overridden.or_else(written).or(keys.first());
        let key = key.copied().unwrap_or_default();
        let Self { locator, found } = self;
        found.push(|| locator.problem(key, message, remedy));
    }

    /// Reports, like [`Self::report_among`], a `name` that is not one of `known`; the remedy
    /// suggests the nearest of them.
    pub fn report_unknown<'a>(
        &mut self,
        keys: &[&str],
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str> + Clone,
    ) {
        self.report_among(
            keys,
            format!("unknown {what} `{name}`"),
            suggestion(name, known),
        );
    }

    /// The locations of the document's keys.
    #[must_use]
    pub fn locator(&self) -> &Locator {
        &self.locator
    }

    pub(crate) fn report_failure(&mut self, origin: Option<Origin>, message: String) {
        if origin == Some(Origin::StandIn) && !self.found.is_empty() {
            return;
        }
        let origin = origin.unwrap_or(Origin::File { line: 1, column: 1 });
        let location = self.locator.source().location(origin);
        self.found.push(|| Problem::new(location, message, ""));
    }

    pub(crate) fn finish(self) -> Result<Locator, Errors> {
        if self.found.is_empty() {
            return Ok(self.locator);
        }
        Err(self.into_errors())
    }

    pub(crate) fn into_errors(self) -> Errors {
        Errors::new(self.found)
    }
}

/// The one of the unknown `words` that is most similar to `name`, if it is similar enough to be a
/// misspelling of it.
pub(crate) fn mistyped<'a>(
    name: &str,
    words: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let similarity = |word: &str| strsim::jaro_winkler(&word.to_lowercase(), &name.to_lowercase());
    let all = words.into_iter().map(|word| (word, similarity(word)));
    let (word, similarity) = all.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (similarity >= MIN_SIMILARITY).then_some(word)
}

/// A remedy that suggests the nearest known name, or lists all known names.
pub(crate) fn suggestion<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    if let Some(meant) = nearest(name, known.clone()) {
        return format!("did you mean `{meant}`?");
    }
    one_of(known)
}

/// A remedy that lists all known names.
pub(crate) fn one_of<'a>(known: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<String> = known.into_iter().map(|name| format!("`{name}`")).collect();
    match all.len() {
        0 => "there is none".to_owned(),
        1 => format!("the only one is {}", all[0]),
        _ => format!("one of {}", all.join(", ")),
    }
}

impl Errors {
    pub(crate) fn new(mut found: Found) -> Self {
        found.kept.sort();
        found.kept.dedup();
        Self(found)
    }

    /// The first 100 problems: those of overrides, those of the file in the order of its lines,
    /// then those that may be consequences of others.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.0.kept
    }
}

impl FromIterator<Problem> for Found {
    fn from_iter<I: IntoIterator<Item = Problem>>(problems: I) -> Self {
        let mut found = Self::default();
        for problem in problems {
            found.push(|| problem);
        }
        found
    }
}

impl From<Problem> for Errors {
    fn from(problem: Problem) -> Self {
        Self::new(Found::from_iter([problem]))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Location::Record { name, record } => write!(f, "{name}: record {record}"),
            Location::Argument(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)?;
        if self.remedy.is_empty() {
            return Ok(());
        }
        write!(f, "; {}", self.remedy)
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found { kept, more } = &self.0;
        for (index, problem) in kept.iter().take(MAX_PRINTED).enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        match more + kept.len().saturating_sub(MAX_PRINTED) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Errors {}
