//! The positions of a document's keys.

use std::collections::BTreeMap;
use std::path::Path;

use crate::overrides::Override;
use crate::problem::{Location, Problem};
use crate::tree::{Node, Origin, Value};

/// The names of the file and of the overrides from which a document is read.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    file: String,
    overrides: Vec<String>,
}

/// Finds the location of a key, given with its tables and list indices: `path.0.link.2.rate`.
#[derive(Clone, Debug)]
pub struct Locator {
    source: Source,
    origins: BTreeMap<String, Origin>,
}

impl Source {
    pub(crate) fn new(file: &str, overrides: &[Override]) -> Self {
        Self {
            file: file.to_owned(),
            overrides: (overrides.iter().map(|each| each.argument().to_owned())).collect(),
        }
    }

    pub(crate) fn location(&self, origin: Origin) -> Location {
        match origin {
            Origin::File { line, column } => self.at(line, column),
            Origin::Override(number) => match self.overrides.get(number) {
                Some(text) => Location::Argument(text.clone()),
                None => self.at(1, 1),
            },
            Origin::StandIn => self.at(1, 1),
        }
    }

    /// The path of a file that the document names, in the folder of the document.
    pub(crate) fn sibling(&self, file: &str) -> String {
        let path = Path::new(&self.file).with_file_name(file);
        path.display().to_string()
    }

    fn at(&self, line: usize, column: usize) -> Location {
        Location::File {
            name: self.file.clone(),
            line,
            column,
        }
    }
}

impl Locator {
    pub(crate) fn new(source: Source, root: &Node) -> Self {
        let mut origins = BTreeMap::new();
        enter(&mut origins, String::new(), root);
        Self { source, origins }
    }

    /// The line of a key's value in the file, from 1; `None` if the file does not contain it.
    #[must_use]
    pub fn line_of(&self, key: &str) -> Option<usize> {
        match self.origins.get(key)? {
            Origin::File { line, .. } => Some(*line),
            Origin::Override(_) | Origin::StandIn => None,
        }
    }

    /// The location of a key's value, or that of the innermost enclosing table.
    #[must_use]
    pub fn location(&self, key: &str) -> Location {
        self.source.location(self.origin(key))
    }

    /// A problem with the value of a key, for checks after reading.
    #[must_use]
    pub fn problem(
        &self,
        key: &str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Problem {
        Problem::new(self.location(key), message, remedy)
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Whether the document or an override contains the key itself.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.origins.contains_key(key)
    }

    /// Whether an override sets the key or an enclosing table.
    pub(crate) fn is_overridden(&self, key: &str) -> bool {
        self.has(key) && matches!(self.origin(key), Origin::Override(_))
    }

    pub(crate) fn is_stand_in(&self, key: &str) -> bool {
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
