//! The layout that the pages of all reports share.

use minijinja::value::{Serde, Value, merge_maps};
use minijinja::{AutoEscape, Environment, context};
use serde::Serialize;

use super::{PageError, STYLE};
use crate::difference::{NO_DIFFERENCE, NO_DIFFERENCE_MEANING};

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
    /// A sentence about the run.
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

/// A part of a page with pictures and tables.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Section {
    pub(crate) title: String,
    /// A sentence below the title; may be empty.
    pub(crate) note: String,
    pub(crate) pictures: Vec<Picture>,
    pub(crate) tables: Vec<PageTable>,
    /// Whether the tables are folded until the reader opens them.
    pub(crate) is_folded: bool,
    pub(crate) heat_maps: Vec<HeatMap>,
}

/// A table whose cells have the colours of their values.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HeatMap {
    pub(crate) caption: String,
    /// The names of the parameters of the rows and the columns.
    pub(crate) corner: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<HeatRow>,
}

/// A row of a heat map.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HeatRow {
    pub(crate) name: String,
    pub(crate) cells: Vec<HeatCell>,
}

/// A cell of a heat map.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HeatCell {
    pub(crate) text: String,
    /// Its colour in CSS.
    pub(crate) color: String,
}

impl Section {
    /// Whether there is anything below its title.
    pub(crate) fn has_content(&self) -> bool {
        !(self.pictures.is_empty() && self.tables.is_empty() && self.heat_maps.is_empty())
    }
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

/// A page of sections.
pub(crate) fn render_sections(
    head: &Head<'_>,
    warnings: &[String],
    sections: &[Section],
) -> Result<String, PageError> {
    let sections = Value::from(Serde(sections));
    let content = context! { warnings => warnings.to_vec(), sections };
    render(include_str!("figures.html"), head, content)
}

/// A page from a template that extends `base.html`.
pub(crate) fn render(template: &str, head: &Head<'_>, content: Value) -> Result<String, PageError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_global("no_difference", NO_DIFFERENCE);
    environment.add_global("no_difference_meaning", NO_DIFFERENCE_MEANING);
    for (name, text) in SHARED {
        environment.add_template(name, text)?;
    }
    let head = Value::from(Serde(head));
    let style = format!("{STYLE}{REPORT_STYLE}");
    Ok(environment.render_str(template, merge_maps([context! { style }, head, content]))?)
}
