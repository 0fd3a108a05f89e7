//! The page of a media stream.

use std::fmt::Write as _;

use polypath_core::time::Duration;
use polypath_scenario::parameters;

use super::MediaRecord;
use super::conclusion::conclusion;
use super::figures::{MediaFigures, PolicyFigures};
use super::lab::warnings;
use super::table::{DIFFERENCES, FigureTable, LATE, basis, has_marks, tables};
use crate::chart::dots::{DotRow, svg};
use crate::conclusion::numbers::{range_of, with_interval};
use crate::difference::NO_DIFFERENCE_MEANING;
use crate::page::layout::{Head, PageTable, Picture, Section, render_sections};
use crate::page::{PageError, parameters as parameter_table};
use crate::statistics::Estimate;
use crate::table::titled;

/// The page as HTML, with its pictures inside.
pub(super) fn render(record: MediaRecord<'_>, figures: &MediaFigures) -> Result<String, PageError> {
    let scenario = record.scenario;
    let head = Head {
        heading: titled(&scenario.name, &scenario.title),
        name: &scenario.name,
        title: scenario.title.trim(),
        facts: basis(record).replace('\n', " ") + ".",
        conclusion: conclusion(record, figures),
    };
    let all = tables(record, figures).into_iter();
    let (of_lateness, others): (Vec<_>, Vec<_>) = all.partition(is_of_lateness);
    let lateness = Section {
        title: "Late or lost".to_owned(),
        note: if has_marks(figures) {
            format!("{NO_DIFFERENCE_MEANING}.")
        } else {
            String::new()
        },
        pictures: late(record, figures)?,
        tables: of_lateness.into_iter().map(FigureTable::on_page).collect(),
        ..Section::default()
    };
    let rest = Section {
        title: "Delay, gaps and bytes on the wire".to_owned(),
        pictures: rest(record, figures)?,
        tables: others.into_iter().map(FigureTable::on_page).collect(),
        ..Section::default()
    };
    let parameters = Section {
        title: "Parameters".to_owned(),
        tables: vec![parameter_table(&parameters(scenario))],
        is_folded: true,
        ..Section::default()
    };
    render_sections(&head, &warnings(record), &[lateness, rest, parameters])
}

fn is_of_lateness(table: &FigureTable) -> bool {
    matches!(table.class, LATE | DIFFERENCES)
}

impl FigureTable {
    fn on_page(self) -> PageTable {
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        PageTable::new(self.class, self.caption, &columns, self.rows)
    }
}

/// A picture for each deadline.
fn late(record: MediaRecord<'_>, figures: &MediaFigures) -> Result<Vec<Picture>, PageError> {
    let deadlines = record.scenario.media.deadlines.iter().enumerate();
    let picture = |(n, deadline): (usize, &Duration)| {
        let share = |of: &PolicyFigures| Some(of.late.get(n).copied().flatten()?.scaled(100.0));
        dots(figures, &format!("Late or lost at {deadline}"), "%", share)
    };
    deadlines.map(picture).collect()
}

fn rest(record: MediaRecord<'_>, figures: &MediaFigures) -> Result<Vec<Picture>, PageError> {
    let delay = |of: &PolicyFigures| Some(of.delay[2]?.scaled(1e3));
    let gap = |of: &PolicyFigures| Some(of.longest_gap?.scaled(1e3));
    let mut pictures = vec![
        dots(
            figures,
            "99.9th percentile of the one-way delay",
            "ms",
            delay,
        )?,
        dots(figures, "Longest time without a delivery", "ms", gap)?,
        dots(figures, "Bytes on the wire per byte of payload", "", |of| {
            of.wire_ratio
        })?,
    ];
    if record.lab.is_some() {
        let time = |of: &PolicyFigures| Some(of.processor?.scaled(1e6));
        let title = "Processor time per delivered packet";
        pictures.push(dots(figures, title, "us", time)?);
    }
    Ok(pictures)
}

/// A value of each policy with its interval.
fn dots(
    figures: &MediaFigures,
    what: &str,
    unit: &str,
    value: impl Fn(&PolicyFigures) -> Option<Estimate>,
) -> Result<Picture, PageError> {
    let row = |of: &PolicyFigures| DotRow {
        name: of.name.clone(),
        value: value(of),
    };
    let rows: Vec<DotRow> = figures.policies.iter().map(row).collect();
    let mut alt = format!("Chart: {what} with 95 % intervals");
    for row in &rows {
        let value = row
            .value
            .map_or("none".to_owned(), |of| with_interval(of, unit));
        let _ = write!(alt, "; {}: {value}", row.name);
    }
    let label = if unit.is_empty() { "ratio" } else { unit };
    Ok(Picture {
        svg: svg(what, label, range_of(unit)[1], &rows)?,
        alt,
    })
}
