//! Where the keys of a document stand.

use std::collections::BTreeMap;
use std::path::Path;

use super::overrides::Override;
use super::problem::{Place, Problem};
use super::tree::{Node, Origin, Value};

/// Names of the file and of the overrides that a document was read from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    file: String,
    overrides: Vec<String>,
}

/// Finds the place of a key, given with its tables and positions in lists: `path.0.link.2.rate`.
#[derive(Clone, Debug)]
pub struct Locator {
    source: Source,
    origins: BTreeMap<String, Origin>,
}

impl Source {
    pub(super) fn new(file: &str, overrides: &[Override]) -> Self {
        Self {
            file: file.to_owned(),
            overrides: (overrides.iter().map(|each| each.argument().to_owned())).collect(),
        }
    }

    pub(super) fn place(&self, origin: Origin) -> Place {
        match origin {
            Origin::File { line, column } => self.at(line, column),
            Origin::Override(number) => match self.overrides.get(number) {
                Some(text) => Place::Argument(text.clone()),
                None => self.at(1, 1),
            },
            Origin::StandIn => self.at(1, 1),
        }
    }

    /// The path of a file that the document names.
    pub(super) fn beside(&self, file: &str) -> String {
        let path = Path::new(&self.file).with_file_name(file);
        path.display().to_string()
    }

    fn at(&self, line: usize, column: usize) -> Place {
        Place::File {
            name: self.file.clone(),
            line,
            column,
        }
    }
}

impl Locator {
    pub(super) fn new(source: Source, root: &Node) -> Self {
        let mut origins = BTreeMap::new();
        enter(&mut origins, String::new(), root);
        Self { source, origins }
    }

    /// The line of a key's value in the file, from 1; `None` if the file does not have it.
    #[must_use]
    pub fn line_of(&self, key: &str) -> Option<usize> {
        match self.origins.get(key)? {
            Origin::File { line, .. } => Some(*line),
            Origin::Override(_) | Origin::StandIn => None,
        }
    }

    /// The place of a key's value, or that of the innermost table that would hold it.
    #[must_use]
    pub fn place(&self, key: &str) -> Place {
        self.source.place(self.origin(key))
    }

    /// A problem with the value of a key, for checks that follow the reading.
    #[must_use]
    pub fn problem(
        &self,
        key: &str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Problem {
        Problem::new(self.place(key), message, remedy)
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// Whether the document or an override has the key itself.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.origins.contains_key(key)
    }

    /// Whether an override has set the key, or a table that holds it.
    pub(super) fn is_overridden(&self, key: &str) -> bool {
        self.has(key) && matches!(self.origin(key), Origin::Override(_))
    }

    pub(super) fn is_stand_in(&self, key: &str) -> bool {
        self.origin(key) == Origin::StandIn
    }

    fn origin(&self, key: &str) -> Origin {
        let mut key = key;
        loop {
            if let Some(origin) = self.origins.get(key) {
                return *origin;
            }
            key = key.rsplit_once('.').map_or("", |(table, _)| table);
        }
    }
}

fn enter(origins: &mut BTreeMap<String, Origin>, key: String, node: &Node) {
    let within = |name: &str| match key.as_str() {
        "" => name.to_owned(),
        table => format!("{table}.{name}"),
    };
    match &node.value {
        Value::Table(entries) => {
            for entry in entries {
                enter(origins, within(&entry.key), &entry.node);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                enter(origins, within(&index.to_string()), item);
            }
        }
        _ => {}
    }
    origins.insert(key, node.origin);
}
