//! The layout that the pages of all reports share.

use minijinja::value::{Serde, Value, merge_maps};
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;

use super::{PageError, STYLE};

/// The style of reports, also on dark screens.
const REPORT_STYLE: &str = include_str!("report.css");

/// The templates that those of the pages include.
const SHARED: [(&str, &str); 2] = [
    ("base.html", include_str!("base.html")),
    ("macros.html", include_str!("macros.html")),
];

/// The part of a page above its figures.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Head<'a> {
    /// The title of the window.
    pub(crate) heading: String,
    pub(crate) name: &'a str,
    pub(crate) title: &'a str,
    /// What was run, as a sentence.
    pub(crate) facts: String,
    pub(crate) conclusion: Vec<String>,
}

/// A picture with the text that replaces it for those who do not see it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Picture {
    pub(crate) svg: String,
    pub(crate) alt: String,
}

/// A table whose first column names the rows.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PageTable {
    /// Its class in the style.
    pub(crate) class: &'static str,
    pub(crate) caption: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl PageTable {
    /// A table; line feeds of column names become spaces.
    pub(crate) fn new(
        class: &'static str,
        caption: &str,
        columns: &[&str],
        rows: Vec<Vec<String>>,
    ) -> Self {
        Self {
            class,
            caption: caption.to_owned(),
            columns: columns.iter().map(|c| c.replace('\n', " ")).collect(),
            rows,
        }
    }
}

impl PageTable {
    /// The table for a template.
    pub(crate) fn value(self) -> Value {
        Value::from(Serde(self))
    }
}

impl Picture {
    /// The picture for a template.
    pub(crate) fn value(self) -> Value {
        Value::from(Serde(self))
    }
}

/// A page from a template that extends `base.html`.
pub(crate) fn render(template: &str, head: &Head<'_>, content: Value) -> Result<String, PageError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    for (name, text) in SHARED {
        environment.add_template(name, text)?;
    }
    let head = Value::from(Serde(head));
    let style = format!("{STYLE}{REPORT_STYLE}");
    Ok(environment.render_str(template, merge_maps([context! { style }, head, content]))?)
}
