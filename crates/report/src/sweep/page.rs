//! The page of a sweep.

mod heat;
mod pictures;
#[cfg(test)]
pub(super) mod tests;

use super::axes::{Parameter, value};
use super::conclusion::{conclusion, minus_first};
use super::quantities::{Quantity, entry, names};
use super::{Kind, SweepPoint};
use crate::difference::NO_DIFFERENCE_MEANING;
use crate::page::PageError;
use crate::page::layout::{Head, PageTable, Section, render_sections};
use crate::table;

/// A sweep to draw.
pub(super) struct SweepView<'a> {
    pub(super) kind: Kind,
    pub(super) points: &'a [SweepPoint],
    /// The parameters with more than one value.
    pub(super) parameters: Vec<Parameter>,
}

/// The page as HTML, with its pictures inside.
pub(super) fn render(name: &str, kind: Kind, points: &[SweepPoint]) -> Result<String, PageError> {
    let view = SweepView {
        kind,
        points,
        parameters: Parameter::all(points),
    };
    let failed = points.iter().filter(|point| point.report.is_err()).count();
    let keys: Vec<String> = view
        .parameters
        .iter()
        .map(|parameter| format!("{} ({} values)", parameter.key, parameter.values.len()))
        .collect();
    let head = Head {
        heading: format!("{name}: sweep"),
        name,
        title: "",
        facts: facts(points.len(), &keys),
        conclusion: conclusion(kind, points),
    };
    let warnings: Vec<String> = (failed > 0)
        .then(|| {
            let is = if failed == 1 { "is" } else { "are" };
            format!(
                "{failed} of {} points failed and {is} not shown.",
                points.len()
            )
        })
        .into_iter()
        .collect();
    let lists: &[(&str, &str)] = match kind {
        Kind::Network => &[("groups", "Flows"), ("links", "Links")],
        Kind::Transfers => &[("schemes", "Schemes")],
    };
    let sections = lists.iter().map(|(list, title)| view.section(list, title));
    let sections = sections.collect::<Result<Vec<Section>, PageError>>()?;
    render_sections(&head, &warnings, &sections)
}

/// A sentence about the run.
fn facts(points: usize, keys: &[String]) -> String {
    match points {
        1 => "Sweep of a single point.".to_owned(),
        _ => format!("Sweep of {points} points over {}.", keys.join(", ")),
    }
}

impl SweepView<'_> {
    /// The pictures and the table of the entries of a list.
    fn section(&self, list: &'static str, title: &str) -> Result<Section, PageError> {
        let names = self.names(list);
        let drawn = pictures::drawn(self, list, &names)?;
        Ok(Section {
            title: title.to_owned(),
            note: drawn.note,
            pictures: drawn.pictures,
            heat_maps: heat::maps(self, list, &names),
            tables: vec![self.table(list, &names)],
            ..Section::default()
        })
    }

    /// The names in a list; links without arrivals are left out.
    fn names(&self, list: &str) -> Vec<String> {
        let is_used = |name: &String| {
            let reports = self
                .points
                .iter()
                .filter_map(|point| point.report.as_ref().ok());
            let mut entries = reports.filter_map(|report| entry(report, list, name));
            entries.any(|entry| entry["packets_in"] != 0)
        };
        names(self.points, list)
            .into_iter()
            .filter(is_used)
            .collect()
    }

    /// The quantities of a list that a point has.
    fn quantities(&self, list: &str) -> impl Iterator<Item = &'static Quantity> {
        let all = Quantity::all(self.kind).iter();
        all.filter(move |quantity| quantity.list == list && self.has(quantity))
    }

    fn has(&self, quantity: &Quantity) -> bool {
        let reports = self
            .points
            .iter()
            .filter_map(|point| point.report.as_ref().ok());
        let mut entries =
            reports.flat_map(|report| report[quantity.list].as_array().into_iter().flatten());
        entries.any(|entry| quantity.value(entry).is_some())
    }

    /// A row for each entry of each point.
    fn table(&self, list: &'static str, names: &[String]) -> PageTable {
        let keys = self
            .parameters
            .iter()
            .map(|parameter| parameter.name.clone());
        let titles = self.quantities(list).map(|quantity| match quantity.unit {
            "" => quantity.title.to_owned(),
            unit => format!("{} {unit}", quantity.title),
        });
        let minus = (list == "groups").then(|| "Goodput minus first point Mbit/s".to_owned());
        let columns = ["point".to_owned()].into_iter().chain(keys);
        let columns = columns
            .chain(["name".to_owned()])
            .chain(titles)
            .chain(minus);
        let columns: Vec<String> = columns.collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut rows = Vec::new();
        for (number, point) in self.points.iter().enumerate() {
            for name in names {
                rows.extend(self.row(list, number, point, name));
            }
        }
        let caption =
            format!("All points, means +- half of the 95 % interval. {NO_DIFFERENCE_MEANING}.");
        PageTable::new("sweep", &caption.replace("+-", "±"), &columns, rows)
    }

    fn row(
        &self,
        list: &'static str,
        number: usize,
        point: &SweepPoint,
        name: &str,
    ) -> Option<Vec<String>> {
        let entry = entry(point.report.as_ref().ok()?, list, name)?;
        let set = self
            .parameters
            .iter()
            .map(|parameter| value(point, &parameter.key).to_owned());
        let mut row = vec![number.to_string()];
        row.extend(set);
        row.push(name.to_owned());
        row.extend(self.quantities(list).map(|quantity| quantity.cell(entry)));
        if list == "groups" {
            let goodput = &Quantity::all(self.kind)[0];
            row.push(table::difference(minus_first(
                self.points,
                point,
                goodput,
                name,
            )));
        }
        Some(row)
    }
}
