//! What is wrong with a document, where, and what would be right.

use std::fmt;

use super::locator::Locator;
use super::tree::Origin;

/// A place in a file that the document names, from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spot {
    Line(usize),
    Record(usize),
}

/// Where a problem stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In an argument of the command line, such as `--set KEY=VALUE`.
    Argument(String),
    /// In a binary file, in a record, which counts from 1.
    Record {
        /// The file's name.
        name: String,
        /// The record.
        record: usize,
    },
    /// In a file, at a line and column that both count from 1.
    File {
        /// The file's name as the caller gave it.
        name: String,
        /// The line.
        line: usize,
        /// The column, in characters.
        column: usize,
    },
}

/// One thing that is wrong, with its remedy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Whether it may be the consequence of another, and go away with it.
    pub follows: bool,
    /// Where it stands.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What would be right; may be empty.
    pub remedy: String,
}

/// All that is wrong with a document; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors(Vec<Problem>);

/// The problems that were found so far, and the locator by which checks name places.
#[derive(Debug)]
pub struct Problems {
    locator: Locator,
    found: Vec<Problem>,
}

/// Two words of which one may stand for the other are at least so alike (Jaro and Winkler; 0 to 1).
const LEAST_LIKENESS: f64 = 0.7;
/// So many problems are printed; a file of another kind altogether has thousands.
const MOST_PRINTED: usize = 20;

/// The candidate that is most like `word`, if one is like enough to be meant.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&word, &name.to_lowercase());
    let (best, far) = candidates
        .into_iter()
        .map(|name| (name, distance(name)))
        .min_by_key(|(_, distance)| *distance)?;
    let tolerable = (word.chars().count().max(best.chars().count()) / 3).max(1);
    (far <= tolerable).then_some(best)
}

impl Problem {
    pub(super) fn new(place: Place, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            follows: false,
            place,
            message: message.into(),
            remedy: remedy.into(),
        }
    }
}

impl Problems {
    pub(super) fn new(locator: Locator, found: Vec<Problem>) -> Self {
        Self { locator, found }
    }

    /// Reports that the value at `key` (`path.0.link.2.rate`) is wrong, and what would be right.
    ///
    /// It is dropped where the value is a stand-in for one that was refused already.
    pub fn report(&mut self, key: &str, message: impl Into<String>, remedy: impl Into<String>) {
        if !self.locator.is_stand_in(key) {
            self.found.push(self.locator.problem(key, message, remedy));
        }
    }

    /// Reports that something in another file, which the document names at `key`, is wrong.
    pub(crate) fn report_in(
        &mut self,
        (key, file): (&str, &str),
        spot: Spot,
        message: impl Into<String>,
        remedy: &str,
    ) {
        let name = self.locator.source().beside(file);
        let place = match spot {
            Spot::Line(line) => Place::File {
                name,
                line,
                column: 1,
            },
            Spot::Record(record) => Place::Record { name, record },
        };
        let remedy = format!(
            "{remedy} (the file is named at {})",
            self.locator.place(key)
        );
        self.found.push(Problem::new(place, message, remedy));
    }

    /// Reports that the values at `keys` do not go together, and what would; the place is that of the first
    /// that an override has set, or else of the first that the document has.
    ///
    /// It is dropped where one of the values is a stand-in for one that was refused already.
    pub fn report_among(
        &mut self,
        keys: &[&str],
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        if keys.iter().any(|key| self.locator.is_stand_in(key)) {
            return;
        }
        let set = keys.iter().find(|key| self.locator.is_overridden(key));
        let written = || keys.iter().find(|key| self.locator.has(key));
        let key = set.or_else(written).or(keys.first());
        let key = key.copied().unwrap_or_default();
        self.found.push(self.locator.problem(key, message, remedy));
    }

    /// Reports, like [`Self::report_among`], a `name` that is none of the `known`, with the nearest of them
    /// as the remedy.
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

    /// Where the keys of the document stand.
    #[must_use]
    pub fn locator(&self) -> &Locator {
        &self.locator
    }

    pub(super) fn report_failure(&mut self, origin: Option<Origin>, message: String) {
        if origin == Some(Origin::StandIn) && !self.found.is_empty() {
            return;
        }
        let origin = origin.unwrap_or(Origin::File { line: 1, column: 1 });
        let place = self.locator.source().place(origin);
        self.found.push(Problem::new(place, message, ""));
    }

    pub(super) fn finish(self) -> Result<Locator, Errors> {
        if self.found.is_empty() {
            return Ok(self.locator);
        }
        Err(self.into_errors())
    }

    pub(super) fn into_errors(self) -> Errors {
        Errors::new(self.found)
    }
}

/// The one of `words`, none of which means anything, that may have been written for `name`: more alike by far than by chance.
pub(super) fn mistyped<'a>(
    name: &str,
    words: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let alike = |word: &str| strsim::jaro_winkler(&word.to_lowercase(), &name.to_lowercase());
    let all = words.into_iter().map(|word| (word, alike(word)));
    let (word, alike) = all.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (alike >= LEAST_LIKENESS).then_some(word)
}

/// "did you mean" the nearest, or all that is known.
pub(super) fn suggestion<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    if let Some(meant) = nearest(name, known.clone()) {
        return format!("did you mean `{meant}`?");
    }
    one_of(known)
}

/// All that is known.
pub(super) fn one_of<'a>(known: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<String> = known.into_iter().map(|name| format!("`{name}`")).collect();
    match all.len() {
        0 => "there is none".to_owned(),
        1 => format!("the only one is {}", all[0]),
        _ => format!("one of {}", all.join(", ")),
    }
}

impl Errors {
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort();
        problems.dedup();
        Self(problems)
    }

    /// The problems: those of overrides, then those of the file in the order of its lines, then those that may
    /// follow from others.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

impl From<Problem> for Errors {
    fn from(problem: Problem) -> Self {
        Self::new(vec![problem])
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Place::Record { name, record } => write!(f, "{name}: record {record}"),
            Place::Argument(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)?;
        if self.remedy.is_empty() {
            return Ok(());
        }
        write!(f, "; {}", self.remedy)
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().take(MOST_PRINTED).enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        match self.0.len().saturating_sub(MOST_PRINTED) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Errors {}
